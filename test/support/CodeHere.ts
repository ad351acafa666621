import { askNeed } from "../../src/config/code/codeWire.ts"
import { asFunction, type CodeResult, type LoadedFunction, wireOf } from "../../src/config/code/loadRules.ts"
import type { CodeSeen } from "../../src/rules/Code.ts"
import { isTimeout, within } from "./within.ts"

type Need = (seen: never) => unknown

/**
 * A function of this process, asked as the process of its rules would ask it. A busy machine stops this process for
 * longer than code may take: `millis` is that bound only where a test is about it.
 */
export const codeHere = (need: Need, millis = 20_000): LoadedFunction => {
  const heard = (told: never) => {
    const answer = (need as (told: never) => unknown)(told)
    // Here, unlike there, what nobody waits for comes all the same.
    if (answer instanceof Promise) answer.catch(() => undefined)
    return answer
  }
  const ask = (seen: CodeSeen): CodeResult => {
    try {
      return within(millis, () => askNeed(heard, wireOf(seen)))
    } catch (error) {
      if (isTimeout(error)) return { ended: "cpu" }
      throw error
    }
  }
  return asFunction({ ask })
}
