import { Effect, Option, Predicate } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { deadlineHeight } from "../domain/Attempt.ts"
import { sumText } from "../domain/Decision.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, intentWaits, isFinalIntent, noteOf, setAsideOf } from "../domain/Intent.ts"
import { holdsOf } from "../store/controls/Controls.ts"
import { StoreError } from "../store/database/StoreError.ts"
import { entriesAbout, linksBetween, type StoredEntry } from "../store/journal/archive.ts"
import { Journal } from "../store/journal/Journal.ts"
import { provenOf } from "../store/journal/proven.ts"
import { type Receipt, statementOf } from "../store/journal/receipt.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { overdueNow } from "../submitter/Overdue.ts"

/** An intent with its attempts, as shown to people. With `treasury` also if it is past the bound of its state. */
export const intentView = Effect.fnUntraced(function* (intent: Intent, treasury?: Treasury) {
  const outbox = yield* Outbox
  const attempts = yield* outbox.attempts(intent.id)
  const holds = yield* holdsOf(intent)
  return {
    id: intent.id,
    short: shortId(intent.id).slice(0, 4),
    state: intent.state,
    open: !isFinalIntent(intent.state),
    rule: intent.rule,
    amount: sumText(intent.payment, intent.decimals),
    from: intent.payment.from,
    to: intent.payment.to,
    detail: intent.detail,
    /** Warning against a wrong reading of its state; null if there is none. */
    note: noteOf(intent),
    /** Amount that it reserves while it waits for its signature; null if it reserves nothing. */
    setAside: setAsideOf(intent) ?? null,
    /** Halts and pauses that hold it, each with its reason and the command that ends it. */
    held: holds.map(({ text }) => text),
    /** `held` by name: "halted by ana: audit", "halted (foreign payment)", "paused (all) by ana". */
    heldBy: holds.map(({ name }) => name),
    /** Why it is alerted, if it is past the bound of its state; else null. */
    overdue: (treasury && (yield* overdueNow(treasury, intent)))?.words ?? null,
    /** The cause of its wait, the time of its alert, and the end of the wait; null once it has ended. */
    wait: isFinalIntent(intent.state) ? null : intentWaits[intent.state],
    createdAt: new Date(intent.createdAt).toISOString(),
    attempts: attempts.map((attempt) => ({
      k: attempt.k,
      state: attempt.state,
      sends: attempt.sends,
      deadline: String(deadlineHeight(attempt)),
      transferId: attempt.transferId,
      txHash: (attempt.framing === "prefixed" ? attempt.hashPrefixed : attempt.hashBare)?.toUpperCase() ?? null,
    })),
  }
})

/** Payments that one call shows. */
export const intentsMax = 1_000

/**
 * Number of rows of a list: the requested limit, at most `max`, and one that tells that there are more; 20 if it is not
 * a positive integer.
 */
export const rowsShown = (limit: number, max: number): number =>
  Number.isInteger(limit) && limit > 0 ? Math.min(limit, max + 1) : 20

/** Payments with their attempts, newest first. */
export const listIntents = Effect.fnUntraced(function* (limit: number) {
  const outbox = yield* Outbox
  return yield* Effect.forEach(yield* outbox.recent(rowsShown(limit, intentsMax)), (intent) => intentView(intent))
})

/** Why a request to this API is refused, with its HTTP status. */
export interface HttpProblem {
  readonly problem: string
  readonly status: number
  readonly remedy: string
}

export const isProblem = (done: unknown): done is HttpProblem =>
  Predicate.hasProperty(done, "problem") && "remedy" in done

export const problem = (text: string, status: number, remedy = 'see "cofferer intents"'): HttpProblem => ({
  problem: text,
  status,
  remedy,
})

/** A payment by its id, its short name, or the start of one that fits no other of the open and the newest ones. */
export const findIntent = Effect.fnUntraced(function* (id: string) {
  const outbox = yield* Outbox
  const exact = Option.getOrUndefined(yield* outbox.byId(id))
  if (exact !== undefined) return found(exact)
  const near = new Map([...(yield* outbox.open), ...(yield* outbox.recent(intentsMax))].map((i) => [i.id, i]))
  const matches = [...near.values()].filter((i) => i.id.startsWith(id) || shortId(i.id).startsWith(id))
  const intent = matches[0]
  if (intent === undefined) return problem(`no payment "${id}"`, 404)
  return matches.length > 1 ? problem(`"${id}" fits ${matches.length} payments`, 400) : found(intent)
})

const found = (intent: Intent): HttpProblem | { readonly intent: Intent } => ({ intent })

/** One payment from the decision to its end: what was decided, signed, sent, answered and seen. */
export const storyOf = Effect.fnUntraced(function* (id: string) {
  const outbox = yield* Outbox
  const named = yield* findIntent(id)
  if ("problem" in named) return named
  const { intent } = named
  return {
    ...(yield* intentView(intent)),
    payment: intent.payment,
    decimals: intent.decimals,
    feeMax: intent.feeMax,
    fee: intent.fee ?? null,
    sends: yield* outbox.sends(intent.id),
    evidence: yield* outbox.evidence(intent.id),
    journal: yield* (yield* Journal).about(intent.id),
  }
})

/** Upper bound of journal entries between a payment's first and last in a receipt. */
const linksMax = 100_000

/** The receipt of a payment, by its id or the start of one. */
export const receiptOf = Effect.fn("Receipt.make")(function* (id: string) {
  const found = yield* findIntent(id)
  if ("problem" in found) return found
  const entries = yield* entriesAbout([found.intent.id])
  if (found.intent.state === "confirmed") {
    const attempts = yield* (yield* Outbox).attempts(found.intent.id)
    if (attempts.every(({ state }) => state !== "confirmed")) return paidElsewhere
  }
  if (!entries.some(isSigned)) return unsigned
  const [first, last] = [entries[0]?.seq ?? 0, entries.at(-1)?.seq ?? -1]
  if (last - first > linksMax) return tooLong(last - first)
  const links = yield* linksBetween(first, last)
  return yield* Effect.try({
    try: (): Receipt | HttpProblem => {
      const claimed = statementOf(entries)
      return { receipt: 2, proven: provenOf(claimed, entries), claimed, journal: { entries, links } }
    },
    catch: () => new StoreError({ operation: "Receipt", cause: new Error("a journal entry is not JSON; see verify") }),
  })
})

const isSigned = ({ kind }: StoredEntry): boolean => kind === "signature"

const unsigned: HttpProblem = problem(
  "it was never signed, and without a signature there is no receipt",
  409,
  '"intents show" tells what the journal says of it',
)

const paidElsewhere: HttpProblem = problem(
  "another copy of the database paid it, and the signature is not in this journal: there is no receipt",
  409,
  '"intents show" names the transfer',
)

const tooLong = (span: number): Receipt | HttpProblem =>
  problem(`its journal entries lie ${span} apart; at most ${linksMax} fit a receipt`, 409, '"export --what journal"')
