import { utf8ToBytes } from "@noble/hashes/utils.js"
import type { ApprovalGroup } from "../domain/Approval.ts"
import { verifySignature } from "./Transaction.ts"

/** All that an approval of a payment is bound to: with any of it changed, a signature says nothing. */
export interface PaymentTerms {
  readonly treasury: string
  readonly chainId: string
  readonly intentId: string
  readonly rule: string
  /** Operator or user who handed it in; undefined where a rule decided it. */
  readonly proposer: string | undefined
  /** Public keys. */
  readonly from: string
  readonly to: string
  readonly assetId: string
  /** Base units, as is the largest fee. */
  readonly amount: bigint
  readonly feeMax: bigint
  /** SHA-256 over the canonical text of the policy in force, approvals included. */
  readonly policy: string
  readonly group: string
  /** Unix milliseconds from which on it is void. */
  readonly expires: number
}

/** A signature as it was handed in; whose it is, its key says. */
export interface GivenApproval {
  readonly key: string
  /** 128 hex characters. */
  readonly signature: string
}

/** First lines of what operators sign: none of it can be taken for another, or for a command of the network. */
export const approvalDomains = {
  payment: "cofferer approval of a payment, version 1",
  policy: "cofferer approval of a policy, version 1",
  resume: "cofferer approval of a resume, version 1",
} as const

/** One fact a line; a line break inside a value cannot pass for the next fact. */
const linesOf = (domain: string, facts: ReadonlyArray<readonly [name: string, value: string]>): string =>
  `${[domain, ...facts.map(([name, value]) => `${name}: ${JSON.stringify(value).slice(1, -1)}`)].join("\n")}\n`

/** What operators sign to approve a payment: the UTF-8 bytes of this text, its last line break included. */
export const paymentText = (terms: PaymentTerms): string =>
  linesOf(approvalDomains.payment, [
    ["treasury", terms.treasury],
    ["chain", terms.chainId],
    ["payment", terms.intentId],
    ["rule", terms.rule],
    ["proposed by", terms.proposer ?? "its rule"],
    ["from", terms.from],
    ["to", terms.to],
    ["asset", terms.assetId],
    ["amount in base units", String(terms.amount)],
    ["fee in base units, at most", String(terms.feeMax)],
    ["policy", terms.policy],
    ["group", terms.group],
    ["void from", new Date(terms.expires).toISOString()],
  ])

/** What operators sign to let a policy come into force: its digest, and that of the one which it replaces. */
export const policyText = (treasury: string, replaced: string, digest: string): string =>
  linesOf(approvalDomains.policy, [
    ["treasury", treasury],
    ["policy", digest],
    ["in place of", replaced],
  ])

/** What operators sign to end halts: which ones, and why. */
export const resumeText = (
  treasury: string,
  halts: ReadonlyArray<{ readonly seq: number; readonly reason: string }>,
  reason: string,
): string =>
  linesOf(approvalDomains.resume, [
    ["treasury", treasury],
    ...halts.map(({ seq, reason: halt }) => [`halt ${seq}`, halt] as const),
    ["reason", reason],
  ])

/** Whether the key's holder signed the text. */
export const isApproval = (key: string, text: string, signature: string): boolean =>
  verifySignature(key, utf8ToBytes(text), signature)

/** Operators whose valid signature over the text is among the given ones: each once, never the excluded one. */
export const approversOf = (
  operators: ReadonlyMap<string, string>,
  text: string,
  given: ReadonlyArray<GivenApproval>,
  except?: string,
): ReadonlyArray<string> =>
  [...operators]
    .filter(([name]) => name !== except)
    .filter(([, key]) => given.some((one) => one.key === key && isApproval(key, text, one.signature)))
    .map(([name]) => name)

/** By whom a payment is approved, or why it is not. */
export type Approved = { readonly by: ReadonlyArray<string> } | { readonly lacking: string }

/** Clocks differ by less. */
const slackMillis = 60_000

/** Whether the group has approved exactly these terms at this time (Unix milliseconds). Deny by default. */
export const judgeApproval = (
  group: ApprovalGroup,
  terms: PaymentTerms,
  given: ReadonlyArray<GivenApproval>,
  now: number,
): Approved => {
  if (terms.group !== group.name) return { lacking: `the policy asks for ${group.name}, not ${terms.group}` }
  if (!(now < terms.expires)) return { lacking: "the approval lapsed before it was signed" }
  if (terms.expires > now + group.withinMillis + slackMillis) return { lacking: "it would be valid for too long" }
  const by = approversOf(group.of, paymentText(terms), given, terms.proposer)
  return by.length >= group.need ? { by } : { lacking: `${by.length} of ${group.need} approvals of ${group.name} hold` }
}
