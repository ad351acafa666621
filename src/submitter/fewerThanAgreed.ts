import { Effect } from "effect"
import { Gateways } from "../gateway/Gateways.ts"
import { TermsLog } from "../store/TermsLog.ts"
import { SubmitterOptions } from "./SubmitterOptions.ts"

/**
 * Why the gateways of this process prove no payment dead: under the terms in force more of them must agree, or another
 * chain counts. Undefined where they do. A start with such a file halts; what it frees would be paid again afterwards.
 */
export const fewerThanAgreed = Effect.gen(function* () {
  const known = yield* (yield* TermsLog).inForce
  if (known === undefined) return undefined
  const { quorum, chainId } = known.terms
  const gateways = yield* Gateways
  if (gateways.quorum < quorum) return `under the terms in force ${quorum} gateways must agree, not ${gateways.quorum}`
  const { chainId: own } = yield* SubmitterOptions
  return own === chainId ? undefined : `under the terms in force the chain is ${chainId}, not ${own}`
})
