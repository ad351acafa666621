import { approvalDomain, type Fact, factLines, voidFrom } from "./Approval.ts"

/** Where what operators agree on is done. */
export interface Place {
  readonly treasury: string
  readonly chainId: string
}

/** A halt as operators see it before they end it. */
export interface HaltNamed {
  readonly seq: number
  readonly reason: string
}

/** Other terms, of which something is weaker than in those in force. */
export interface TermsChange extends Place {
  /** Journal number of the configuration in force, which they replace: it is used up once they are in force. */
  readonly replaces: number
  /** 64 hex characters: all that bounds the money under them. */
  readonly terms: string
  /** What is weaker, in words, the most important first. */
  readonly weaker: ReadonlyArray<string>
}

/** What operators agree on beside payments. The place is in every text, and the time at which it is void. */
export type Agreement =
  | ({ readonly kind: "terms" } & Omit<TermsChange, keyof Place>)
  | {
      readonly kind: "resume"
      readonly scope: string
      readonly halts: ReadonlyArray<HaltNamed>
      /** The machine's own stops of an asset or a rule that it ends. */
      readonly stops: ReadonlyArray<HaltNamed>
      readonly reason: string
    }
  | {
      /** `list`: 64 hex characters over the ids of the payments that it takes for known. */
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
  }
}

/** What operators sign: the UTF-8 bytes of this text, its last line break included. */
export const agreementText = ({ treasury, chainId }: Place, asked: Agreement, expires: number): string =>
  factLines(approvalDomain(asked.kind), [
    ["treasury", treasury],
    ["chain", chainId],
    ...factsOf(asked),
    voidFrom(expires),
  ])

/** What operators sign to let weaker terms come into force. */
export const termsText = ({ treasury, chainId, ...change }: TermsChange, expires: number): string =>
  agreementText({ treasury, chainId }, { kind: "terms", ...change }, expires)

const slotMillis = 21_600_000
const slotsAhead = 4

/** Until when what is signed now holds: for 18 to 24 hours, to a full quarter of a day, alike for who asks next. */
export const expiryFrom = (now: number): number => (Math.floor(now / slotMillis) + slotsAhead) * slotMillis

/** The ends at which a text that was printed before can still hold: a signature need not say which it names. */
export const expiriesAt = (now: number): ReadonlyArray<number> =>
  Array.from({ length: slotsAhead }, (_, i) => expiryFrom(now) - i * slotMillis).filter((expires) => expires > now)
