import { Effect, Schema } from "effect"
import type { InForce } from "../config/ConfigInForce.ts"
import { explanationOf } from "./explanationOf.ts"
import { json, refusal } from "./respond.ts"

const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
const ExplainQuery = Schema.Struct({
  name: Name,
  subject: Schema.optional(Name),
  /** Unix milliseconds. */
  at: Schema.optional(Schema.NumberFromString.check(Schema.isInt())),
})

export const explainPath = "/api/v1/explain"

/** The answer to a question why, for the socket and for the page alike. */
export const answerExplain = Effect.fnUntraced(function* (inForce: InForce, query: URLSearchParams) {
  const asked = yield* Schema.decodeUnknownEffect(ExplainQuery)(Object.fromEntries(query)).pipe(Effect.option)
  if (asked._tag === "None") return refusal(400, "it is not said what to explain", "give a name, and a time in digits")
  const found = yield* explanationOf(inForce, asked.value)
  return "problem" in found ? refusal(found.status, found.problem, found.remedy) : json(found)
})
