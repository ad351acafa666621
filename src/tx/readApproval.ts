import { visible } from "../domain/visible.ts"
import {
  type ApprovalKind,
  approvalDomain,
  approvalKinds,
  type Fact,
  factLines,
  type PaymentTerms,
  paymentText,
} from "./Approval.ts"

/** What a text says that operators sign. */
export interface ApprovalRead {
  readonly kind: ApprovalKind
  /** In their order; the same name may stand there more than once. */
  readonly facts: ReadonlyArray<Fact>
}

/**
 * Reads what operators are asked to sign. Undefined where it is no text of today's form to the byte: no line of it
 * stands outside of its facts, and none of them is written in another way than they are.
 */
export const readApproval = (text: string): ApprovalRead | undefined => {
  const kind = approvalKinds.find((one) => text.startsWith(`${approvalDomain(one)}\n`))
  if (kind === undefined) return undefined
  const facts = text.split("\n").slice(1, -1).map(factOf)
  if (!facts.every((fact) => fact !== undefined)) return undefined
  return factLines(approvalDomain(kind), facts) === text ? { kind, facts } : undefined
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

/** The value of a fact that stands there once; undefined where it does not. */
export const factIn = ({ facts }: ApprovalRead, name: string): string | undefined => {
  const found = facts.filter(([one]) => one === name)
  return found.length === 1 ? found[0]?.[1] : undefined
}

const wholeNumber = (text: string | undefined): bigint => (/^[0-9]{1,78}$/.test(text ?? "") ? BigInt(text!) : -1n)

/**
 * The terms of an approval of a payment; undefined where a text is none, says the same thing in two ways, or holds what
 * nobody sees.
 */
export const readPaymentTerms = (text: string): PaymentTerms | undefined => {
  const read = readApproval(text)
  if (read?.kind !== "payment" || text.split("\n").some((line) => visible(line) !== line)) return undefined
  const said = (name: string) => factIn(read, name) ?? ""
  const [, symbol = "", decimals = ""] = /^(.*), ([0-9]{1,2}) decimals$/s.exec(said("asset")) ?? []
  const proposer = said("proposed by")
  const terms = {
    treasury: said("treasury"),
    chainId: said("chain"),
    intentId: said("payment"),
    rule: said("rule"),
    proposer: proposer === "its rule" ? undefined : proposer,
    from: said("from key"),
    fromName: said("from"),
    to: said("to key"),
    toName: said("to"),
    assetId: said("asset id"),
    symbol,
    decimals: Number(decimals),
    amount: wholeNumber(said("amount in base units")),
    feeMax: wholeNumber(said("fee in base units, at most")),
    policy: said("policy"),
    group: said("group"),
    expires: Date.parse(said("void from")),
  }
  // Amounts in units and in base units are one, and so on: what is written must be what these terms are written as.
  return !Number.isNaN(terms.expires) && terms.amount >= 0n && terms.feeMax >= 0n && paymentText(terms) === text
    ? terms
    : undefined
}
