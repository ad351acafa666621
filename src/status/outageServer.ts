import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Metrics } from "../telemetry/Metrics.ts"
import { json, pathOf, refusal } from "./respond.ts"
import { guardOf, listen, type StatusServerOptions } from "./StatusServer.ts"

/** Probes and metrics at the page's address while the store takes no writes; `reason` answers all else. */
export const outageServer = (options: StatusServerOptions, reason: string) => listen(options, routes(options, reason))

const routes = (options: StatusServerOptions, reason: string) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { registry } = yield* Metrics
      const refused = refusal(503, reason, "the daemon goes on by itself once its store takes writes")
      // A token that was never written cannot be written now either: then nobody may read.
      const guard = yield* Effect.orElseSucceed(
        Effect.try(() => guardOf(options)),
        () => () => Effect.succeed(refused),
      )
      yield* router.add(
        "*",
        "/*",
        Effect.fnUntraced(function* (request) {
          const path = pathOf(request)
          if (path === "/livez") return HttpServerResponse.text("ok\n")
          if (path === "/readyz") return json({ store: reason }, 503)
          const no = yield* guard(request)
          if (no !== undefined || path !== "/metrics") return no ?? refused
          const contentType = "text/plain; version=0.0.4; charset=utf-8"
          return HttpServerResponse.text(yield* Effect.promise(() => registry.metrics()), { contentType })
        }),
      )
    }),
  )
