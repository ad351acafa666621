/**
 * What stands in a file of rules in the place of globals by which an answer could come from elsewhere than from its
 * arguments. Whoever writes rules means no harm: this notices mistakes, and is no wall.
 */
const refuse = (what: string): never => {
  throw new Error(`${what} is not for rules: they answer from what they are told alone`)
}

const refused = (what: string): object => {
  const touch = () => refuse(what)
  return new Proxy(() => {}, { get: touch, set: touch, apply: touch, construct: touch, has: touch })
}

const PureDate = new Proxy(globalThis.Date, {
  apply: () => refuse("Date()"),
  construct: (target, given: ReadonlyArray<unknown>) =>
    given.length === 0 ? refuse("new Date()") : (Reflect.construct(target, given) as Date),
  get: (target, key, receiver) => (key === "now" ? refuse("Date.now") : Reflect.get(target, key, receiver)),
})

const PureMath = new Proxy(globalThis.Math, {
  get: (target, key, receiver) => (key === "random" ? refuse("Math.random") : Reflect.get(target, key, receiver)),
})

export const pureGlobals = {
  Date: PureDate,
  Math: PureMath,
  ...Object.fromEntries(
    ["process", "fetch", "setTimeout", "setInterval", "performance", "crypto", "console", "globalThis"].map((name) => [
      name,
      refused(name),
    ]),
  ),
}

/** A format without a date is one of now. Changed at its prototype, since its instances lead there. */
const withholdNow = ({ prototype }: typeof Intl.DateTimeFormat): void => {
  const { apply } = Reflect
  const format = Object.getOwnPropertyDescriptor(prototype, "format")?.get
  const { formatToParts } = prototype
  const told = (date: unknown) => (date === undefined ? refuse("Intl.DateTimeFormat without a date") : date)
  Object.defineProperty(prototype, "format", {
    get(this: Intl.DateTimeFormat) {
      const own = apply(format!, this, []) as (date: unknown) => string
      return (date: unknown) => own(told(date))
    },
    configurable: false,
  })
  Object.defineProperty(prototype, "formatToParts", {
    value(this: Intl.DateTimeFormat, date: unknown): unknown {
      return apply(formatToParts, this, [told(date)])
    },
    configurable: false,
    writable: false,
  })
}

withholdNow(globalThis.Intl.DateTimeFormat)

// What reads a property without getting it goes past what stands in front of it.
Object.defineProperty(globalThis.Date, "now", { value: () => refuse("Date.now") })

// A date leads to its constructor: the clock must not be there by that name either.
Object.defineProperty(globalThis.Date.prototype, "constructor", { value: PureDate })
