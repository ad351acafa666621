const unitOf: Readonly<Record<string, string>> = {
  ms: "ms",
  msec: "ms",
  millis: "ms",
  s: "s",
  sec: "s",
  second: "s",
  m: "m",
  min: "m",
  minute: "m",
  h: "h",
  hr: "h",
  hour: "h",
  d: "d",
  day: "d",
  w: "w",
  week: "w",
}

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

const duration = (text: string): string | undefined => {
  if (/^[0-9]{1,6}$/.test(text)) return `${text}s", "${text}m" or "${text}h`
  const [, count = "", word = ""] = /^(?:PT?)?([0-9]{1,6}(?:\.[0-9])?)[\s_-]*([A-Za-z]+)\.?$/.exec(text) ?? []
  const lower = word.toLowerCase()
  const unit = unitOf[lower] ?? unitOf[lower.replace(/s$/, "")]
  if (unit === undefined) return undefined
  if (unit === "ms") return Number.isInteger(Number(count)) ? `${count}ms` : undefined
  const seconds = Math.round(Number(count) * secondsOf[unit]!)
  const whole = ["d", "h", "m", "s"].find((each) => seconds > 0 && seconds % secondsOf[each]! === 0)
  const own = unit !== "w" && Number.isInteger(Number(count)) ? unit : whole
  return own === undefined ? undefined : `${seconds / secondsOf[own]!}${own}`
}

const grouped = (digits: string): string => digits.replace(/\B(?=(?:[0-9]{3})+$)/g, "_")

const amount = (text: string): string | undefined => {
  const plain = text.replace(/[\s'’_,]/g, "").replace(/^[$€£]|[$€£]$|[A-Za-z]{3,}$/gu, "")
  const [, whole, fraction = "", thousands] = /^([0-9]{1,60})(\.[0-9]+)?([kK])?$/.exec(plain) ?? []
  if (whole === undefined || (thousands !== undefined && fraction !== "")) return undefined
  return grouped(thousands === undefined ? whole : `${whole}000`) + fraction
}

const instant = (text: string): string | undefined => {
  const [, day, time = "00:00", seconds = ":00"] =
    /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?)?$/.exec(text) ?? []
  return day === undefined ? undefined : `${day}T${time}${seconds}Z`
}

const hex = (text: string): string | undefined => {
  const bare = text.trim().replace(/^0x/i, "").toLowerCase()
  return /^[0-9a-f]{64}$/.test(bare) ? bare : undefined
}

const readers: ReadonlyArray<readonly [expected: string, read: (text: string) => string | undefined]> = [
  ["a duration", duration],
  ["an amount", amount],
  ["a time", instant],
  ["a percentage", (text) => /^([0-9.]+) *%?$/.exec(text)?.[1]?.concat("%")],
  ["a whole number", (text) => /^([0-9]+)(?:\.0+)? *%?$/.exec(text)?.[1]],
  ["a name", (text) => (/^[A-Za-z][A-Za-z0-9 ._-]{0,60}$/.test(text) ? text.replace(/[ .]+/g, "-") : undefined)],
  ["64 lower-case hex", hex],
  ["an asset id", hex],
]

/**
 * What to write, for a text that is none of what is expected: with an example made of the text itself where that can
 * be told.
 */
export const meantBy = (expected: string, text: string): string => {
  const meant = readers.find(([start]) => expected.startsWith(start))?.[1](text)
  if (meant !== undefined) {
    const [what = "", glue = ", such as "] = expected.split(/(,? such as )/)
    return `${what}${glue}"${meant}"`
  }
  const length = text.replace(/^0x/i, "").length
  if (/^[0-9a-f]{8,}$/i.test(text.replace(/^0x/i, "")) && expected.includes("64 lower-case hex"))
    return `${expected}: it has ${length}`
  return expected
}
