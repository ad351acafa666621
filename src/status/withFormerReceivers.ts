import { Effect } from "effect"
import type { InForce } from "../config/ConfigInForce.ts"
import { readSecret } from "../config/files.ts"
import { type AlertConfig, bothAlerts, pagedNoMore } from "../config/storedAlerts.ts"
import { TermsLog } from "../store/TermsLog.ts"

/**
 * Returns the configuration that a process starts with. Receivers that were paged under the terms in force, and are not
 * by this file, stay beside its own while the process lives: they hear that they lose the pages. Writes nothing.
 */
export const withFormerReceivers = Effect.fn("Config.formerReceivers")(function* (file: InForce) {
  const known = yield* (yield* TermsLog).inForce
  if (known === undefined) return file
  const { treasury } = file
  const before = yield* reachable(known.alerts)
  if (pagedNoMore(before, treasury).length === 0) return file
  const { receivers, routes } = treasury
  return { ...file, treasury: { ...treasury, ...bothAlerts(treasury, before) }, alerts: { receivers, routes } }
})

/** Receivers whose secrets can still be read. */
const reachable = Effect.fnUntraced(function* ({ receivers, routes }: AlertConfig) {
  const readable = yield* Effect.filter(receivers, (receiver) => {
    if (receiver.kind === "log") return Effect.succeed(true)
    const files = [...(receiver.urlFile === undefined ? [] : [receiver.urlFile]), ...receiver.headerFiles.values()]
    return Effect.isSuccess(Effect.forEach(files, readSecret, { discard: true }))
  })
  return { receivers: readable, routes }
})
