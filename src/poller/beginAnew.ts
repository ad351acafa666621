import { Effect } from "effect"
import { Database } from "../store/Database.ts"
import { accountName, Drifts } from "../store/Drifts.ts"
import { Observations, type Watermark } from "../store/Observations.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { blockNanos } from "./askWindow.ts"
import { tellLoss } from "./bridgeGap.ts"
import { readBaseTogether } from "./readBase.ts"

/** Setting: "pending" from when people accepted a chain that began again until balances have begun anew on it. */
export const anewKey = "chainAnew"

const cause = "the network was reset, and its chain began again"

/**
 * Lets balances begin anew on a chain that began again: as they are there, and zero for each account that it does not
 * have. Undefined where nothing of the kind is pending; "waits" while they cannot be had: until then no row is read.
 */
export const beginAnew = Effect.fn("BalancePoller.beginAnew")(function* (
  parties: ReadonlyArray<string>,
  watermark: Watermark,
  now: bigint,
) {
  const settings = yield* Settings
  if ((yield* settings.get(anewKey)) !== "pending") return undefined
  const base = yield* readBaseTogether(parties, now)
  if (base === "unusable" || base === "apart") return "waits" as const
  const observations = yield* Observations
  // Where no balances are told, all that the new chain has comes with its rows, which are later than those of the old.
  const reached =
    base === "unsupported"
      ? { timestamp: watermark.timestamp + blockNanos, height: 0n }
      : { timestamp: base.until, height: base.height }
  if (reached.timestamp <= watermark.timestamp) return "waits" as const
  const openings = base === "unsupported" ? [] : base.openings
  const listed = new Set(openings.map(accountName))
  const gone = (yield* observations.accounts)
    .filter((account) => parties.includes(account.party) && !listed.has(accountName(account)))
    .map((account) => ({ ...account, balance: 0n, timestamp: reached.timestamp - blockNanos }))
  yield* (yield* Database).atomically(
    Effect.gen(function* () {
      yield* observations.rebase([...openings, ...gone], reached)
      yield* (yield* Drifts).uncheck
      yield* tellLoss(watermark.timestamp, reached.timestamp, cause)
      yield* settings.set(anewKey, "")
    }),
  )
  const signals = yield* Signals
  for (const topic of ["engine", "alerts"] as const) yield* signals.wake(topic)
  return "begun" as const
})
