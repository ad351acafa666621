import { Effect } from "effect"
import { formatAmount } from "../domain/Amount.ts"
import type { Decision } from "../domain/Decision.ts"
import type { Subject } from "../rules/Subject.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Asks } from "../store/Asks.ts"

/** Asks people for what a rule needs, once: stored, journalled and told in one transaction. */
export const askPeople = Effect.fnUntraced(function* (
  { rule, name, asset }: Subject,
  { payments, detail }: Extract<Decision, { _tag: "Ask" }>,
  episode: number,
) {
  const [payment] = payments
  if (payment === undefined) return undefined
  const asks = yield* Asks
  const { from, to, toKey, assetId, amount } = payment
  const ask = {
    rule: rule.name,
    subject: name,
    episode,
    from,
    to,
    asset: asset.symbol,
    amount,
    decimals: asset.decimals,
    detail,
  }
  yield* asks.record(ask)
  const units = formatAmount(amount, asset.decimals)
  // What a wallet takes, unsigned: base units, the receiver's key, the asset's id.
  const command = {
    transfer: {
      fromAccountType: "ACCOUNT_TYPE_GENERAL",
      to: toKey,
      toAccountType: "ACCOUNT_TYPE_GENERAL",
      asset: assetId,
      amount: String(amount),
      oneOff: {},
    },
  }
  yield* (yield* AlertQueue).raise({
    dedup: `request/${rule.name}/${name}/${episode}`,
    severity: "ticket",
    kind: "request",
    subject: name,
    detail: `send ${units} ${asset.symbol} from ${from} to ${to}: ${detail}`,
    fields: { rule: rule.name, from, to, asset: asset.symbol, amount: units, command: JSON.stringify(command) },
  })
  return { ...ask, seq: 0, at: 0, endedAt: undefined }
})

/** The account is back in its band: what was asked for counts as received, and people hear of it. */
export const endAsk = Effect.fnUntraced(function* ({ rule, name }: Subject, detail: string) {
  const ended = yield* (yield* Asks).end(rule.name, name, detail)
  if (ended === undefined) return undefined
  const units = formatAmount(ended.amount, ended.decimals)
  yield* (yield* AlertQueue).raise({
    dedup: `received/${rule.name}/${name}/${ended.episode}`,
    severity: "info",
    kind: "request",
    subject: name,
    detail: `${ended.to} is funded again: ${detail}; asked for were ${units} ${ended.asset} from ${ended.from}`,
    fields: { rule: rule.name, from: ended.from, to: ended.to, asset: ended.asset, amount: units },
  })
  return ended
})
