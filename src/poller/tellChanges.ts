import { Effect } from "effect"
import { general } from "../domain/AccountType.ts"
import { formatAmount } from "../domain/Amount.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import type { Change } from "../store/compareRows.ts"
import { say } from "../telemetry/say.ts"

/** Balances told of one reading, one line each. Of thousands a second nobody reads a line, and writing them costs. */
const toldMax = 20

/** Tells people of balances that changed: the free ones of watched parties, in assets that the file names. */
export const tellChanges = Effect.fnUntraced(function* (
  treasury: { readonly parties: ReadonlyMap<string, Party>; readonly assets: ReadonlyMap<string, PinnedAsset> },
  changes: ReadonlyArray<Change>,
  height: bigint,
) {
  const parties = new Map([...treasury.parties.values()].map((party) => [party.publicKey as string, party.name]))
  const assets = new Map([...treasury.assets.values()].map((asset) => [asset.id, asset]))
  const block = height > 0n ? `block ${height}`.padEnd(10) : ""
  let told = 0
  for (const { before, row } of changes) {
    const asset = assets.get(row.asset)
    const subject = parties.get(row.party)
    if (subject === undefined || asset === undefined || before === undefined || row.type !== general) continue
    if (++told > toldMax) continue
    const say0 = (units: bigint) => formatAmount(units, asset.decimals)
    const step = row.balance - before
    const change = `${step > 0n ? "+" : ""}${say0(step)}`
    const detail = `${block} ${say0(row.balance)} ${asset.symbol}   ${change}`.trimStart()
    yield* say("balance", { subject, detail, asset: asset.symbol, balance: say0(row.balance) })
  }
  if (told > toldMax) yield* say("balance", { detail: `${block} ${told - toldMax} more balances changed`.trimStart() })
})
