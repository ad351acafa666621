import { Option, Schema } from "effect"
import type { Asset } from "../domain/Asset.ts"
import type { BlockMark } from "../domain/Balance.ts"
import { quorumTip } from "../domain/chain.ts"
import { jsonText } from "../domain/text.ts"
import type { GatewayAnswer } from "./Gateways.ts"
import type { LedgerDebits, SendCounts } from "./readLedger.ts"
import type { TransferListing } from "./readTransfers.ts"
import type { ObservedTransfer } from "./schema/Transfers.ts"
import type { Walk } from "./walkPages.ts"

/** A cursor means something to the gateway alone that gave it, so several are kept with their gateways' names. */
const Cursors = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const decode = Schema.decodeUnknownOption(Cursors)

const cursorsOf = (text: string | undefined): Readonly<Record<string, string>> =>
  Option.getOrElse(decode(text ?? ""), () => ({}))

/** The cursor of one gateway; undefined if it is new. `gateways` is their number. */
export const cursorOf = (text: string | undefined, gateway: string, gateways: number): string | undefined => {
  const own = cursorsOf(text)
  if (Object.hasOwn(own, gateway)) return own[gateway]
  return gateways === 1 && !(text ?? "").startsWith("{") ? text : undefined
}

const cursorsText = (
  answers: ReadonlyArray<GatewayAnswer<TransferListing>>,
  { after, of }: { readonly after: string | undefined; readonly of: number },
): string | undefined => {
  if (of === 1) return answers[0]?.value.cursor
  const cursors = new Map(Object.entries(cursorsOf(after)))
  for (const { gateway, value } of answers) if (value.cursor !== undefined) cursors.set(gateway.name, value.cursor)
  const sorted = [...cursors].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return sorted.length === 0 ? undefined : JSON.stringify(Object.fromEntries(sorted))
}

/** The block that a quorum reached; undefined where fewer name one. */
const quorumMark = (marks: ReadonlyArray<BlockMark | undefined>, quorum: number): BlockMark | undefined =>
  marks.flatMap((mark) => mark ?? []).toSorted((a, b) => (a.height < b.height ? 1 : a.height > b.height ? -1 : 0))[
    quorum - 1
  ]

const byId = (rows: ReadonlyArray<Asset>): ReadonlyArray<Asset> => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Listing of assets that a quorum gives, in any order, as new as a quorum of these is; undefined where none does. */
export const agreedAssets = (walks: ReadonlyArray<Walk<Asset>>, quorum: number): Walk<Asset> | undefined => {
  const alike = [...Map.groupBy(walks, ({ complete, rows }) => jsonText([complete, byId(rows)])).values()]
  const same = alike.find(({ length }) => length >= quorum)
  const mark = quorumMark(same?.map((walk) => walk.mark) ?? [], quorum)
  return same && { ...same[0]!, mark }
}

const isStronger = (one: ObservedTransfer, other: ObservedTransfer): boolean =>
  one.status === other.status ? one.timestamp > other.timestamp : one.status === "done" || other.status !== "done"

/** Versions of one transfer, grouped by its ends, amount and reference: the largest group first. */
const alike = (versions: ReadonlyArray<ObservedTransfer>) =>
  [
    ...Map.groupBy(versions, ({ to, asset, amount, reference }) => jsonText([to, asset, amount, reference])).values(),
  ].toSorted((a, b) => b.length - a.length || b[0]!.reference.length - a[0]!.reference.length)

/**
 * One transfer as several gateways list it: the ends, the amount and the reference that most of them tell, with a tag
 * where as many leave it out; the end that is done, else the later one.
 */
const merged = (versions: ReturnType<typeof alike>, quorum: number) => {
  const most = versions[0]!
  const { to, asset, amount, reference } = most[0]!
  const end = versions.flat().reduce((best, one) => (isStronger(one, best) ? one : best))
  return { ...end, to, asset, amount, reference, isAgreed: quorum > 1 && most.length >= quorum }
}

/**
 * Merges the gateways' listings: all transfers that any of them lists, as complete and as new as those of a quorum.
 * If gateways differ on a transfer and no quorum agrees on it, the listing is not complete, and the next reading starts
 * from the first row: another gateway may have listed the transfer earlier.
 */
export const agreedListing = (
  answers: ReadonlyArray<GatewayAnswer<TransferListing>>,
  quorum: number,
  cursors: { readonly after: string | undefined; readonly of: number },
): TransferListing => {
  const listed = answers.flatMap(({ value }) => value.transfers)
  const transfers = [...Map.groupBy(listed, ({ id }) => id).values()].map(alike)
  const isDisputed = transfers.some(([most, other]) => other !== undefined && most!.length < quorum)
  const [only] = answers
  const whole = isDisputed ? [] : answers.filter(({ value }) => value.complete)
  return {
    transfers:
      cursors.of === 1 && only !== undefined
        ? only.value.transfers
        : transfers.map((versions) => merged(versions, quorum)),
    complete: whole.length >= quorum,
    mark: quorumMark(
      whole.length >= quorum ? whole.map(({ value }) => value.mark) : answers.map(({ value }) => value.mark),
      quorum,
    ),
    reached: quorumTip(
      whole.flatMap(({ value }) => value.reached ?? []),
      quorum,
    ),
    cursor: isDisputed ? "" : cursorsText(answers, cursors),
  }
}

/**
 * Number of movements of each transfer that a quorum counted at least. Complete if a quorum reports the same number for
 * each transfer: if two differ, one lacks movements that the other has.
 */
export const agreedSends = (answers: ReadonlyArray<SendCounts>, quorum: number): SendCounts => {
  const whole = answers.filter(({ complete }) => complete)
  const counts = new Map<string, number>()
  let complete = whole.length >= quorum
  for (const id of new Set(answers.flatMap((one) => [...one.counts.keys()]))) {
    const agreed = answers.map((one) => one.counts.get(id) ?? 0).toSorted((a, b) => b - a)[quorum - 1] ?? 0
    if (agreed > 0) counts.set(id, agreed)
    const alike = Map.groupBy(whole, (one) => one.counts.get(id) ?? 0)
    complete &&= [...alike.values()].some(({ length }) => length >= quorum)
  }
  return {
    counts,
    shown: new Set(answers.flatMap((one) => [...one.shown])),
    complete,
    mark: quorumMark(
      (whole.length >= quorum ? whole : answers).map(({ mark }) => mark),
      quorum,
    ),
  }
}

/** Debits that any of the gateways shows: a debit reported by a single one is reason enough for a check. */
export const anyDebits = (answers: ReadonlyArray<LedgerDebits>, quorum: number): LedgerDebits => {
  const { complete, mark } = agreedSends(
    answers.map((one) => ({ ...one, counts: new Map(), shown: new Set() })),
    quorum,
  )
  const debits = new Map(answers.flatMap((one) => one.debits.map((row) => [`${row.timestamp} ${row.transferId}`, row])))
  return { debits: [...debits.values()], complete, mark }
}
