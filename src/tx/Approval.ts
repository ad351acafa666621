import { utf8ToBytes } from "@noble/hashes/utils.js"
import { formatAmount } from "../domain/Amount.ts"
import type { ApprovalGroup } from "../domain/Approval.ts"
import { verifySignature } from "./Transaction.ts"

/** The treasury and chain that an approval is for. */
export interface ApprovalPlace {
  readonly treasury: string
  readonly chainId: string
}

/** Everything that an approval of a payment is bound to. If any of it changes, the signature no longer fits. */
export interface PaymentTerms extends ApprovalPlace {
  readonly intentId: string
  readonly rule: string
  /** Operator or user who submitted it; undefined if a rule decided it. */
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
  /** Unix milliseconds at which the approval expires. */
  readonly expires: number
}

/** A halt, stop or mismatch with its number in the journal, as operators see it before they end it. */
export interface HaltNamed {
  readonly seq: number
  readonly reason: string
}

/** Texts that operators sign besides payments. Each states its place, and the time at which it expires. */
export type Agreement =
  | {
      /** Other terms, weaker in some point than those in force. */
      readonly kind: "terms"
      /** Journal entry of the configuration that they replace. Once they are in force, the approval fits no more. */
      readonly replaces: number
      /** 64 hex characters: all that bounds the money under them. */
      readonly terms: string
      /** Limits that become weaker, as text, the most important first. */
      readonly weaker: ReadonlyArray<string>
    }
  | {
      readonly kind: "resume"
      readonly scope: string
      readonly halts: ReadonlyArray<HaltNamed>
      /** Pins and locks that it ends: stops of an asset or a rule by the daemon itself. */
      readonly stops: ReadonlyArray<HaltNamed>
      readonly reason: string
    }
  | {
      /** `list`: 64 hex characters over the ids of the payments that it acknowledges. */
      readonly kind: "adopt" | "recover"
      readonly halts: ReadonlyArray<HaltNamed>
      readonly payments: number
      readonly list: string
      readonly reason: string
    }
  | {
      readonly kind: "resolve"
      readonly payment: string
      /** "150.00 USDT alice -> bob" */
      readonly words: string
      /** "executed HASH", "never executed" */
      readonly outcome: string
      readonly reason: string
    }
  | {
      readonly kind: "rebase"
      /** Names of the file in force, and what they stand for. */
      readonly party: string
      readonly partyKey: string
      readonly asset: string
      readonly assetId: string
      /** Mismatches of the account in force. */
      readonly mismatches: ReadonlyArray<HaltNamed>
      /** Journal entry of the last rebase; 0 where there is none. Once it is done, the approval fits no more. */
      readonly replaces: number
      readonly reason: string
    }

/** Kinds of texts that operators sign. Each text begins with its kind, so that it never passes for another kind. */
export const approvalKinds = ["payment", "terms", "resume", "adopt", "recover", "resolve", "rebase"] as const
export type ApprovalKind = (typeof approvalKinds)[number]

type Fact = readonly [name: string, value: string]

/** One fact a line, escaped, so that a line break inside a value cannot pass for another fact. */
const factLines = (kind: ApprovalKind, facts: ReadonlyArray<Fact>): string =>
  [
    `cofferer approval: ${kind}`,
    ...facts.map(([name, value]) => `${name}: ${JSON.stringify(value).slice(1, -1)}`),
    "",
  ].join("\n")

/** Text that operators sign: its UTF-8 bytes, its last line break included. */
const textOf = (kind: ApprovalKind, place: ApprovalPlace, facts: ReadonlyArray<Fact>, expires: number): string =>
  factLines(kind, [
    ["treasury", place.treasury],
    ["chain", place.chainId],
    ...facts,
    ["void from", new Date(expires).toISOString()],
  ])

/** Text that operators sign to approve a payment. */
export const paymentText = (terms: PaymentTerms): string => {
  const { symbol, decimals, amount, feeMax } = terms
  const facts: ReadonlyArray<Fact> = [
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
  ]
  return textOf("payment", terms, facts, terms.expires)
}

const numbered = (name: string, all: ReadonlyArray<HaltNamed>): ReadonlyArray<Fact> =>
  all.map(({ seq, reason }) => [`${name} ${seq}`, reason] as const)

const factsOf = (asked: Agreement): ReadonlyArray<Fact> => {
  switch (asked.kind) {
    case "terms":
      return [
        ["terms", asked.terms],
        ["in place of the configuration of journal entry", String(asked.replaces)],
        ...asked.weaker.map((words, i): Fact => [`weaker ${i + 1} of ${asked.weaker.length}`, words]),
      ]
    case "resume":
      return [
        ["scope", asked.scope],
        ...numbered("ends halt", asked.halts),
        ...numbered("ends stop", asked.stops),
        ["reason", asked.reason],
      ]
    case "adopt":
    case "recover":
      return [
        ...numbered("ends halt", asked.halts),
        [asked.kind === "adopt" ? "payments made elsewhere" : "payments to import", String(asked.payments)],
        ["SHA-256 of their ids, sorted, one a line", asked.list],
        ["reason", asked.reason],
      ]
    case "resolve":
      return [
        ["payment", asked.payment],
        ["which is", asked.words],
        ["outcome", asked.outcome],
        ["reason", asked.reason],
      ]
    case "rebase":
      return [
        ["party", asked.party],
        ["party key", asked.partyKey],
        ["asset", asked.asset],
        ["asset id", asked.assetId],
        ...numbered("mismatch", asked.mismatches),
        ...(asked.replaces === 0 ? [] : [["after the rebase of journal entry", String(asked.replaces)] as const]),
        ["reason", asked.reason],
      ]
  }
}

/** Text that operators sign to agree to terms, or to a verb. */
export const agreementText = (place: ApprovalPlace, asked: Agreement, expires: number): string =>
  textOf(asked.kind, place, factsOf(asked), expires)

const slotMillis = 21_600_000
const slotsAhead = 4

/** When a text signed now expires: 18 to 24 hours ahead, at a quarter of a day, so that all operators sign one text. */
export const expiryFrom = (now: number): number => (Math.floor(now / slotMillis) + slotsAhead) * slotMillis

/** Expiry times of all texts that are still valid, which were printed earlier or now: one of them was signed. */
export const expiriesAt = (now: number): ReadonlyArray<number> =>
  Array.from({ length: slotsAhead }, (_, i) => expiryFrom(now) - i * slotMillis)

/** A submitted signature, with the key of its operator. */
export interface GivenApproval {
  readonly key: string
  /** 128 hex characters. */
  readonly signature: string
}

/** True if the key's holder signed the text. */
export const isApproval = (key: string, text: string, signature: string): boolean =>
  verifySignature(key, utf8ToBytes(text), signature)

/** Names to public keys. */
export type Operators = ReadonlyMap<string, string>

/** The operator who made the signature, and over which of the texts. */
export const signerOf = (operators: Operators, texts: ReadonlyArray<string>, signature: string) =>
  texts
    .flatMap((text) => [...operators].map(([operator, key]) => ({ operator, key, text })))
    .find(({ key, text }) => isApproval(key, text, signature))

/** Operators whose valid signature over one of the texts is among the given ones: each once, never the excluded one. */
export const approversOf = (
  operators: Operators,
  texts: ReadonlyArray<string>,
  given: ReadonlyArray<GivenApproval>,
  except?: string,
): ReadonlyArray<string> =>
  [...operators]
    .filter(([name]) => name !== except)
    .filter(([, key]) =>
      given.some((one) => one.key === key && texts.some((text) => isApproval(key, text, one.signature))),
    )
    .map(([name]) => name)

/** Facts that the signer cannot read from a payment's bytes. If one is false, no operator's signature fits. */
export interface ApprovalClaim {
  readonly rule: string
  readonly proposer: string | undefined
  /** Largest fee in base units by the policy that it was decided under: another one may be in force. */
  readonly feeMax: bigint
  /** Unix milliseconds: the time of the group runs from here. */
  readonly askedAt: number
  readonly given: ReadonlyArray<GivenApproval>
}

/** The operators who approved a payment, or the reason why it is not approved. */
type Approved = { readonly by: ReadonlyArray<string> } | { readonly lacking: string }

/** Clocks differ by less. */
const slackMillis = 60_000

/** True if the time of the approvers begins after now (Unix milliseconds): the clock was ahead when they were asked. */
export const isAskedAhead = (askedAt: number, now: number): boolean => askedAt > now + slackMillis

/** Checks that the group approved exactly this payment at this time (Unix milliseconds). Denies by default. */
export const judgeApproval = (
  group: ApprovalGroup,
  known: Omit<PaymentTerms, "rule" | "proposer" | "feeMax" | "group" | "expires">,
  claim: ApprovalClaim | undefined,
  now: number,
): Approved => {
  if (claim === undefined) return { lacking: `nobody of ${group.name} has approved it` }
  const { rule, proposer, feeMax, askedAt, given } = claim
  const expires = askedAt + group.withinMillis
  if (!(now < expires)) return { lacking: "the approval lapsed before it was signed" }
  if (isAskedAhead(askedAt, now)) return { lacking: "it would be valid for too long" }
  const text = paymentText({ ...known, rule, proposer, feeMax, group: group.name, expires })
  const by = approversOf(group.of, [text], given, proposer)
  return by.length >= group.need ? { by } : { lacking: `${by.length} of ${group.need} approvals of ${group.name} hold` }
}

/**
 * Reads a text for operators to sign. Undefined if it is not such a text to the byte: every line must belong to its
 * facts, and each fact must be written in the one form. Facts are in the order of the text; a name may occur more than
 * once.
 */
export const readApproval = (text: string) => {
  const kind = approvalKinds.find((one) => text.startsWith(factLines(one, [])))
  if (kind === undefined) return undefined
  const facts = text.split("\n").slice(1, -1).map(factOf)
  if (!facts.every((fact) => fact !== undefined)) return undefined
  return factLines(kind, facts) === text ? { kind, facts } : undefined
}

const factOf = (line: string): Fact | undefined => {
  const [, name, written] = /^([^:]+): (.*)$/s.exec(line) ?? []
  if (name === undefined) return undefined
  try {
    return [name, JSON.parse(`"${written}"`) as string]
  } catch {
    return undefined
  }
}

/** The value of a fact; undefined unless it occurs exactly once. */
export const factIn = ({ facts }: { readonly facts: ReadonlyArray<Fact> }, name: string): string | undefined => {
  const found = facts.filter(([one]) => one === name)
  return found.length === 1 ? found[0]?.[1] : undefined
}

const wholeNumber = (text: string | undefined): bigint => (/^[0-9]{1,78}$/.test(text ?? "") ? BigInt(text!) : -1n)

/** Reads the terms of a payment's approval. Undefined if the text is none, or its amounts contradict each other. */
export const readPaymentTerms = (text: string): PaymentTerms | undefined => {
  const read = readApproval(text)
  if (read?.kind !== "payment") return undefined
  const value = (name: string) => factIn(read, name) ?? ""
  const [, symbol = "", decimals = ""] = /^(.*), ([0-9]{1,2}) decimals$/s.exec(value("asset")) ?? []
  const proposer = value("proposed by")
  const terms = {
    treasury: value("treasury"),
    chainId: value("chain"),
    intentId: value("payment"),
    rule: value("rule"),
    proposer: proposer === "its rule" ? undefined : proposer,
    from: value("from key"),
    fromName: value("from"),
    to: value("to key"),
    toName: value("to"),
    assetId: value("asset id"),
    symbol,
    decimals: Number(decimals),
    amount: wholeNumber(value("amount in base units")),
    feeMax: wholeNumber(value("fee in base units, at most")),
    policy: value("policy"),
    group: value("group"),
    expires: Date.parse(value("void from")),
  }
  // The terms, written again, must give the same text: that amounts in units and in base units agree, among others.
  return !Number.isNaN(terms.expires) && terms.amount >= 0n && terms.feeMax >= 0n && paymentText(terms) === text
    ? terms
    : undefined
}
