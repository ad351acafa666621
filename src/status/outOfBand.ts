import { Effect, Option, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { isPaying, levelsOf, type PayingRule } from "../rules/Rule.ts"
import { lastly } from "../store/lastly.ts"
import { Settings } from "../store/Settings.ts"
import type { OutOfBand } from "./Facts.ts"
import type { View } from "./View.ts"

/** From the decision to a balance that shows the payment, beside what the rule itself waits for. */
const paymentMillis = 60_000
/** A rule that rests by its own hours is not late meanwhile. */
const resting: ReadonlySet<string | null> = new Set(["outside_hours", "maintenance", "not_due"])

/** Setting: since when (Unix milliseconds) each account is out of its band. */
const key = "outOfBand"
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Finite)))
const read = lastly((text) => Option.getOrUndefined(decode(text)))

type Accounts = Pick<View, "accounts" | "rules">

const nameOf = ({ party, asset }: View["accounts"][number]): string => `${party}/${asset}`

const stored = Effect.gen(function* () {
  return read(yield* (yield* Settings).get(key)) ?? {}
})

/** Accounts out of band now, with since when. One whose rule rests begins anew once the rule may pay. */
const sinceOf = ({ accounts, rules }: Accounts, before: Readonly<Record<string, number>>, now: number) =>
  accounts
    .filter(({ inBand }) => !inBand)
    .map((account) => {
      const name = nameOf(account)
      const rests = rules.some(({ subject, reason }) => subject === name && resting.has(reason))
      return { name, account, since: rests ? now : Math.min(before[name] ?? now, now) }
    })

/** Milliseconds in which rules bring an account back: the slowest of those that bound it. A floor has no rule. */
const cycleMillis = (rules: ReadonlyArray<PayingRule>, name: string): number => {
  const own = rules.filter((rule) =>
    levelsOf(rule).some(({ party, asset }) => `${party.name}/${asset.symbol}` === name),
  )
  const cycles = own.map(({ forMillis, cooldownMillis, settleMillis }) => forMillis + cooldownMillis + settleMillis)
  return Math.max(0, ...cycles) + paymentMillis
}

/** Accounts out of band, for how long they are by what was noted, and how long their rules take. */
export const readOutOfBand = Effect.fnUntraced(function* ({ rules }: Treasury, view: Accounts, now: number) {
  const before = yield* stored
  const paying = rules.filter(isPaying)
  return sinceOf(view, before, now).map(
    ({ name, account, since }): OutOfBand => ({
      account: name,
      balance: account.balance,
      seconds: (now - since) / 1_000,
      cycleSeconds: cycleMillis(paying, name) / 1_000,
    }),
  )
})

/** Notes since when accounts are out of band. */
export const noteOutOfBand = Effect.fnUntraced(function* (view: Accounts, now: number) {
  const before = yield* stored
  const after = Object.fromEntries(sinceOf(view, before, now).map(({ name, since }) => [name, since]))
  const rests = JSON.stringify(after)
  if (rests !== JSON.stringify(before)) yield* (yield* Settings).set(key, rests)
})
