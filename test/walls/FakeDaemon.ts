import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { socketFile } from "../../src/http/ControlServer.ts"

/** One request that came to it. */
export interface Heard {
  readonly path: string
  readonly body: unknown
}

/** Somebody who answers on the socket of a data directory as they like. */
export const startFakeDaemon = async (dataDir: string) => {
  const heard: Array<Heard> = []
  let answer: (path: string) => unknown = () => ({})
  const server: Server = createServer((request, response) => {
    const { url: path = "" } = request
    let text = ""
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on("end", () => {
      heard.push({ path, body: text === "" ? undefined : JSON.parse(text) })
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify(answer(path)))
    })
  })
  await new Promise<void>((resolve) => server.listen(join(dataDir, socketFile), resolve))
  return {
    /** Says what it answers from now on, and forgets what it heard. */
    become: (as: typeof answer) => {
      answer = as
      heard.length = 0
    },
    heard: heard as ReadonlyArray<Heard>,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
