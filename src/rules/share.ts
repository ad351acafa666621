import { feeShareOf, type Look, leastOf, takesPart } from "./Look.ts"
import { feeMax } from "./Policy.ts"
import type { Party } from "./Rule.ts"

/** Base units, fee included, that each of the looks may take from the payer. */
type Shares = ReadonlyMap<Look, bigint>

/**
 * Shares what a payer can spend among the looks that want it, all of one priority, where it does not suffice for all.
 * Those that pay all or nothing are served whole, in their order, as far as the money goes; the others share the rest
 * in proportion to their needs. One whose share is under its least gets nothing, and its share goes to the others.
 */
export const share = (looks: ReadonlyArray<Look>, payer: Party, spendable: bigint): Shares => {
  const shares = new Map<Look, bigint>(looks.map((look) => [look, 0n]))
  let left = spendable > 0n ? spendable : 0n
  for (const look of looks.filter(({ subject }) => !takesPart(subject.rule))) {
    const want = wantOf(look, payer)
    if (want > left) continue
    shares.set(look, want)
    left -= want
  }
  let takers = looks.filter(({ subject }) => takesPart(subject.rule))
  while (takers.length > 0) {
    const wanted = takers.reduce((sum, look) => sum + wantOf(look, payer), 0n)
    const part = (look: Look): bigint => (wanted <= left ? wantOf(look, payer) : (left * wantOf(look, payer)) / wanted)
    const small = takers.filter((look) => part(look) < costOf(look, leastOf(look)))
    if (small.length === 0) {
      for (const look of takers) shares.set(look, part(look))
      break
    }
    const smallest = small.reduce((a, b) => (part(b) < part(a) ? b : a))
    takers = takers.filter((look) => look !== smallest)
  }
  return shares
}

/** What the look would take from the payer now if its funds did not limit it, fees at their highest included. */
const wantOf = (look: Look, payer: Party): bigint =>
  look.sized
    .filter(({ transfer }) => transfer.from === payer)
    .reduce((sum, { wanted }) => sum + costOf(look, wanted), 0n)

const costOf = (look: Look, amount: bigint): bigint => amount + feeMax(feeShareOf(look), amount)
