import { Effect } from "effect"
import { operatorNames, operatorSigns } from "../support/Operators.ts"

const waits = (value: unknown): value is { readonly text: string } =>
  typeof value === "object" && value !== null && "waits" in value && "text" in value

/** Does a verb, and lets operators sign what it asks for: as many as it takes. Returns its last answer. */
export const agreed = <A, E, R>(verb: (signature?: string) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    let said = yield* verb()
    for (const name of operatorNames) {
      if (!waits(said)) return said
      said = yield* verb(operatorSigns(name, said.text))
    }
    return said
  })
