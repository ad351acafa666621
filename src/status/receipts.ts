import { Effect } from "effect"
import { entriesAbout, linksBetween, type StoredEntry } from "../store/archive.ts"
import { Outbox } from "../store/Outbox.ts"
import { provenOf } from "../store/proven.ts"
import { type Receipt, statementOf } from "../store/receipt.ts"
import { StoreError } from "../store/StoreError.ts"
import { findIntent, type Problem, problem } from "./stories.ts"

/** More entries between a payment's first and last make a receipt that nobody can hand on. */
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
    try: (): Receipt | Problem => {
      const claimed = statementOf(entries)
      return { receipt: 2, proven: provenOf(claimed, entries), claimed, journal: { entries, links } }
    },
    catch: () => new StoreError({ operation: "Receipt", cause: new Error("a journal entry is no JSON; see verify") }),
  })
})

const isSigned = ({ kind }: StoredEntry): boolean => kind === "signature"

const unsigned: Problem = problem(
  "it was never signed, and without a signature there is no receipt",
  409,
  '"intents show" tells what the journal says of it',
)

const paidElsewhere: Problem = problem(
  "another life of the store paid it, and the signature is not in this journal: there is no receipt",
  409,
  '"intents show" names the transfer',
)

const tooLong = (span: number): Receipt | Problem =>
  problem(`its journal entries lie ${span} apart; at most ${linksMax} fit a receipt`, 409, '"export --what journal"')
