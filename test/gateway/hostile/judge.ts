import { inspect, isDeepStrictEqual } from "node:util"
import { Cause, Effect, Exit } from "effect"
import { GatewayError } from "../../../src/gateway/GatewayError.ts"
import { withoutDate } from "../../support/withoutDate.ts"
import { openTransport } from "../GatewayServer.ts"
import { asks } from "./asks.ts"
import type { BadAnswer } from "./BadAnswer.ts"

/** Characters that no log line, metric or message may hold. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

const short = (value: unknown): string => inspect(value, { depth: 6, maxStringLength: 80 }).slice(0, 400)

/** Asks the gateway at the address by the real adapter; undefined where all is as it must be, else what is wrong. */
export const judge = Effect.fnUntraced(function* (bad: BadAnswer, url: string) {
  const { requestDeadlineMillis, bodyBytesMax } = bad
  const transport = yield* openTransport(url, {
    ...(requestDeadlineMillis === undefined ? {} : { requestDeadlineMillis }),
    ...(bodyBytesMax === undefined ? {} : { bodyBytesMax }),
  })
  const exit = yield* Effect.exit(asks[bad.ask].run(transport))
  const problem = problemOf(bad, exit)
  return problem === undefined ? undefined : `${bad.name}: ${problem}`
})

const problemOf = ({ gives }: BadAnswer, exit: Exit.Exit<unknown, GatewayError>): string | undefined => {
  if (Exit.isSuccess(exit)) {
    if (!("value" in gives)) return `gave ${short(exit.value)}`
    return isDeepStrictEqual(withoutDate(exit.value), gives.value)
      ? undefined
      : `gave ${short(exit.value)}, not ${short(gives.value)}`
  }
  const errors = exit.cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error : undefined))
  const [error] = errors
  if (!(error instanceof GatewayError) || errors.length > 1) return `threw ${Cause.pretty(exit.cause).slice(0, 400)}`
  const detail = "detail" in error.reason ? (error.reason.detail ?? "") : ""
  if (detail.length > 256 || unsafe.test(error.message)) return `says ${JSON.stringify(error.message.slice(0, 400))}`
  if ("value" in gives) return `failed: ${error.message}`
  return gives.fails.includes(error.reason._tag) ? undefined : `failed as ${error.message}`
}
