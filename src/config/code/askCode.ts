import { basename } from "node:path"
import { parseAmount } from "../../domain/Amount.ts"
import type { Answered, Code, CodeAnswer, CodeSeen } from "../../rules/Code.ts"
import { holdsFor } from "../../rules/kinds/code.ts"
import type { CodeRule } from "../../rules/Rule.ts"
import { nameRemedy } from "../yaml/decodeAll.ts"
import { type CodeReply, decode, type Thrown } from "./codeWire.ts"
import { type CodeResult, type LoadedFunction, placeOfStack } from "./loadRules.ts"

/** Processor time in which an operator's function answers; it takes microseconds. */
export const askMillis = 500
/** Rest of a function that did not end before its next call: its process has to be restarted. */
const restMillis = 60_000
const wordsMax = 200
const amountMax = 2n ** 256n - 1n

type Answer = CodeAnswer extends infer One ? (One extends unknown ? Omit<One, "timed"> : never) : never
type Payer = Pick<CodeRule, "to" | "asset">

interface Held extends Answered {
  /** Unix milliseconds of the evaluation that called it. */
  readonly at: number
}

/**
 * An operator's function as rules call it; each answer is validated. A function that throws, waits, does not end or has
 * another form is broken, and pays nothing. It is called again when its input changes; one that did not end stays
 * broken for a minute of the evaluations' time without a call.
 */
export const codeOf = (asked: LoadedFunction, payer: Payer, hash: string): Code => {
  let held: Held | undefined
  let thinking: Promise<Answered> | undefined
  const standing = (seen: CodeSeen, now: number): CodeAnswer | undefined => {
    if (held === undefined || !holdsFor(held, seen)) return undefined
    const { answer, at } = held
    return answer.until === undefined || (at <= now && now < answer.until) ? answer : undefined
  }
  return {
    hash,
    ask: (seen, now) => {
      const answer = standing(seen, now)
      if (answer !== undefined) return { seen, answer }
      if (thinking !== undefined) return thinking
      const read = (result: CodeResult): Answered => {
        held = { seen, answer: answerOf(result, seen, payer, now), at: now }
        return held
      }
      const result = asked.ask(seen)
      if (!(result instanceof Promise)) return read(result)
      thinking = result
        .catch((): CodeResult => ({ ended: "its answer cannot be understood" }))
        .then(read)
        .finally(() => {
          thinking = undefined
        })
      return thinking
    },
  }
}

const answerOf = (result: CodeResult, seen: CodeSeen, payer: Payer, now: number): CodeAnswer => {
  if ("ended" in result) {
    return { ...wrong(endedWords(result.ended)), timed: false, until: now + restMillis }
  }
  return { ...readReply(result, seen, payer), timed: result.timed === true }
}

const endedWords = (why: string): string => {
  if (why === "cpu") return `its code does not end within ${askMillis} ms`
  if (why === "wall") return "its code does not end within 10 s: it waits, or this host is too busy"
  if (why === "memory") return "its code takes more than 64 MB of heap, or 512 MB in all"
  return why === "exit" ? "its code ends the process that runs it" : `its code was ended: ${why.slice(0, wordsMax)}`
}

/** The process of the code may answer anything: an answer of another form counts as broken. */
const readReply = (reply: CodeReply, seen: CodeSeen, payer: Payer): Answer => {
  try {
    if ("e" in reply) return wrong(failure(reply.e, seen))
    return readAnswer(
      decode(reply.v, () => () => undefined),
      payer,
    )
  } catch {
    return wrong("its code gives an answer that cannot be read")
  }
}

const wrong = (detail: string): Answer => ({ _tag: "Broken", detail })

const failure = ({ message, stack }: Thrown, { balances, assets }: CodeSeen): string => {
  const at = placeOfStack(String(stack))
  const where = at === undefined ? "" : ` at ${basename(at.file)}:${at.line}:${at.column}`
  const [, what, name] = /^its input has no (balance|asset) "(.*)"$/.exec(message) ?? []
  const names = Object.keys(what === "asset" ? assets : balances)
  const remedy = name === undefined ? "" : `; ${nameRemedy(name, names, "add it to accounts")}`
  return `its code fails${where}: ${`${message}${remedy}`.slice(0, wordsMax)}`
}

const readAnswer = (answer: unknown, payer: Payer): Answer => {
  if (answer === undefined) return { _tag: "Pays", payments: [], because: undefined }
  if (typeof (answer as { readonly then?: unknown } | null)?.then === "function") {
    return wrong("its code answers with a promise: it cannot wait for anything")
  }
  const payments: Array<{ readonly to: number; readonly amount: bigint }> = []
  const because: Array<string> = []
  for (const wanted of Array.isArray(answer) ? answer : [answer]) {
    const read = readWanted(wanted, payer)
    if (typeof read === "string") return wrong(read)
    if (payments.some(({ to }) => to === read.to))
      return wrong(`its code pays ${payer.to[read.to]?.name} twice at once`)
    if (read.amount === 0n) continue
    payments.push({ to: read.to, amount: read.amount })
    if (read.because !== undefined && !because.includes(read.because)) because.push(read.because)
  }
  return { _tag: "Pays", payments, because: because.length === 0 ? undefined : because.join("; ").slice(0, wordsMax) }
}

const keys = ["pay", "to", "because"]

/** One payment, or what is wrong with it. */
const readWanted = (
  wanted: unknown,
  payer: Payer,
): { readonly to: number; readonly amount: bigint; readonly because: string | undefined } | string => {
  const form = 'return undefined, or { pay: "1_000", to: "party" }'
  if (typeof wanted !== "object" || wanted === null) return `its code answers ${String(wanted)}: ${form}`
  const unknown = Object.keys(wanted).find((key) => !keys.includes(key))
  if (unknown !== undefined)
    return `its code answers with an unknown key "${unknown}": ${nameRemedy(unknown, keys, form)}`
  const { pay, to, because } = wanted as Readonly<Record<string, unknown>>
  const amount = amountOf(pay, payer)
  if (typeof amount === "string") return amount
  if (because !== undefined && typeof because !== "string")
    return "its code gives a because that is not text: write a text"
  const names = payer.to.map(({ name }) => name)
  if (to === undefined && names.length > 1)
    return `its code does not say whom to pay: add to, one of ${names.join(", ")}`
  const place = to === undefined ? 0 : names.indexOf(String(to))
  if (place < 0) return `its code pays "${to}", none of its receivers: ${nameRemedy(String(to), names, form)}`
  return { to: place, amount, because }
}

const amountOf = (pay: unknown, { asset }: Payer): bigint | string => {
  if (typeof pay === "bigint") {
    return pay >= 0n && pay <= amountMax ? pay : `its code asks for ${pay} base units, which is not an amount`
  }
  if (typeof pay !== "string") {
    return `its code asks for ${String(pay)}, no amount: write a text such as "1_000", or a bigint of base units`
  }
  const parsed = parseAmount(pay, asset.decimals)
  return "units" in parsed ? parsed.units : `its code asks for ${parsed.error}`
}
