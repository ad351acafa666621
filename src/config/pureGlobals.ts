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
})

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

const names = ["process", "fetch", "setTimeout", "setInterval", "performance", "crypto", "console", "globalThis"]

/** Puts it there. Nothing leads past it: neither what has the same prototype, nor a property that is read as it is. */
export const purify = (world: typeof globalThis): void => {
  const put = (on: object, name: string, value: unknown) => Object.defineProperty(on, name, { value, writable: true })
  withholdNow(world.Intl.DateTimeFormat)
  put(world.Math, "random", () => refuse("Math.random"))
  put(world.Date, "now", () => refuse("Date.now"))
  put(world.Date.prototype, "constructor", PureDate)
  put(world, "Date", PureDate)
  for (const name of names) put(world, name, refused(name))
}
