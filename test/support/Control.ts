import { request } from "node:http"
import { join } from "node:path"
import { Effect } from "effect"
import { layerControl, socketFile } from "../../src/http/ControlServer.ts"
import { ownAddress, serveStatus } from "../../src/http/StatusServer.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { type Flow, type FlowServices, type FlowSetup, flow } from "./Flow.ts"
import { type Body, effectOf } from "./it.ts"
import type { Reply } from "./TestClient.ts"

/** One request over the socket: GET, or POST where there is a body. */
export const ask = (options: DaemonOptions, path: string, body?: unknown) =>
  Effect.callback<Reply>((resume) => {
    const call = request(
      { socketPath: join(options.dataDir, socketFile), method: body === undefined ? "GET" : "POST", path },
      (response) => {
        let text = ""
        response.on("data", (chunk: Buffer) => {
          text += chunk.toString()
        })
        response.on("end", () => {
          const json: unknown = JSON.parse(text)
          resume(Effect.succeed({ status: response.statusCode ?? 0, headers: new Headers(), text, json }))
        })
      },
    )
    call.on("error", (error) => resume(Effect.die(error)))
    call.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body))
  })

/** A flow with the daemon's socket and page open. */
export const controlled = (
  use: Body<[options: DaemonOptions, sandbox: Parameters<Flow>[1], page: string], FlowServices>,
  setup: FlowSetup = {},
) =>
  flow((options, sandbox) => {
    const { treasury, mode, dataDir } = options
    const listen = { host: "127.0.0.1", port: 0, portBusy: "error" as const }
    return Effect.gen(function* () {
      const { url } = yield* serveStatus(ownAddress({ ...listen, ...options }))
      return yield* effectOf(use(options, sandbox, url))
    }).pipe(Effect.scoped, Effect.provide(layerControl({ treasury, mode, dataDir })))
  }, setup)
