import { Effect, Option, Schema } from "effect"
import { isUnknownPayer } from "../rules/funds.ts"
import { isUnseen } from "../rules/knowledge.ts"
import { type Memories, memoryKey, type RuleMemory } from "../rules/RuleMemory.ts"
import type { Snapshot } from "../rules/Snapshot.ts"
import { type Subject, subjectsIn } from "../rules/Subject.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { lastly } from "../store/lastly.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"

/** A first deposit, or a first reading, may take so long. */
const patienceMillis = 300_000

/** Setting: since when (Unix milliseconds) a balance that a subject needs is not known, by `memoryKey`. */
const key = "unknownBalances"
const Stored = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Finite))
const decode = Schema.decodeUnknownOption(Stored)
const read = lastly((text) => Option.getOrUndefined(decode(text)))

/**
 * Tells people that a rule cannot pay since nothing tells a balance that it needs: of an account that never had money,
 * or one whose history a gateway withheld when it was read. Other shortages are plain on the page; of this nothing is.
 * Its time runs until the balance is known or the rule is gone, across restarts: other reasons to be silent, such as a
 * single look at old knowledge, do not begin it anew.
 */
export const tellUnknown = Effect.fnUntraced(function* (
  memories: Memories,
  snapshot: Pick<Snapshot, "now" | "balance">,
) {
  const { now } = snapshot
  const settings = yield* Settings
  const before = read(yield* settings.get(key)) ?? {}
  const silent = [...memories].filter(([, memory]) => isUnknown(memory))
  if (silent.length === 0 && Object.keys(before).length === 0) return
  const inForce = yield* subjectsInForce
  // A beginning later than now is of a clock that was wrong: it begins now.
  const lasting = Object.entries(before).flatMap(([name, since]) => {
    const subject = inForce.get(name)
    return subject !== undefined && isMissing(subject, snapshot) ? [[name, Math.min(since, now)] as const] : []
  })
  const begun = silent
    .filter(([name]) => inForce.has(name))
    .map(([name, { reasonSince }]) => [name, reasonSince] as const)
  const after: Readonly<Record<string, number>> = Object.fromEntries([...begun, ...lasting])
  if (!isSame(before, after)) yield* settings.set(key, JSON.stringify(after))
  for (const [name, since] of Object.entries(before)) {
    const memory = after[name] === undefined ? memories.get(name) : undefined
    if (memory === undefined) continue
    const { rule, subject } = memory
    const isNew = yield* (yield* AlertQueue).allClear(`unknown/${rule}/${subject}/${since}`, {
      kind: "rule",
      subject: rule,
      detail: `${subject}: its balances are known; it held since ${new Date(since).toISOString()}`,
      fields: { rule, account: subject },
    })
    if (isNew) yield* (yield* Signals).wake("alerts")
  }
  for (const [name, { rule, subject, detail }] of silent) {
    const since = after[name]
    if (since === undefined || now - since < patienceMillis) continue
    const isNew = yield* (yield* AlertQueue).raise({
      dedup: `unknown/${rule}/${subject}/${since}`,
      severity: "ticket",
      kind: "rule",
      subject: rule,
      detail:
        `pays nothing for ${subject} since ${new Date(since).toISOString()}: ${detail}; where that account has ` +
        "money, compare it with another gateway; otherwise make its first payment by hand",
      fields: { rule, account: subject },
    })
    if (isNew) yield* (yield* Signals).wake("alerts")
  }
})

const subjectsInForce = Effect.map(EngineOptions, ({ rules, mode }) => {
  const { paying } = subjectsIn(rules, mode)
  return new Map(paying.map((one): [string, Subject] => [memoryKey(one.rule.name, one.name), one]))
})

const isUnknown = ({ reason, detail }: RuleMemory): boolean =>
  (reason === "no_data" && isUnseen(detail)) || (reason === "short" && isUnknownPayer(detail))

/** Whether a balance that the subject looks at, or would pay from, was never seen. */
const isMissing = ({ accounts, payers, asset }: Subject, { balance }: Pick<Snapshot, "balance">): boolean =>
  accounts.some((one) => balance(one.party.publicKey, one.asset.id, one.balance) === undefined) ||
  payers.some(({ publicKey }) => balance(publicKey, asset.id, "free") === undefined)

const isSame = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, since]) => b[name] === since)
