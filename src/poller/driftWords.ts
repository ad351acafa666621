import { formatAmount } from "../domain/Amount.ts"
import { shellWord } from "../domain/shellWord.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import type { Alert } from "../store/AlertQueue.ts"
import type { Difference, Drift } from "../store/Drifts.ts"

/** What the treasury calls its parties and assets. */
interface Names {
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
}

const partyName = ({ parties }: Names, key: string) =>
  [...parties.values()].find(({ publicKey }) => publicKey === key)?.name

const symbolOf = ({ assets }: Names, asset: string) => [...assets.values()].find(({ id }) => id === asset)?.symbol

/** "hot/USDT", with the kind of account where it is no general one. */
export const subjectOf = (names: Names, { party, asset, type }: Difference): string => {
  const name = partyName(names, party) ?? party.slice(0, 8)
  const symbol = symbolOf(names, asset) ?? asset.slice(0, 8)
  const kind = type.replace("ACCOUNT_TYPE_", "").toLowerCase()
  return kind === "general" ? `${name}/${symbol}` : `${name}/${symbol} ${kind}`
}

export const wordsOf = ({ assets }: Names, { asset, stored, reported }: Difference): string => {
  const decimals = [...assets.values()].find(({ id }) => id === asset)?.decimals ?? 0
  return `mismatch: our history ${formatAmount(stored, decimals)}, gateway ${formatAmount(reported, decimals)}`
}

/** What ends a mismatch that does not end by itself. A gateway may name an asset as it likes. */
const remedyOf = (names: Names, { party, asset }: Difference): string => {
  const named = [partyName(names, party) ?? party, symbolOf(names, asset) ?? asset].map(shellWord)
  return `cofferer balances rebase ${named.join(" ")} --reason TEXT`
}

export const alertOf = (names: Names, drift: Drift, isOver: boolean): Alert => ({
  dedup: `drift/${drift.seq}${isOver ? "/over" : ""}`,
  severity: isOver ? "info" : "ticket",
  kind: "drift",
  subject: subjectOf(names, drift),
  detail: isOver
    ? "rows and balance agree again"
    : `${wordsOf(names, drift)}; rules on it hold until two comparisons agree; run "${remedyOf(names, drift)}" to read its history anew`,
  fields: { stored: String(drift.stored), reported: String(drift.reported) },
  ...(isOver ? { resolves: [`drift/${drift.seq}`] } : {}),
})
