import { durationMillis } from "../config/Fields.ts"
import { type FaultSpec, faultCodes, faultStatuses } from "./Faults.ts"
import { problemOfFault } from "./faults/kinds.ts"
import type { ScenarioText } from "./ScenarioText.ts"

const dayMillis = 86_400_000

/** The fault that a scenario writes as text; tells of what it cannot mean. */
export const buildFault = (
  raw: NonNullable<ScenarioText["faults"]>[number],
  report: (message: string, remedy: string) => void,
): FaultSpec => {
  const rate = Number(raw.rate ?? "1")
  if (rate < 0.000_001 || rate > 1) report("rate is a probability", "write a number of 0.000001 to 1")
  const known = <A extends number>(key: "status" | "code", values: ReadonlyArray<A>): A | undefined => {
    const found = values.find((value) => String(value) === raw[key])
    if (raw[key] !== undefined && found === undefined) {
      report(`${key} ${raw[key]} is none that the sandbox can send`, `write ${key}: one of ${values.join(", ")}`)
    }
    return found
  }
  const status = known("status", faultStatuses)
  const code = known("code", faultCodes)
  const skew = raw.skew === undefined ? undefined : durationMillis(raw.skew.replace("-", ""))
  const fault: FaultSpec = {
    operation: raw.operation,
    kind: raw.kind,
    rate,
    ...(raw.count === undefined ? {} : { count: Number(raw.count) }),
    ...(raw.duration === undefined ? {} : { durationMillis: durationMillis(raw.duration) }),
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
    ...(raw.effect === undefined ? {} : { effect: raw.effect === "true" }),
    ...(raw.delay === undefined ? {} : { delayMillis: durationMillis(raw.delay) }),
    ...(raw.blocks === undefined ? {} : { blocks: Number(raw.blocks) }),
    ...(skew === undefined ? {} : { skewMillis: raw.skew?.startsWith("-") === true ? -skew : skew }),
    ...(raw.difficulty === undefined ? {} : { difficulty: Number(raw.difficulty) }),
    ...(raw.chainId === undefined ? {} : { chainId: raw.chainId }),
  }
  for (const [key, value, least, most, written] of [
    ["count", fault.count, 1, 1_000_000, "1 to 1000000"],
    ["duration", fault.durationMillis, 1, dayMillis, "1ms to 1d"],
    ["delay", fault.delayMillis, 1, dayMillis, "1ms to 1d"],
    ["blocks", fault.blocks, 1, 500, "1 to 500"],
    ["skew", fault.skewMillis, -dayMillis, dayMillis, "-1d to 1d"],
    ["difficulty", fault.difficulty, 0, 256, "0 to 256"],
  ] as const) {
    if (value !== undefined && (value < least || value > most)) report(`${key} is ${written}`, "write one of these")
  }
  const problem = problemOfFault(fault)
  if (problem !== undefined) report(problem.message, problem.remedy)
  return fault
}
