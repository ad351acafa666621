import { Effect } from "effect"
import type { GatewayError } from "./GatewayError.ts"

/** Logs that a question got no usable answer. That no head fits is told in one place, and pages where it lasts. */
export const warnOf = (what: string, error: GatewayError, fields: Readonly<Record<string, string>> = {}) =>
  error.reason._tag === "Doubted"
    ? Effect.logDebug(what, { reason: error.message })
    : Effect.logWarning(what, { reason: error.message, ...fields })
