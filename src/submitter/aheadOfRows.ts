import type { ChainHead } from "../gateway/schema/ChainHead.ts"
import { ceilingOf, rowsApart } from "../rules/saneHead.ts"
import type { Watermark } from "../store/Observations.ts"

/**
 * Why a payment must not stand on this head; undefined where it may, or where balances name no block. Each answer of a
 * head may be far above the one before, so some in a row lead anywhere; a payment on a block that has not come can
 * execute once it has, and until then nobody can end it.
 */
export const aheadOfRows = (
  { height }: Pick<ChainHead, "height">,
  rows: Pick<Watermark, "height" | "timestamp">,
  now: number,
): string | undefined => {
  if (rows.height === 0n) return undefined
  const named = { height: rows.height, at: Number(rows.timestamp / 1_000_000n) }
  return height <= ceilingOf(named, now, rowsApart)
    ? undefined
    : `block ${height} is told as the newest, and block ${rows.height} is the newest of the balances: nothing is signed on what may not have come`
}
