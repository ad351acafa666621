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

// A date leads to its constructor: the clock must not be there by that name either.
Object.defineProperty(globalThis.Date.prototype, "constructor", { value: PureDate })
