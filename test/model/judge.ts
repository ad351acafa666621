import { isFinalAttempt } from "../../src/domain/Attempt.ts"
import { isFinalIntent } from "../../src/domain/Intent.ts"
import type { World } from "./model.ts"

/** What must hold in every world; the words of the one that does not. */
export const broken = (world: World): string | undefined => {
  const { intent, tries } = world
  const executed = tries.filter((t) => t.executed !== undefined)
  if (executed.filter((t) => !t.failed).length > 1) return "the payment was executed twice"
  if (tries.filter((t) => !isFinalAttempt(t.state)).length > 1) return "two attempts may still execute"
  for (const [k, t] of tries.entries()) {
    if (t.state === "expired" && t.executed !== undefined) return `attempt ${k + 1} was called dead and executed`
    if ((t.state === "confirmed") !== (t.executed !== undefined && !t.failed) && t.state === "confirmed") {
      return `attempt ${k + 1} was called executed and was not`
    }
    if (t.state === "failed" && (t.executed === undefined || !t.failed)) return `attempt ${k + 1} was called failed`
  }
  const paid = executed.some((t) => !t.failed)
  if (intent === "confirmed" && !paid) return "the intent was called confirmed and nothing was paid"
  if ((intent === "abandoned" || intent === "cancelled" || intent === "failed") && paid)
    return `the intent was called ${intent} and it was paid`
  return undefined
}

/** Worlds from which nothing more is asked of the client: settled, or with a person. */
export const isSettled = (world: World): boolean => isFinalIntent(world.intent) || world.intent === "manual"
