import { Clock, Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { formatLevel } from "../domain/Amount.ts"
import { dayOf, signedUses } from "../engine/signedUses.ts"
import { windowUse } from "../rules/limits.ts"
import type { PolicyLine } from "../rules/Policy.ts"
import { receiverKey } from "../rules/Rule.ts"
import { Observations } from "../store/Observations.ts"
import { Outbox } from "../store/Outbox.ts"
import type { PolicyView } from "./View.ts"

/** How much of a limit of the policy is signed or set aside. */
interface LimitUse {
  /** The line as messages and metrics name it. */
  readonly line: string
  readonly limit: "per_24h" | "transfers_per_24h"
  /** From 0; above 1 where the policy was made stricter meanwhile. */
  readonly share: number
}

/** The lines of the policy as people read them, with what of their last 24 hours is used. */
export const limitViews = Effect.fnUntraced(function* (treasury: Treasury) {
  const uses = yield* usesOf(treasury)
  return uses.map((use): PolicyView => paymentView(treasury, use))
})

/** The same for machines. What one transfer may be is no limit that is used up. */
export const limitUses = Effect.fnUntraced(function* (treasury: Treasury) {
  return (yield* usesOf(treasury)).flatMap(
    ({ line, amount, count }): ReadonlyArray<LimitUse> => [
      { line: String(line.line), limit: "per_24h", share: shareOf(amount, line.per24h) },
      { line: String(line.line), limit: "transfers_per_24h", share: countShare(line, count) },
    ],
  )
})

const usesOf = Effect.fnUntraced(function* ({ policy }: Treasury) {
  const now = yield* Clock.currentTimeMillis
  const watermark = yield* (yield* Observations).watermark
  const open = yield* (yield* Outbox).open
  const day = dayOf(open, now, watermark === undefined ? now : Number(watermark.timestamp / 1_000_000n))
  const known = { open, ...(yield* signedUses(policy, day)) }
  return policy.lines.map((line) => ({ line, ...windowUse(known, line, []) }))
})

/** A limit of nothing is used up. */
const shareOf = (used: bigint, limit: bigint): number => (limit === 0n ? 1 : Number((used * 1_000n) / limit) / 1_000)

const countShare = ({ transfersPer24h }: Pick<PolicyLine, "transfersPer24h">, count: number): number =>
  shareOf(BigInt(count), BigInt(transfersPer24h))

const namesOf = (treasury: Treasury, keys: ReadonlySet<string>): string =>
  [...treasury.parties.values(), ...treasury.addresses.values()]
    .filter((one) => keys.has(receiverKey(one)))
    .map(({ name }) => name)
    .join(", ")

const paymentView = (
  treasury: Treasury,
  use: { readonly line: PolicyLine; readonly amount: bigint; readonly count: number },
): PolicyView => {
  const { line, amount, count } = use
  const asset = [...treasury.assets.values()].find((a) => a.id === line.assetId)
  const say = (units: bigint) => formatLevel(units, asset?.decimals ?? 0)
  const symbol = asset?.symbol ?? line.assetId
  return {
    line: line.line,
    text: `${namesOf(treasury, line.from)} -> ${namesOf(treasury, line.to)}, ${symbol}: ${say(line.perTransfer)} each`,
    used: `${say(amount)} ${symbol}`,
    limit: `${say(line.per24h)} ${symbol}`,
    share: Math.max(shareOf(amount, line.per24h), countShare(line, count)),
    transfers: `${count} of ${line.transfersPer24h}`,
  }
}
