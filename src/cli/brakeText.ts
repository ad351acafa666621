import { Schema } from "effect"
import { remedyOf } from "../domain/Halt.ts"

const InForce = Schema.Struct({
  scope: Schema.String,
  reason: Schema.String,
  author: Schema.String,
  until: Schema.NullOr(Schema.Int),
})
type InForce = typeof InForce.Type

export const Paused = Schema.Struct({ longest: Schema.NullOr(InForce) })

export const Resumed = Schema.Struct({
  ended: Schema.Int,
  haltFile: Schema.Literals(["removed", "none"]),
  stillHalted: Schema.Array(Schema.String),
  stillPaused: Schema.Array(InForce),
})

const endOf = (until: number | null): string =>
  until === null ? "until someone resumes it" : `until ${new Date(until).toISOString()}`

/** What a pause came to: where another one lasts longer, that one says when it ends. */
export const pausedText = (
  asked: { readonly scope: string; readonly until: number | undefined },
  longest: InForce | null,
): string => {
  const until = asked.until ?? null
  if (longest === null || longest.until === until) return `paused ${asked.scope} ${endOf(until)}`
  const { scope, author, reason } = longest
  return `paused ${asked.scope} ${endOf(longest.until)}: another pause lasts longer (${scope}, by ${author}: ${reason})`
}

/** What is still in force, each with the command that ends it. */
export const stillText = ({ stillHalted, stillPaused }: typeof Resumed.Type): ReadonlyArray<string> => [
  ...stillHalted.map((reason) => `still halted: ${reason.replaceAll("_", " ")}; ${remedyOf(reason)}`),
  ...stillPaused.map(
    ({ scope, reason, author, until }) =>
      `still paused ${endOf(until)}: ${scope}, by ${author}: ${reason}; "cofferer resume --scope ${scope} --reason TEXT"`,
  ),
]
