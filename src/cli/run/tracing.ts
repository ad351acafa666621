import { Effect, Layer, References, Tracer } from "effect"
import { version } from "../../config/files.ts"
import type { Treasury } from "../../config/Treasury.ts"
import { readHeaders } from "../../layers.ts"
import { layerHttp } from "../../sockets/client.ts"

/** Disables tracing without a tracer. */
const untraced = Layer.effect(
  References.TracerEnabled,
  Effect.map(Effect.context(), (context) => context.mapUnsafe.has(Tracer.Tracer.key)),
)

/** Sends spans to the configured collector, if any. Its modules are loaded only then. */
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
