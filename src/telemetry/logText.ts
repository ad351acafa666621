import { shortId } from "../domain/Hex.ts"
import { plural, several, visible, visibleJson } from "../domain/text.ts"
import { type LogEventName, logEventForm, logEvents } from "./logEvents.ts"
import { type LogFieldName, type LogFieldValue, logFields } from "./logFields.ts"

type Fields = Readonly<Record<string, unknown>>

const grouped = (amount: string): string =>
  amount.replace(/^([+-]?)(\d+)/, (_, sign: string, whole: string) => sign + whole.replace(/\B(?=(\d{3})+$)/g, ","))

type Row<N extends LogFieldName> = LogFieldValue<N> extends ReadonlyArray<infer R> ? R : never

const rowText = {
  balances: ({ party, balance, asset }: Row<"accounts">) => `${party} ${grouped(balance)} ${asset}`,
  bands: ({ account, low, high }: Row<"levels">) => `${account} ${grouped(low)} .. ${grouped(high)}`,
}

/** A value as people read it: amounts in groups, ids and hashes shortened. */
const shown = (name: string, value: unknown): string => {
  const type = Object.hasOwn(logFields, name) ? logFields[name as LogFieldName].type : "text"
  if (type === "balances" || type === "bands") return (value as ReadonlyArray<never>).map(rowText[type]).join(", ")
  if (type === "flag") return ""
  if (Array.isArray(value)) return several(value.map(String), 4)
  if (typeof value === "number") return String(value)
  if (typeof value !== "string") return visibleJson(JSON.stringify(value) ?? "")
  if (type === "amount") return grouped(value)
  if (type === "word") return value.replaceAll("_", " ")
  if (type === "id") return shortId(value).slice(0, 4)
  return type === "hash" && value.length > 16 ? `${value.slice(0, 6)}..${value.slice(-2)}` : value
}

/** Fills {name} and {name:noun}; undefined where a field is missing. */
const filled = (part: string, fields: Fields): string | undefined => {
  let isWhole = true
  const text = part.replace(/\{(\w+)(?::([^}]+))?\}/g, (_, name: string, noun: string | undefined) => {
    const value = fields[name]
    if (value === undefined) {
      isWhole = false
      return ""
    }
    if (noun === undefined) return shown(name, value)
    return value === 0 ? `no ${noun}s` : plural(Number(value), noun)
  })
  return isWhole ? text : undefined
}

/** Fills a template; a part in [] is left out where a field in it is missing. */
const rendered = (template: string, fields: Fields): string =>
  [...template.matchAll(/\[([^\]]*)\]|[^[\]]+/g)]
    .map(([whole, optional]) => filled(optional ?? whole, fields) ?? (optional === undefined ? whole : ""))
    .join("")

/** A line for people, without its time: the word, the subject and the sentence. */
export const logText = (message: string, level: string, fields: Fields) => {
  const form = Object.hasOwn(logEvents, message) ? logEventForm(message as LogEventName) : undefined
  const word = form?.word === undefined ? level : rendered(form.word, fields)
  const subject = form?.subject === undefined ? "" : rendered(form.subject, fields)
  const { repeated, ...own } = fields
  const again = repeated === undefined ? "" : `  (repeated ${repeated} times)`
  const sentence =
    form?.line === undefined
      ? [message, ...Object.entries(own).map(([name, value]) => `${visible(name)}=${shown(name, value)}`)].join("  ")
      : rendered(form.line, fields)
  return { word, subject, sentence: sentence + again }
}
