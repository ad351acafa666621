import { basename } from "node:path"
import { parseAmount } from "../domain/Amount.ts"
import type { CodeAnswer, CodeSeen } from "../rules/code.ts"
import type { CodeRule } from "../rules/Rule.ts"
import { placeOfError } from "./loadRules.ts"
import { nameRemedy } from "./nearest.ts"
import { canonical } from "./partHashes.ts"
import type { Seen } from "./RulesFile.ts"
import { isTimeout, within } from "./within.ts"

/** In which an operator's function answers twice; it takes microseconds. */
export const askMillis = 500
/** How long one that did not end is not asked again: until it is ended, nothing else of the process runs. */
const restMillis = 60_000
const wordsMax = 200
const amountMax = 2n ** 256n - 1n

type Answer = CodeAnswer extends infer One ? (One extends unknown ? Omit<One, "timed"> : never) : never
type Payer = Pick<CodeRule, "to" | "asset">

/**
 * Asks an operator's function, twice, and takes nothing from it that is not sound: what throws, waits, does not end,
 * has another form or says another thing the second time is broken, and pays nothing. One that did not end stays broken
 * for a minute of the looks' time without being asked.
 */
export const askCode = (need: (seen: Seen) => unknown, payer: Payer): CodeRule["need"] => {
  let endless: { readonly answer: CodeAnswer; readonly at: number; readonly until: number } | undefined
  return (seen, now = seen.time) => {
    if (endless !== undefined && endless.at <= now && now < endless.until) {
      return { ...endless.answer, until: endless.until }
    }
    endless = undefined
    let timed = false
    const told = toldOf(seen, () => {
      timed = true
    })
    const ask = () => readAnswer(need(told), payer)
    try {
      const [first, second] = within(askMillis, () => [ask(), ask()] as const)
      if (wordsOf(first) === wordsOf(second)) return { ...first, timed }
      return broken("asked twice on the same balances, its code gives two answers", timed)
    } catch (error) {
      if (!isTimeout(error)) return broken(failure(error), timed)
      const answer = broken(`its code does not end within ${askMillis} ms`, timed)
      endless = { answer, at: now, until: now + restMillis }
      return answer
    }
  }
}

const broken = (detail: string, timed: boolean): CodeAnswer => ({ _tag: "Broken", detail, timed })
const wrong = (detail: string): Answer => ({ _tag: "Broken", detail })

const wordsOf = (answer: Answer): string =>
  answer._tag === "Broken"
    ? answer.detail
    : canonical([answer.because ?? "", ...answer.payments.map(({ to, amount }) => [to, String(amount)])])

const failure = (error: unknown): string => {
  const at = placeOfError(error)
  const where = at === undefined ? "" : ` at ${basename(at.file)}:${at.line}:${at.column}`
  const message = error instanceof Error ? error.message : String(error)
  return `its code fails${where}: ${message.slice(0, wordsMax)}`
}

const toldOf = ({ balances, one, assets, time }: CodeSeen, looked: () => void): Seen => {
  const frozen = Object.entries(assets).map(([name, asset]) => [name, Object.freeze({ ...asset })] as const)
  const told = {
    balances: namedOnly("balance", balances),
    one,
    assets: namedOnly("asset", Object.fromEntries(frozen)),
    get time() {
      looked()
      return time
    },
  }
  return Object.freeze(told)
}

/** A name that is not told is a mistake: as undefined it would soon be taken for nothing, and be filled. */
const namedOnly = <A>(what: string, values: Readonly<Record<string, A>>): Readonly<Record<string, A>> =>
  new Proxy(Object.freeze({ ...values }), {
    get: (told, name) => {
      if (typeof name === "symbol" || Object.hasOwn(told, name)) return Reflect.get(told, name) as unknown
      throw new Error(`no ${what} "${name}" is told; ${nameRemedy(name, Object.keys(told), "add it to accounts")}`)
    },
  })

const readAnswer = (answer: unknown, payer: Payer): Answer => {
  if (answer === undefined) return { _tag: "Pays", payments: [], because: undefined }
  if (typeof (answer as { readonly then?: unknown } | null)?.then === "function") {
    // Nobody waits for it; what it fails with must not end the process.
    ;(answer as Promise<unknown>).then(undefined, () => undefined)
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
  if (because !== undefined && typeof because !== "string") return "its code says because without words: write a text"
  const names = payer.to.map(({ name }) => name)
  if (to === undefined && names.length > 1)
    return `its code does not say whom to pay: add to, one of ${names.join(", ")}`
  const place = to === undefined ? 0 : names.indexOf(String(to))
  if (place < 0) return `its code pays "${to}", none of its receivers: ${nameRemedy(String(to), names, form)}`
  return { to: place, amount, because }
}

const amountOf = (pay: unknown, { asset }: Payer): bigint | string => {
  if (typeof pay === "bigint") {
    return pay >= 0n && pay <= amountMax ? pay : `its code asks for ${pay} base units, which is no amount`
  }
  if (typeof pay !== "string") {
    return `its code asks for ${String(pay)}, no amount: write a text such as "1_000", or a bigint of base units`
  }
  const parsed = parseAmount(pay, asset.decimals)
  return "units" in parsed ? parsed.units : `its code asks for ${parsed.error}`
}
