import { utf8ToBytes } from "@noble/hashes/utils.js"
import { formatAmount } from "../domain/Amount.ts"
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
  /** Public keys, and the names that the file in force gives them. */
  readonly from: string
  readonly fromName: string
  readonly to: string
  readonly toName: string
  readonly assetId: string
  /** Symbol and decimals of the file in force: the amounts in units are written with them. */
  readonly symbol: string
  readonly decimals: number
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

/** What operators sign. Each text begins with its kind: none can be taken for another, or for a network's command. */
export const approvalKinds = ["payment", "terms", "resume", "adopt", "recover", "resolve"] as const
export type ApprovalKind = (typeof approvalKinds)[number]

const domains: Readonly<Record<ApprovalKind, string>> = {
  payment: "cofferer approval of a payment, version 2",
  terms: "cofferer approval of terms, version 2",
  resume: "cofferer approval of a resume, version 2",
  adopt: "cofferer approval of an adoption, version 2",
  recover: "cofferer approval of a recovery, version 2",
  resolve: "cofferer approval of a resolution, version 2",
}

/** First line of a text of the kind. */
export const approvalDomain = (kind: ApprovalKind): string => domains[kind]

/** Whether a text is of a form that counts no longer: who signed it must sign again. */
export const isFormerText = (text: string): boolean =>
  /^cofferer approval of a (payment|policy|resume), version 1\n/.test(text)

export type Fact = readonly [name: string, value: string]

/** One fact a line; a line break inside a value cannot pass for the next fact. */
export const factLines = (domain: string, facts: ReadonlyArray<Fact>): string =>
  `${[domain, ...facts.map(([name, value]) => `${name}: ${JSON.stringify(value).slice(1, -1)}`)].join("\n")}\n`

export const voidFrom = (expires: number): Fact => ["void from", new Date(expires).toISOString()]

/** What operators sign to approve a payment: the UTF-8 bytes of this text, its last line break included. */
export const paymentText = (terms: PaymentTerms): string => {
  const { symbol, decimals, amount, feeMax } = terms
  return factLines(approvalDomain("payment"), [
    ["treasury", terms.treasury],
    ["chain", terms.chainId],
    ["payment", terms.intentId],
    ["rule", terms.rule],
    ["proposed by", terms.proposer ?? "its rule"],
    ["from", terms.fromName],
    ["from key", terms.from],
    ["to", terms.toName],
    ["to key", terms.to],
    ["asset", `${symbol}, ${decimals} decimals`],
    ["asset id", terms.assetId],
    ["amount", `${formatAmount(amount, decimals)} ${symbol}`],
    ["amount in base units", String(amount)],
    ["fee, at most", `${formatAmount(feeMax, decimals)} ${symbol}`],
    ["fee in base units, at most", String(feeMax)],
    ["policy", terms.policy],
    ["group", terms.group],
    voidFrom(terms.expires),
  ])
}

/** The text of version 1, without names and units: receipts of its time are verified with it, and nothing else. */
export const formerPaymentText = (terms: Omit<PaymentTerms, "fromName" | "toName" | "symbol" | "decimals">): string =>
  factLines("cofferer approval of a payment, version 1", [
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
    voidFrom(terms.expires),
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
