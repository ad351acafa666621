import { askMillis } from "../../src/config/askCode.ts"
import { askTwice } from "../../src/config/askTwice.ts"
import { type AskLoaded, wireOf } from "../../src/config/loadRules.ts"
import { isTimeout, within } from "./within.ts"

/** A function of this process, asked as the process of its rules would ask it. */
export const codeHere =
  (need: (seen: never) => unknown): AskLoaded =>
  (seen) => {
    const heard = (told: never) => {
      const answer = need(told)
      // Here, unlike there, what nobody waits for comes all the same.
      if (answer instanceof Promise) answer.catch(() => undefined)
      return answer
    }
    try {
      return within(askMillis, () => askTwice(heard, wireOf(seen)))
    } catch (error) {
      if (isTimeout(error)) return { ended: "cpu" }
      throw error
    }
  }
