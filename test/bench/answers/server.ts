import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { corpus } from "../../gateway/hostile/corpus.ts"

/** Answers a request under /family/number/ with that bad answer of the corpus, in a process of its own. */
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const url = new URL(request.url ?? "", "http://gateway")
  const [, family = "", number = ""] = url.pathname.split("/")
  const bad = corpus[family]?.[Number(number)]
  response.on("error", () => {})
  const { method = "", headers, rawHeaders } = request
  request.resume().on("end", () => {
    if (bad === undefined) response.writeHead(404).end()
    else bad.send(response, { method, url, headers, rawHeaders, body: "" }, request.socket)
  })
})
server.on("connection", (socket) => socket.on("error", () => {}))
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
})
