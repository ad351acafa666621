import { Effect, Schema } from "effect"
import { removeHaltFile } from "../config/files.ts"
import type { Treasury } from "../config/Treasury.ts"
import { assetScopes } from "../rules/contradiction.ts"
import { lockScope } from "../rules/stops.ts"
import { Brake, type Pause } from "../store/Brake.ts"
import { trip } from "../store/trip.ts"
import { say } from "../telemetry/say.ts"
import { SignatureText } from "./approvals.ts"
import { approveResume } from "./approveResume.ts"
import { Words } from "./people.ts"
import { problem } from "./stories.ts"

export const PauseBody = Schema.Struct({
  scope: Words,
  reason: Words,
  author: Words,
  until: Schema.optional(Schema.Int),
})
export const HaltBody = Schema.Struct({ reason: Words, author: Words })
export const ResumeBody = Schema.Struct({
  scope: Words,
  reason: Words,
  author: Words,
  signature: Schema.optional(SignatureText),
})

/** Why a scope names nothing; undefined for one that does. */
const scopeProblem = (treasury: Treasury, scope: string) => {
  const known = [
    "all",
    ...treasury.rules.flatMap(({ name }) => [`rule:${name}`, lockScope(name)]),
    ...[...treasury.parties.keys()].map((name) => `party:${name}`),
    ...[...treasury.assets.keys()].flatMap(assetScopes),
  ]
  return known.includes(scope)
    ? undefined
    : problem(`scope "${scope}" names nothing`, 400, `known: ${known.join(", ")}`)
}

const lasts = ({ until }: Pause): number => until ?? Number.POSITIVE_INFINITY
const viewOf = ({ scope, reason, author, until }: Pause) => ({ scope, reason, author, until: until ?? null })

/** Pauses a scope. `longest` is what keeps it paused for the longest time: this pause, or one that was there before. */
export const pauseScope = Effect.fnUntraced(function* (treasury: Treasury, asked: typeof PauseBody.Type) {
  const unknown = scopeProblem(treasury, asked.scope)
  if (unknown !== undefined) return unknown
  const { scope, reason, author, until } = asked
  const brake = yield* Brake
  yield* brake.pause({ scope, reason, author, until })
  const covering = (yield* brake.pauses).filter((pause) => pause.scope === scope || pause.scope === "all")
  const [longest] = covering.toSorted((a, b) => (lasts(a) === lasts(b) ? b.seq - a.seq : lasts(b) < lasts(a) ? -1 : 1))
  const end = until === undefined ? "until someone resumes it" : `until ${new Date(until).toISOString()}`
  yield* say("paused", { subject: scope, detail: `by ${author} ${end}: ${reason}` })
  return { paused: scope, longest: longest === undefined ? null : viewOf(longest) }
})

/** Halts everything and pages people. */
export const haltAll = Effect.fnUntraced(function* ({ reason, author }: typeof HaltBody.Type) {
  yield* trip("operator", `${author}: ${reason}`)
  return { halted: true }
})

/** Ends the pauses of a scope; with scope all also the halts, and takes the HALT file away. */
export const resumeScope = Effect.fnUntraced(function* (
  { treasury, dataDir }: { readonly treasury: Treasury; readonly dataDir: string },
  { signature, ...asked }: typeof ResumeBody.Type,
) {
  const unknown = scopeProblem(treasury, asked.scope)
  if (unknown !== undefined) return unknown
  const approval = yield* approveResume(treasury, asked, signature)
  if ("problem" in approval) return approval
  if (approval.missing > 0) return { resumed: null, ...approval }
  const brake = yield* Brake
  const removed = asked.scope === "all" ? yield* Effect.result(removeHaltFile(dataDir)) : undefined
  if (removed?._tag === "Failure") return problem(removed.failure.message, 409, "take it away by hand")
  const ended = yield* brake.resume(asked)
  const haltFile = removed?.success === true ? "removed" : "none"
  const stillHalted = (yield* brake.halts).map(({ reason }) => reason)
  const stillPaused = (yield* brake.pauses).map(viewOf)
  if (ended > 0) {
    const by = approval.by.length === 0 ? asked.author : `${asked.author}, approved by ${approval.by.join(" and ")}`
    yield* say("resumed", { subject: asked.scope, detail: `by ${by}: ${asked.reason}` })
  }
  return { resumed: asked.scope, ended, haltFile, stillHalted, stillPaused }
})
