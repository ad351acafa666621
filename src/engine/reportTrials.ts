import { Clock, Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import { hasElapsed } from "../domain/hasElapsed.ts"
import { plural } from "../domain/plural.ts"
import type { Rehearsal } from "../rules/overlay.ts"
import { isPaying, isRehearsed, type PayingRule, type PinnedAsset } from "../rules/Rule.ts"
import { subjectsOf } from "../rules/Subject.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { Rehearsals } from "../store/Rehearsals.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"
import { EngineOptions } from "./EngineOptions.ts"

const weekMillis = 7 * 86_400_000
const toldKey = "trialsToldAt"

/** Tells once a week what rules that only rehearse would have done since they began. */
export const reportTrials = Effect.fn("Engine.reportTrials")(function* () {
  const { rules, mode, pins } = yield* EngineOptions
  const rehearsing = rules.filter(isPaying).filter((rule) => isRehearsed(mode, rule))
  if (rehearsing.length === 0) return
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const told = yield* settings.get(toldKey)
  if (told !== undefined && !hasElapsed(Number(told), now, weekMillis)) return
  const rehearsals = yield* (yield* Rehearsals).of(rehearsing.map(({ name }) => name))
  const alerts = yield* AlertQueue
  const report = Effect.gen(function* () {
    yield* settings.set(toldKey, String(now))
    // The first week begins now: there is nothing to tell of yet.
    if (told === undefined) return
    for (const [i, rule] of rehearsing.entries()) {
      const rehearsal = rehearsals[i]
      if (rehearsal === undefined) continue
      yield* alerts.raise({
        dedup: `trial/${rule.name}/${now}`,
        severity: "info",
        kind: "trial",
        subject: rule.name,
        detail: trialText(rule, rehearsal, pins),
        fields: { rule: rule.name, since: new Date(rehearsal.since).toISOString(), payments: rehearsal.payments },
      })
    }
  })
  yield* (yield* Database).atomically(report)
  yield* (yield* Signals).wake("alerts")
})

/** "would have made 3 payments since 2026-11-01: maker-1 -120.00 VEGA, maker-2 +119.88 VEGA". */
const trialText = (rule: PayingRule, rehearsal: Rehearsal, pins: ReadonlyArray<PinnedAsset>): string => {
  const since = new Date(rehearsal.since).toISOString().slice(0, 10)
  if (rehearsal.payments === 0) return `would have paid nothing since ${since}`
  const parties = subjectsOf(rule).flatMap((subject) => subject.parties)
  const moved = [...rehearsal.moved].map(([account, units]) => {
    const [party = "", assetId = ""] = account.split("|")
    const asset = pins.find(({ id }) => id === assetId)
    const name = parties.find(({ publicKey }) => publicKey === party)?.name ?? party
    return `${name} ${units > 0n ? "+" : ""}${formatAmount(units, asset?.decimals ?? 0)} ${asset?.symbol ?? assetId}`
  })
  return `would have made ${plural(rehearsal.payments, "payment")} since ${since}: ${moved.join(", ")}`
}
