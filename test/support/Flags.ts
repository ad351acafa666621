import { parseArgs } from "node:util"

type Defaults = Readonly<Record<string, string | boolean | undefined>>
type Values<D extends Defaults> = {
  readonly [K in keyof D]: D[K] extends boolean ? boolean : D[K] extends string ? string : string | undefined
}

/** Prints the usage after what is wrong with the command line, and ends the program with 2. */
export type Fail = (message: string) => never

/** Flags of a program by their defaults: text, a switch that is off, or text that may be missing. Answers --help. */
export const readFlags = <const D extends Defaults>(program: string, usage: string, defaults: D) => {
  const fail: Fail = (message) => {
    console.error(`${program}: ${message}\n${usage}`)
    process.exit(2)
  }
  const optionOf = (value: Defaults[string]) =>
    typeof value === "boolean"
      ? { type: "boolean" as const, default: value }
      : { type: "string" as const, ...(value === undefined ? {} : { default: value }) }
  const options = Object.entries({ ...defaults, help: false }).map(([name, value]) => [name, optionOf(value)])
  let values: Readonly<Record<string, unknown>> = {}
  try {
    values = parseArgs({ options: Object.fromEntries(options) }).values
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error))
  }
  if (values["help"] === true) {
    console.log(usage)
    process.exit(0)
  }
  const whole = (name: string, text: string, from: 0 | 1 = 1): number =>
    /^\d{1,9}$/.test(text) && Number(text) >= from
      ? Number(text)
      : fail(`--${name} ${text} is not a number from ${from} on`)
  return { values: values as Values<D>, fail, whole }
}
