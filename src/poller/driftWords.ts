import { Clock, Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import { type Alert, AlertQueue } from "../store/AlertQueue.ts"
import type { Difference, Drift } from "../store/Drifts.ts"
import { Signals } from "../store/Signals.ts"

const dayMillis = 86_400_000

/** Once a day: a gateway that leaves out rows does so again and again. */
export const tellMissed = Effect.fnUntraced(function* (found: number) {
  if (found === 0) return
  yield* Effect.logWarning("the gateway had left out rows; they are read now", { rows: found })
  const day = Math.floor((yield* Clock.currentTimeMillis) / dayMillis)
  yield* (yield* AlertQueue).raise({
    dedup: `rows/missed/${day}`,
    severity: "ticket",
    kind: "drift",
    subject: "rows",
    detail: `the gateway left ${found} rows out of an answer; they are read now`,
    fields: { rows: found },
  })
  yield* (yield* Signals).wake("alerts")
})

/** What the treasury calls its parties and assets. */
interface Names {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
}

/** "hot/USDT", with the kind of account where it is no general one. */
export const subjectOf = ({ parties, assets }: Names, { party, asset, type }: Difference): string => {
  const name = [...parties.values()].find(({ publicKey }) => publicKey === party)?.name ?? party.slice(0, 8)
  const symbol = [...assets.values()].find(({ id }) => id === asset)?.symbol ?? asset.slice(0, 8)
  const kind = type.replace("ACCOUNT_TYPE_", "").toLowerCase()
  return kind === "general" ? `${name}/${symbol}` : `${name}/${symbol} ${kind}`
}

export const wordsOf = ({ assets }: Names, { asset, stored, reported }: Difference): string => {
  const decimals = [...assets.values()].find(({ id }) => id === asset)?.decimals ?? 0
  return `its rows say ${formatAmount(stored, decimals)}, the gateway ${formatAmount(reported, decimals)}`
}

export const alertOf = (names: Names, drift: Drift, isOver: boolean): Alert => ({
  dedup: `drift/${drift.seq}${isOver ? "/over" : ""}`,
  severity: isOver ? "info" : "ticket",
  kind: "drift",
  subject: subjectOf(names, drift),
  detail: isOver ? "rows and balance agree again" : `${wordsOf(names, drift)}; rules on it hold until both agree`,
  fields: { stored: String(drift.stored), reported: String(drift.reported) },
  ...(isOver ? { resolves: [`drift/${drift.seq}`] } : {}),
})
