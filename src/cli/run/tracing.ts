import { Effect, Layer } from "effect"
import { version } from "../../config/files.ts"
import type { Treasury } from "../../config/Treasury.ts"
import { layerHttp } from "../../gateway/Transport.ts"
import { readHeaders } from "../../layers.ts"

/** Sends spans to the collector of the file, if it names one. Its modules are loaded then alone. */
export const tracingLayer = ({ name, tracing }: Pick<Treasury, "name" | "tracing">) =>
  tracing === undefined
    ? Layer.empty
    : Layer.unwrap(
        Effect.gen(function* () {
          const headers = yield* readHeaders(tracing.headerFiles)
          const otlp = yield* Effect.promise(() => import("./otlp.ts"))
          return otlp.collectorLayer({ url: tracing.url, headers, treasury: name, version })
        }),
      ).pipe(Layer.provide(layerHttp))
