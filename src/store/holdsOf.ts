import { Effect } from "effect"
import { remedyOf } from "../domain/Halt.ts"
import { type Intent, isFinalIntent } from "../domain/Intent.ts"
import { stopsPayment } from "../rules/stops.ts"
import { Brake, type Pause } from "./Brake.ts"

/** The command that ends pauses of a scope. */
export const resumeCommand = (scope: string): string =>
  scope === "all" ? '"cofferer resume --reason TEXT"' : `"cofferer resume --scope ${scope} --reason TEXT"`

/** Until when a pause lasts, for people. */
export const untilText = (until: number | undefined | null): string =>
  until == null
    ? "until someone resumes it"
    : `until ${new Date(until).toISOString().slice(0, 16).replace("T", " ")} UTC`

const pauseText = ({ scope, author, reason, until }: Pause): string =>
  `paused (${scope}) by ${author} ${untilText(until)}: ${reason}; ${resumeCommand(scope)}`

/**
 * Which halts and pauses hold a payment now, each with its reason and what ends it; empty where none does. What is
 * already in the network may still be confirmed: a halt only sends nothing more.
 */
export const holdsOf = Effect.fn("Brake.holdsOf")(function* ({
  rule,
  payment,
  state,
}: Pick<Intent, "rule" | "payment" | "state">) {
  if (isFinalIntent(state)) return []
  const brake = yield* Brake
  const halts = (yield* brake.halts).map(
    ({ reason, detail }) => `halted (${reason.replaceAll("_", " ")}): ${detail}; ${remedyOf(reason)}`,
  )
  const pauses = (yield* brake.pauses).filter(stopsPayment(rule, payment)).map(pauseText)
  return [...halts, ...pauses]
})
