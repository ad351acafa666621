import { Effect, Layer, References, Tracer } from "effect"
import { version } from "../../config/files.ts"
import type { Treasury } from "../../config/Treasury.ts"
import { readHeaders } from "../../layers.ts"
import { layerHttp } from "../../sockets/client.ts"

/** No span is made where nobody takes it. */
const untraced = Layer.effect(
  References.TracerEnabled,
  Effect.map(Effect.context(), (context) => context.mapUnsafe.has(Tracer.Tracer.key)),
)

/** Sends spans to the collector of the file, if it names one. Its modules are loaded then alone. */
export const tracingLayer = ({ name, tracing }: Pick<Treasury, "name" | "tracing">) =>
  tracing === undefined
    ? untraced
    : Layer.unwrap(
        Effect.gen(function* () {
          const headers = yield* readHeaders(tracing.headerFiles)
          const otlp = yield* Effect.promise(() => import("./otlp.ts"))
          return otlp.collectorLayer({ url: tracing.url, headers, treasury: name, version })
        }),
      ).pipe(Layer.provide(layerHttp))
