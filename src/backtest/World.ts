import type { Place } from "../config/yaml/Yaml.ts"
import type { ApprovalGroup } from "../domain/Approval.ts"
import type { AssetStatusWord } from "../domain/Asset.ts"
import type { Intent } from "../domain/Intent.ts"
import type { Policy } from "../rules/policy/Policy.ts"
import type { Rule } from "../rules/Rule.ts"
import type { RuleMemory } from "../rules/RuleMemory.ts"
import type { TransferParameters } from "../rules/Snapshot.ts"

/** Pattern of a payment: an undefined field matches anything. */
export interface PaymentMatcher {
  /** Base units. */
  readonly amount?: bigint | undefined
  /** Names of parties and assets. */
  readonly asset?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly rule?: string | undefined
  /** The pattern as text, for the result of a test. */
  readonly text: string
}

export const isMatch = ({ rule, payment }: Intent, matcher: Omit<PaymentMatcher, "text">): boolean =>
  (matcher.amount === undefined || matcher.amount === payment.amount) &&
  (matcher.asset === undefined || matcher.asset === payment.asset) &&
  (matcher.from === undefined || matcher.from === payment.from) &&
  (matcher.to === undefined || matcher.to === payment.to) &&
  (matcher.rule === undefined || matcher.rule === rule)

/** External event. `at` is in Unix milliseconds, `account` an `accountKey`. */
export type WorldEvent =
  /** Sets the account's balances; one that is not given stays. `beside`: in margin, bonds and orders. */
  | {
      readonly kind: "set"
      readonly at: number
      readonly account: string
      readonly free?: bigint
      readonly beside?: bigint
    }
  /** Adds to the account's balance; negative: takes from it. */
  | {
      readonly kind: "move"
      readonly at: number
      readonly account: string
      readonly free: bigint
      readonly beside: bigint
    }
  /** `status` undefined: the network no longer lists the asset. `decimals`: only of an asset that is not pinned. */
  | {
      readonly kind: "asset"
      readonly at: number
      readonly id: string
      readonly status: AssetStatusWord | undefined
      readonly decimals?: number
    }
  | { readonly kind: "halt"; readonly at: number; readonly reason: string }
  | {
      readonly kind: "pause"
      readonly at: number
      readonly scope: string
      readonly reason: string
      /** Undefined: until a resume. */
      readonly forMillis?: number | undefined
    }
  /** Ends the pauses of the scope; with scope "all" also the halts. */
  | { readonly kind: "resume"; readonly at: number; readonly scope: string }
  /** Operators approve or reject each waiting payment that matches. */
  | {
      readonly kind: "approve" | "reject"
      readonly at: number
      /** Empty for a rejection. */
      readonly by: ReadonlyArray<string>
      readonly matcher: PaymentMatcher
      readonly place: Place
    }
  /** `answers` false: from here on no gateway answers, so that rules see no new data; true: they answer again. */
  | { readonly kind: "gateway"; readonly at: number; readonly answers: boolean }

/** The simulated treasury and its network. */
export interface WorldSettings {
  readonly rules: ReadonlyArray<Rule>
  readonly policy: Policy
  readonly maxAgeMillis: number
  /** Unix milliseconds of the first evaluation. */
  readonly start: number
  /** Assets that the network lists when it begins, by id. */
  readonly assets: ReadonlyMap<string, { readonly decimals: number; readonly quantum: bigint }>
  /** Undefined: the network has no fee and no minimum amount. */
  readonly parameters: TransferParameters | undefined
  /** Time from the signature to the payment's block. */
  readonly settlesMillis: number
  /** Undefined: the network does not limit transfers of a key. */
  readonly quota: { readonly limit: number; readonly epochMillis: number } | undefined
  /** Time from a decision to its approval, where it needs one. Undefined: only events approve. */
  readonly approvedAfterMillis?: number | undefined
  /** Evaluates every subject in every second; tests compare it with the faster way. */
  readonly everySecond?: boolean
}

/** A payment that the rules decided, whether or not it was signed. */
export interface DecidedPayment {
  readonly rule: string
  readonly subject: string
  /** Unix milliseconds of the decision. */
  readonly at: number
  /**
   * failed: the payer no longer had the money at its block; open: its block is after the end; waiting: for people or
   * for its signature; rejected: by people, or not approved in time; denied: not signed before its approval lapsed.
   */
  readonly state: "confirmed" | "failed" | "open" | "waiting" | "rejected" | "denied"
  /** Unix milliseconds; undefined where it was not signed. */
  readonly signedAt: number | undefined
  /** The group that must approve it; undefined where it needs no approval. */
  readonly group: ApprovalGroup | undefined
  readonly intent: Intent
  /** Position of the policy's line that permits it, from 1. */
  readonly line: number
}

export type SignedPayment = DecidedPayment & { readonly signedAt: number }
export const isSigned = (payment: DecidedPayment): payment is SignedPayment => payment.signedAt !== undefined

export const raisedKinds = [
  "request",
  "received",
  "asset",
  "firing",
  "cleared",
  "locked",
  "approval",
  "payout",
] as const

/** An alert or request. */
export interface RaisedAlert {
  readonly at: number
  readonly severity: "page" | "ticket" | "info"
  readonly kind: (typeof raisedKinds)[number]
  readonly rule: string
  /** Subject of the request, id of the asset, or else the rule's name again. */
  readonly subject: string
  readonly detail: string
  /** The funding request, open or ended. */
  readonly request?: { readonly from: string; readonly to: string; readonly asset: string; readonly amount: bigint }
}

/** An operator's approval or rejection. */
export type OperatorAnswer = Extract<WorldEvent, { kind: "approve" | "reject" }>

/** One that matched no payment, and why. */
export interface UnmatchedAnswer extends OperatorAnswer {
  readonly detail: string
}

/** State of a subject under a rule, from this moment on. */
export interface SubjectState extends Pick<RuleMemory, "rule" | "subject" | "reason" | "detail"> {
  readonly at: number
}
