import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import {
  type AlertConfig,
  encodeAlerts,
  type InForce,
  mergedAlerts,
  noLongerPaged,
  treasuryTermsOf,
} from "../config/ConfigInForce.ts"
import { readSecrets } from "../config/files.ts"
import { partHashes } from "../config/needsRestart.ts"
import type { GatewayConfig, Treasury } from "../config/Treasury.ts"
import { adoptRules, keepRules } from "../engine/adoptRules.ts"
import { termsHash } from "../rules/policy/storedTerms.ts"
import type { Terms } from "../rules/policy/weakens.ts"
import type { Rule } from "../rules/Rule.ts"
import { makeTrouble } from "../store/alerts/makeTrouble.ts"
import { raise, raiseOver } from "../store/alerts/raise.ts"
import { Approvals } from "../store/controls/Approvals.ts"
import { Controls } from "../store/controls/Controls.ts"
import { Database } from "../store/database/Database.ts"
import { jsonSetting, Settings } from "../store/database/Settings.ts"
import { Journal } from "../store/journal/Journal.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { operatorsIn } from "./agreeing.ts"

const hashKey = "configHash"

/** Hash of the last configuration of this database; undefined if there was none. */
export const hashLastSeen = Effect.flatMap(Settings, ({ get }) => get(hashKey))

/** The last refusal of changed files, until files are put in force. It outlives the process. */
export const refusedReload = Effect.map(Settings, (settings) => makeTrouble(settings, "refusedReload"))

/** Ends a refusal, with its all-clear, in the caller's transaction, once the files are in force as written. */
export const endRefusal = Effect.fnUntraced(function* (treasury: string) {
  const over = yield* (yield* refusedReload).end
  if (over === undefined) return
  yield* raiseOver("reload_refused", { treasury, since: over.since })
})

export interface ChangeEntry {
  readonly detail: string
  readonly [fact: string]: unknown
}

/**
 * Records the configuration of this process: its journal entry, its terms if it is live, and the adapted state of its
 * rules. Call it in the transaction that puts it in force. `before`: the rules that it replaces; undefined at a start.
 * Returns the number of the entry; undefined if nothing changed.
 */
export const putInForce = Effect.fn("Config.putInForce")(function* (
  next: InForce,
  entry: ChangeEntry,
  before: ReadonlyArray<Rule> | undefined,
) {
  const { treasury, mode } = next
  const [settings, approvals, journal] = [yield* Settings, yield* Approvals, yield* Journal]
  const [last, after] = [yield* hashLastSeen, partHashes(treasury.document.value).all]
  const known = yield* approvals.termsInForce
  const terms = treasuryTermsOf(next)
  const isLive = mode === "live"
  const isOther = isLive && (known?.hash !== termsHash(terms) || namesOf(known.terms) !== namesOf(terms))
  const alerts = next.alerts ?? treasury
  const isEntry = isOther || last !== after
  const head = isEntry ? yield* journal.append({ kind: "config", subject: treasury.name, body: entry }) : undefined
  if (head !== undefined && isOther) {
    if (known !== undefined) yield* carryPauses(known.terms, terms)
    yield* approvals.putTerms({ seq: head.seq, terms, alerts })
  } else if (known !== undefined && isLive && encodeAlerts(known.alerts) !== encodeAlerts(alerts)) {
    yield* approvals.noteAlerts(alerts)
  }
  if (isLive && known !== undefined && head !== undefined) {
    yield* alertUnpaged(head.seq, treasury.name, known.alerts, alerts)
    if (isOther) yield* alertOnOperatorChange(head.seq, treasury.name, { before: known.terms, now: terms })
  }
  if (last !== after) yield* settings.set(hashKey, after)
  if (last === undefined) yield* keepRules(treasury.rules, mode)
  else yield* adoptRules(treasury.rules, mode, known?.terms, before)
  return head?.seq
})

/** Parties and assets as scopes: by their names, and as they are kept. */
const scopesOf = ({ parties, assets }: Terms): ReadonlyArray<readonly [name: string, kept: string]> => [
  ...[...parties.values()].map(({ name, publicKey }) => [`party:${name}`, `party:${publicKey}`] as const),
  ...[...assets.values()].map(({ symbol, id }) => [`asset:${symbol}`, `asset:${id}`] as const),
]

/** Keys and assets by name, as text. The terms' hash contains no names, so two parties may have swapped theirs. */
const namesOf = (terms: Terms): string => scopesOf(terms).map(String).sort().join()

/**
 * Pauses are stored by a party's key or an asset's id. If the name now stands for another one, the pause covers that
 * one too; if both are gone, it is kept by the name, which may come back.
 */
const carryPauses = Effect.fnUntraced(function* (before: Terms, now: Terms) {
  const controls = yield* Controls
  const next = new Map(scopesOf(now))
  const stays = new Set(next.values())
  const other = new Map(
    scopesOf(before).map(([name, kept]) => [kept, next.get(name) ?? (stays.has(kept) ? undefined : name)] as const),
  )
  for (const { kept, reason, author, until } of yield* controls.pauses) {
    const scope = other.get(kept)
    if (scope !== undefined && scope !== kept) yield* controls.pause({ scope, kept: scope, reason, author, until })
  }
})

/** Alerts the receivers that get no pages any more. Call it before the new routes are in force. */
const alertUnpaged = Effect.fnUntraced(function* (seq: number, subject: string, before: AlertConfig, now: AlertConfig) {
  const names = noLongerPaged(before, now)
  if (names.length === 0) return
  yield* raise("receivers_changed", { seq, treasury: subject, names: names.join(", ") })
})

/** With this few operators, the loss of one key prevents all agreements. */
const operatorsFew = 2

/** Journals and alerts if operators are named for the first time, or if fewer people can end halts. */
const alertOnOperatorChange = Effect.fnUntraced(function* (
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
  yield* raise("operators_changed", { seq, treasury: subject, detail })
})

/** Writes in one transaction. If it fails, the cached state of rules is forgotten. */
export const writeAtomically = Effect.fnUntraced(function* <A, E, R>(write: Effect.Effect<A, E, R>) {
  const states = yield* RuleStates
  return yield* (yield* Database).write(write, states.forget)
})

/** A gateway by its address, which may contain a secret: only its host and a hash of it are stored. */
const { decode, encode } = jsonSetting(
  Schema.Array(Schema.Struct({ name: Schema.String, host: Schema.String, hash: Schema.String })),
)
const key = "gatewaysLast"

const knownAs = ({ name, url }: GatewayConfig) => ({
  name,
  host: URL.parse(url)?.host ?? "",
  hash: createHash("sha256").update(url.replace(/\/+$/, "")).digest("hex"),
})

/**
 * Gateways that were removed and added since the last start, with their hosts, and the number of its gateways that are
 * left; undefined if none changed. Stores the present ones for the next start.
 */
export const changedGateways = Effect.fnUntraced(function* ({ network }: Treasury) {
  const settings = yield* Settings
  const before = decode(yield* settings.get(key))
  const now = network.gateways.map(knownAs)
  yield* settings.set(key, encode(now))
  if (before === undefined) return undefined
  const without = (some: typeof before, others: typeof before) =>
    some.filter(({ hash }) => !others.some((other) => other.hash === hash)).map(({ name, host }) => `${name} (${host})`)
  const [removed, added] = [without(before, now), without(now, before)]
  if (removed.length === 0 && added.length === 0) return undefined
  return { removed, added, left: before.length - removed.length }
})
type GatewayChange = NonNullable<Effect.Success<ReturnType<typeof changedGateways>>>

export const gatewayWords = ({ removed, added }: GatewayChange): string =>
  [
    ...(removed.length === 0 ? [] : [`gateways removed: ${removed.join(", ")}`]),
    ...(added.length === 0 ? [] : [`gateways added: ${added.join(", ")}`]),
  ].join("; ")

/**
 * Alerts to changed gateways. A page if fewer former ones are left than must agree, since new ones alone then decide
 * what is believed; else a ticket.
 */
export const alertOnGatewayChange = Effect.fnUntraced(function* (
  seq: number | undefined,
  { name, network }: Treasury,
  change: GatewayChange,
) {
  const isOther = change.left < network.quorum
  const left = isOther
    ? `; of the former gateways ${change.left === 1 ? "1 is" : `${change.left} are`} left, and ${network.quorum} must agree`
    : ""
  yield* raise("gateways_changed", {
    id: seq ?? gatewayWords(change),
    severity: isOther && change.added.length > 0 ? "page" : "ticket",
    treasury: name,
    words: `${gatewayWords(change)}${left}`,
  })
})

/**
 * Returns the configuration that a process starts with. Receivers that were paged under the terms in force, and are not
 * by this file, stay beside its own while the process lives: they hear that they lose the pages. Writes nothing.
 */
export const withFormerReceivers = Effect.fn("Config.formerReceivers")(function* (file: InForce) {
  const known = yield* (yield* Approvals).termsInForce
  if (known === undefined) return file
  const { treasury } = file
  const before = yield* reachable(known.alerts)
  if (noLongerPaged(before, treasury).length === 0) return file
  const { receivers, routes } = treasury
  return { ...file, treasury: { ...treasury, ...mergedAlerts(treasury, before) }, alerts: { receivers, routes } }
})

/** Receivers whose secrets can still be read. */
const reachable = Effect.fnUntraced(function* ({ receivers, routes }: AlertConfig) {
  const readable = yield* Effect.filter(receivers, (receiver) => Effect.isSuccess(readSecrets(receiver)))
  return { receivers: readable, routes }
})
