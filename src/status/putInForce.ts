import { Effect } from "effect"
import { type InForce, termsOf } from "../config/ConfigInForce.ts"
import { partHashes } from "../config/partHashes.ts"
import { type AlertConfig, pagedNoMore } from "../config/storedAlerts.ts"
import { adoptRules, keepRules } from "../engine/adoptRules.ts"
import type { Rule } from "../rules/Rule.ts"
import { termsHash } from "../rules/storedTerms.ts"
import type { Terms } from "../rules/weakens.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { Journal } from "../store/Journal.ts"
import { RuleStates } from "../store/RuleStates.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { TermsLog } from "../store/TermsLog.ts"
import { operatorsIn } from "./agreeing.ts"

const hashKey = "configHash"

/** Hash of the configuration that this store saw last; undefined where it has seen none. */
export const hashLastSeen = Effect.flatMap(Settings, ({ get }) => get(hashKey))

export interface Entry {
  readonly detail: string
  readonly [fact: string]: unknown
}

/**
 * Notes durably which configuration a process runs by: its journal entry, its terms where it is live, and what
 * its rules remember. Call it in the transaction that puts it in force. `before` are the rules that they replace;
 * undefined at a start. Returns the number of the entry; undefined where nothing changed.
 */
export const putInForce = Effect.fn("Config.putInForce")(function* (
  next: InForce,
  entry: Entry,
  before: ReadonlyArray<Rule> | undefined,
) {
  const { treasury, mode } = next
  const [settings, log, journal] = [yield* Settings, yield* TermsLog, yield* Journal]
  const [last, after] = [yield* hashLastSeen, partHashes(treasury.document.value).all]
  const known = yield* log.inForce
  const terms = termsOf(next)
  const isLive = mode === "live"
  const isOther = isLive && known?.hash !== termsHash(terms)
  const alerts = next.alerts ?? treasury
  const isEntry = isOther || last !== after
  const head = isEntry ? yield* journal.append({ kind: "config", subject: treasury.name, body: entry }) : undefined
  if (head !== undefined && isOther) yield* log.put({ seq: head.seq, terms, alerts })
  else if (isLive) yield* log.note(alerts)
  if (isLive && known !== undefined && head !== undefined) {
    yield* tellUnpaged(head.seq, treasury.name, known.alerts, alerts)
    if (isOther) yield* tellOperators(head.seq, treasury.name, { before: known.terms, now: terms })
  }
  if (last !== after) yield* settings.set(hashKey, after)
  if (last === undefined || (before === undefined && last === after)) yield* keepRules(treasury.rules)
  else yield* adoptRules(treasury.rules, before)
  return head?.seq
})

/** Raised before it is in force: still for those whom it takes the pages from. */
const tellUnpaged = Effect.fnUntraced(function* (seq: number, subject: string, before: AlertConfig, now: AlertConfig) {
  const names = pagedNoMore(before, now)
  if (names.length === 0) return
  yield* (yield* AlertQueue).raise({
    dedup: `receivers/${seq}`,
    severity: "page",
    kind: "config",
    subject,
    detail: `pages go to ${names.join(", ")} no more; if this is not meant: halt, and put the old alerts back`,
    fields: {},
  })
  yield* (yield* Signals).wake("alerts")
})

/** With so few the loss of one key leaves nobody who can agree to anything. */
const operatorsFew = 2

/** Who may let money move again: from now on anybody named, or fewer people than before. */
const tellOperators = Effect.fnUntraced(function* (
  seq: number,
  subject: string,
  terms: { readonly before: Terms; readonly now: Terms },
) {
  const [before, now] = [terms.before, terms.now].map((one) => [...operatorsIn(one).keys()])
  if (before === undefined || now === undefined) return
  const gone = before.filter((name) => !now.includes(name))
  const isFirst = before.length === 0 && now.length > 0
  if (!isFirst && (gone.length === 0 || now.length > operatorsFew)) return
  const names = now.length === 0 ? "nobody" : now.join(", ")
  const detail = isFirst
    ? `operators are named for the first time: ${names}; resume, recover and weaker terms need them from now on`
    : `operators removed: ${gone.join(", ")}; left: ${names}; with a key lost, weaker terms take an hour`
  yield* (yield* AlertQueue).raise({
    dedup: `operators/${seq}`,
    severity: "ticket",
    kind: "config",
    subject,
    detail: `${detail}. If this is not meant: halt, and put the old file back`,
    fields: {},
  })
  yield* (yield* Signals).wake("alerts")
})

/** All durable together, or none; what was not committed is not remembered either. */
export const asOne = Effect.fnUntraced(function* <A, E, R>(write: Effect.Effect<A, E, R>) {
  const states = yield* RuleStates
  return yield* (yield* Database).atomically(write).pipe(Effect.onError(() => states.forget))
})
