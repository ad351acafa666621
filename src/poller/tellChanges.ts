import { Effect } from "effect"
import { general } from "../domain/AccountType.ts"
import { formatAmount } from "../domain/Amount.ts"
import type { Party, PinnedAsset } from "../rules/Rule.ts"
import type { Change } from "../store/compareRows.ts"
import { say } from "../telemetry/say.ts"

/** Balances told of one reading, one line each. Of thousands a second nobody reads a line, and writing them costs. */
const toldMax = 20

/** What one reading covers: block times from the watermark's on, up to a height; heights are 0 where none is told. */
interface BlocksRead {
  readonly after: { readonly timestamp: bigint; readonly height: bigint }
  readonly upTo: bigint
}

/**
 * The block in which a row came about. A row bears a time alone: where several blocks were read at once, it is one of
 * these; "" where no heights are told.
 */
const blockOf = (timestamp: bigint, { after, upTo }: BlocksRead): string => {
  if (upTo === 0n) return ""
  if (after.height === 0n || timestamp < after.timestamp) return `block ${upTo} or before`
  const first = after.height + 1n
  return first >= upTo ? `block ${upTo}` : `block ${first} to ${upTo}`
}

/** Tells people of balances that changed: the free ones of watched parties, in assets that the file names. */
export const tellChanges = Effect.fnUntraced(function* (
  treasury: { readonly parties: ReadonlyMap<string, Party>; readonly assets: ReadonlyMap<string, PinnedAsset> },
  changes: ReadonlyArray<Change>,
  read: BlocksRead,
) {
  const parties = new Map([...treasury.parties.values()].map((party) => [party.publicKey as string, party.name]))
  const assets = new Map([...treasury.assets.values()].map((asset) => [asset.id, asset]))
  let told = 0
  for (const { before, row } of changes) {
    const asset = assets.get(row.asset)
    const subject = parties.get(row.party)
    if (subject === undefined || asset === undefined || before === undefined || row.type !== general) continue
    if (++told > toldMax) continue
    const say0 = (units: bigint) => formatAmount(units, asset.decimals)
    const step = row.balance - before
    const change = `${step > 0n ? "+" : ""}${say0(step)}`
    const block = blockOf(row.timestamp, read)
    const detail = `${block.padEnd(10)} ${say0(row.balance)} ${asset.symbol}   ${change}`.trimStart()
    yield* say("balance", { subject, detail, asset: asset.symbol, balance: say0(row.balance) })
  }
  if (told > toldMax) yield* say("balance", { detail: `${told - toldMax} more balances changed` })
})
