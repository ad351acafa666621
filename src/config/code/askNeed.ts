import { type CodeReply, encode, type Thrown, type WireSeen } from "./codeWire.ts"

const wordsMax = 4_000

/** Text of an error, length-limited; foreign code may throw anything. */
export const thrownBy = (error: unknown): Thrown => {
  try {
    const isError = error instanceof Error
    const said = isError ? error.message : String(error)
    const { stack, code } = (isError ? error : {}) as { readonly stack?: unknown; readonly code?: unknown }
    return {
      message: String(said).slice(0, wordsMax),
      stack: String(stack).slice(0, wordsMax),
      code: String(code ?? "").slice(0, 100),
    }
  } catch {
    return { message: "what it throws cannot be read", stack: "", code: "" }
  }
}

/** Throws on an unknown name: undefined would soon be taken for zero, and be filled up. */
const namedOnly = <A>(what: string, values: Readonly<Record<string, A>>): Readonly<Record<string, A>> =>
  new Proxy(Object.freeze({ ...values }), {
    get: (told, name) => {
      if (typeof name === "symbol" || Object.hasOwn(told, name)) return Reflect.get(told, name) as unknown
      throw new Error(`no ${what} "${name}" is told`)
    },
  })

/** Builds a function's input, frozen. */
const toldOf = ({ balances, one, assets, time }: WireSeen, looked: () => void) => {
  const units = balances.map(([name, amount]) => [name, BigInt(amount)] as const)
  const known = assets.map(
    ([name, [unit, decimals, status]]) => [name, Object.freeze({ one: BigInt(unit), decimals, status })] as const,
  )
  return Object.freeze({
    balances: namedOnly("balance", Object.fromEntries(units)),
    one: BigInt(one),
    assets: namedOnly("asset", Object.fromEntries(known)),
    get time() {
      looked()
      return time
    },
  })
}

/** Asks an operator's function, and notes whether it looked at the time. */
export const askNeed = (need: unknown, seen: WireSeen): CodeReply => {
  let timed = false
  const told = toldOf(seen, () => {
    timed = true
  })
  try {
    return { v: encode((need as (seen: unknown) => unknown)(told), []), timed }
  } catch (error) {
    return { e: thrownBy(error), timed }
  }
}
