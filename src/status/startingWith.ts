import { Effect } from "effect"
import { type InForce, termsOf } from "../config/ConfigInForce.ts"
import { readSecret } from "../config/files.ts"
import { holdTerms } from "../config/holdTerms.ts"
import { type AlertConfig, bothAlerts, pagedNoMore } from "../config/storedAlerts.ts"
import { type Terms, weakens } from "../rules/weakens.ts"
import { TermsLog } from "../store/TermsLog.ts"

/** Operators whom the terms name, whatever the group, with their keys. */
export const operatorsIn = ({ policy }: Pick<Terms, "policy">): ReadonlyMap<string, string> =>
  new Map((policy.groups ?? []).flatMap(({ of }) => [...of]))

/**
 * What a process runs by that was started with a file: the file, unless it permits more than the terms last in force
 * and these name operators. Then the old terms hold until the operators agree or the time is over. Where operators are
 * named, who was paged before is told as well when he loses the pages. Changes nothing.
 */
export const startingWith = Effect.fn("Terms.startingWith")(function* (file: InForce) {
  const known = yield* (yield* TermsLog).inForce
  if (known === undefined || operatorsIn(known.terms).size === 0) return file
  const before = yield* reachable(known.alerts)
  return weakens(known.terms, termsOf(file)).length === 0
    ? tellingBefore(file, before)
    : holdTerms(file, known.terms, before)
})

/** Who was paged before hears it from us that he is not any more: nobody takes the pages away in silence. */
const tellingBefore = (file: InForce, before: AlertConfig): InForce => {
  const { treasury } = file
  if (pagedNoMore(before, treasury).length === 0) return file
  const { receivers, routes } = treasury
  return { ...file, treasury: { ...treasury, ...bothAlerts(treasury, before) }, alerts: { receivers, routes } }
}

/** Those whose secrets can still be read: who was told before is told as far as he can be. */
const reachable = Effect.fnUntraced(function* ({ receivers, routes }: AlertConfig) {
  const readable = yield* Effect.filter(receivers, (receiver) => {
    if (receiver.kind === "log") return Effect.succeed(true)
    const files = [...(receiver.urlFile === undefined ? [] : [receiver.urlFile]), ...receiver.headerFiles.values()]
    return Effect.isSuccess(Effect.forEach(files, readSecret, { discard: true }))
  })
  return { receivers: readable, routes }
})
