import type { Reference } from "../domain/Reference.ts"
import { namesIn, type Policy } from "../rules/Policy.ts"
import { bodyText, type EntryRow, hashOfHashes, type JournalEntry } from "../store/Journal.ts"
import type { PaymentRead } from "./readPayment.ts"

type StoredEntry = typeof EntryRow.Type

/** What a payment was judged by, beside itself. */
export interface Permitted {
  readonly k: number
  readonly chainId: string
  readonly policy: Policy
  /** Position of the policy's line among those of its kind. */
  readonly line: number
  /** The operators whose signatures were verified; undefined where the line asks for none. */
  readonly approval: { readonly group: string; readonly need: number; readonly by: ReadonlyArray<string> } | undefined
}

/**
 * What a permit says: the attempt, the payment in keys and base units, by what it is permitted, and by `before` all
 * that the journal said of the payment until then.
 */
export const permitFacts = (
  { kind, payment }: PaymentRead,
  { policy, ...by }: Permitted,
  before: ReadonlyArray<string>,
): JournalEntry["body"] => ({
  k: by.k,
  command: kind,
  chainId: by.chainId,
  from: payment.from,
  to: payment.to,
  asset: payment.assetId,
  amount: payment.amount,
  policy: policy.hash,
  policyDigest: policy.digest,
  line: by.line,
  approval: by.approval,
  before: hashOfHashes(before),
})

/**
 * What the configuration in force calls the keys and the asset of a payment. Only these: the whole of it would show
 * each who is given a receipt all the others whom the treasury pays.
 */
export const nameFacts = ({ kind, payment }: PaymentRead, policy: Policy): JournalEntry["body"] => ({
  detail: "names and decimals of this payment by the configuration in force",
  command: kind,
  from: payment.from,
  to: payment.to,
  asset: payment.assetId,
  policyDigest: policy.digest,
  ...namesIn(policy, payment),
})

/**
 * Why the newest permit of an intent is not the one of the bytes that are to be signed; undefined where it is. A
 * transfer must name that very entry and bear the payment's tag; what cannot must be permitted all the same.
 */
export const permitRefused = (
  permit: StoredEntry | undefined,
  facts: JournalEntry["body"],
  { kind, seen }: Pick<PaymentRead, "kind"> & { readonly seen: Reference | undefined },
  tag: string,
): string | undefined => {
  if (permit === undefined) return "nothing of this payment is permitted"
  if (permit.body !== bodyText(facts)) return `entry ${permit.seq} permits something else`
  if (kind !== "transfer") return undefined
  if (seen === undefined) return "the command does not name its permit"
  if (seen.tag !== tag) return "the command bears the tag of another payment"
  return seen.seq === permit.seq && seen.hash === permit.hash
    ? undefined
    : `the command names entry ${seen.seq}, its permit is entry ${permit.seq}`
}
