import { askMillis } from "../../src/config/askCode.ts"
import { askTwice } from "../../src/config/askTwice.ts"
import { asFunction, type Heard, type LoadedFunction, wireOf } from "../../src/config/loadRules.ts"
import type { CodeSeen } from "../../src/rules/code.ts"
import { isTimeout, within } from "./within.ts"

type Need = (seen: never) => unknown

/** A function of this process, asked as the process of its rules would ask it. `anew` makes it as it was at first. */
export const codeHere = (need: Need, anew: () => Need = () => need): LoadedFunction => {
  const heardBy = (need: Need) => (told: never) => {
    const answer = need(told)
    // Here, unlike there, what nobody waits for comes all the same.
    if (answer instanceof Promise) answer.catch(() => undefined)
    return answer
  }
  const ask = (seen: CodeSeen): Heard => {
    try {
      return within(askMillis, () => askTwice(heardBy(need), () => heardBy(anew()), wireOf(seen)))
    } catch (error) {
      if (isTimeout(error)) return { ended: "cpu" }
      throw error
    }
  }
  return asFunction({ now: ask, later: ask })
}
