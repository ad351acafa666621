import { Schema } from "effect"
import { excerpt } from "../../domain/text.ts"

/**
 * A text of a form. Every scalar of a YAML file arrives as text; these are the texts that fields take. With the flag
 * "u" the form goes out in a JSON Schema too. Further checks see only texts of the form.
 */
export const text = (form: RegExp, expected: string) =>
  Schema.String.check(Schema.isPattern(new RegExp(form.source, "u"), { expected }).abort())

/** Letters, digits, "-" and "_": a name may become a metric label and part of a file name. */
export const Name = text(/^[A-Za-z][A-Za-z0-9_-]{0,62}$/, "a name of letters, digits, - and _, starting with a letter")

export const Hex64Text = text(/^[0-9a-f]{64}$/, "64 lower-case hex characters")

/** An id of an asset: 64 hex characters, or one of the network's short well-known names. */
export const AssetIdText = text(/^([0-9a-f]{64}|[A-Za-z]{2,12})$/, "an asset id: 64 lower-case hex characters")

/** An address outside of the network. The resolver compares its checksum. */
export const AddressText = text(/^0x[0-9a-fA-F]{40}$/, "an address: 0x and 40 hex characters")

const unitMillis: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const durationMillisMax = 36_500 * 86_400_000

const duration = (form: RegExp, expected: string) =>
  text(form, expected).check(
    Schema.makeFilter((value) => durationMillis(value) <= durationMillisMax, {
      expected: "a duration of at most 36500d",
    }),
  )

/** "30s", "10m", "6h": a whole number and a unit, at most a hundred years. */
export const DurationText = duration(/^[0-9]{1,9}(ms|s|m|h|d)$/, 'a duration such as "30s", "10m" or "6h"')

/** A duration that is not zero, for what is repeated. */
export const PeriodText = duration(/^0*[1-9][0-9]{0,8}(ms|s|m|h|d)$/, 'a duration above zero, such as "5s"')

/** Milliseconds of a DurationText. */
export const durationMillis = (duration: string): number => {
  const match = /^([0-9]+)(ms|s|m|h|d)$/.exec(duration)
  if (match === null) throw new RangeError(`not a duration: ${duration}`)
  return Number(match[1]) * unitMillis[match[2]!]!
}

/** "90 s" style for people: the largest unit that divides. */
export const formatDuration = (millis: number): string => {
  for (const unit of ["d", "h", "m", "s"]) {
    const size = unitMillis[unit]!
    if (millis >= size && millis % size === 0) return `${millis / size} ${unit === "m" ? "min" : unit}`
  }
  return millis >= 1_000 ? `${(millis / 1_000).toFixed(1)} s` : `${millis} ms`
}

export const WholeText = text(/^[0-9]{1,9}$/, "a whole number")
/** Decimals of an asset: no ledger has more than fit a 256-bit number. */
export const DecimalsText = text(/^([0-9]|[1-6][0-9]|7[0-7])$/, "a whole number from 0 to 77")
/** A whole number that is not zero. */
export const CountText = text(/^[1-9][0-9]{0,8}$/, "a whole number above zero")
export const AmountText = text(/^[0-9][0-9_,.]*$/, 'an amount in units of the asset, such as "25_000" or "0.5"')
/** "0.001": an exact fraction, spelled as the network spells its parameters. */
export const DecimalText = text(/^(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$/, 'a decimal such as "0.001"')

/** "0.2%": at most six places, so that it is an exact fraction of whole numbers. */
export const PercentText = text(/^[0-9]{1,3}(\.[0-9]{1,6})?%$/, 'a percentage such as "0.2%"')

const portForm = "([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
export const PortText = text(new RegExp(`^(?!0+$)${portForm}$`), "a port from 1 to 65535")

/** host:port; port 0 takes a free one. IPv6 hosts in brackets. */
export const listenForm = new RegExp(`^(\\[[0-9a-fA-F:]+\\]|[A-Za-z0-9.-]+):${portForm}$`)
export const ListenText = text(listenForm, 'host:port, such as "127.0.0.1:9464"')

/** Where a server listens; port 0 takes a free one. */
export interface Address {
  readonly host: string
  readonly port: number
}

export const parseListen = (listen: string): Address => {
  const at = listen.lastIndexOf(":")
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(listen.slice(at + 1)) }
}

const address = (isRefused: (url: URL) => boolean) =>
  Schema.String.check(
    Schema.makeFilter(
      (value: string) => {
        const url = URL.parse(value)
        if (url === null) return `${excerpt(value)} is not an address; write one such as "https://gateway.example"`
        if (url.protocol !== "https:" && url.protocol !== "http:")
          return `${excerpt(value)} is not http; write https://…`
        if (url.username !== "" || url.password !== "") {
          return "an address must not hold credentials; put them in headers, from a file"
        }
        return isRefused(url) ? `${excerpt(value)} is not encrypted; use https except on loopback` : true
      },
      { toJsonSchema: () => ({ pattern: "^[hH][tT][tT][pP][sS]?://" }) },
    ),
  )

/** https, or http on loopback. */
export const UrlText = address(({ protocol, hostname }) => protocol === "http:" && !isLoopback(hostname))

/** https or http; the caller decides where http is accepted. */
export const HttpText = address(() => false)

/** True if a host name is this machine's loopback. */
export const isLoopback = (host: string): boolean => {
  const bare = host.replace(/^\[|\]$/g, "")
  return bare === "localhost" || bare === "::1" || /^127(\.[0-9]{1,3}){3}$/.test(bare)
}

export const oneOf = <const T extends ReadonlyArray<string>>(...values: T) => Schema.Literals(values)

/** One value or a list of them, which is not empty; `asArray` makes it a list. */
export const oneOrMany = (schema: Schema.ConstraintDecoder<string>) =>
  Schema.Union([schema, Schema.Array(schema).check(Schema.isMinLength(1, { expected: "at least one" }))])
export const asArray = (value: string | ReadonlyArray<string>): ReadonlyArray<string> =>
  typeof value === "string" ? [value] : value

/** Amounts by the symbols of their assets. */
export const Amounts = Schema.Record(Schema.String, AmountText)

/** Exactly one of the keys is given; `what` names the thing in the error. */
export const exactlyOne = (what: string, keys: ReadonlyArray<string>) =>
  Schema.makeFilter(
    (value: object) => {
      const given = keys.filter((key) => (value as Record<string, unknown>)[key] !== undefined)
      if (given.length === 1) return true
      return `${what} ${given.length === 0 ? "is empty" : `has ${given.join(" and ")}`}; give exactly one of ${keys.join(", ")}`
    },
    { toJsonSchema: () => ({ oneOf: keys.map((key) => ({ required: [key] })) }) },
  )

/** True for a day such as "2026-12-24". Date takes 30 February for 2 March. */
export const isDay = (text: string): boolean => {
  const at = Date.parse(text)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(`${text}T`)
}

/** "2026-12-24T12:00:00Z": with its zone, so that it means one moment. */
export const InstantText = text(
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})$/,
  'a time with its zone, such as "2026-12-24T12:00:00Z"',
).check(
  Schema.makeFilter((value) => isDay(value.slice(0, 10)) && !Number.isNaN(Date.parse(value)), {
    expected: "a time that the calendar has",
  }),
)
export const isInstant = Schema.is(InstantText)
