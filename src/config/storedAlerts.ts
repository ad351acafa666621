import { Option, Schema } from "effect"
import { NamedReceiver, type ReceiverConfig } from "./schema/Receivers.ts"
import type { Treasury } from "./Treasury.ts"

export type AlertConfig = Pick<Treasury, "receivers" | "routes">

const { String: Text } = Schema
const StoredAlerts = Schema.Struct({
  receivers: Schema.Array(NamedReceiver),
  routes: Schema.Array(
    Schema.Struct({
      severities: Schema.ReadonlySet(Schema.Literals(["page", "ticket", "info"])),
      receivers: Schema.Array(Text),
    }),
  ),
})
const Json = Schema.fromJsonString(Schema.toCodecJson(StoredAlerts))
const decode = Schema.decodeUnknownOption(Json)
const encode = Schema.encodeSync(Json)

/** Receivers and routes as text. Secrets stay in their files: the text holds paths alone. */
export const encodeAlerts = ({ receivers, routes }: AlertConfig): string => encode({ receivers, routes })

/** Receivers and routes of a text; none if the text cannot be read. */
export const decodeAlerts = (text: string): AlertConfig =>
  Option.getOrElse(decode(text), () => ({ receivers: [], routes: [] }))

/** A receiver as text without its template: other words reach the same people. */
const sameText = (receiver: ReceiverConfig): string =>
  JSON.stringify(JSON.parse(encodeAlerts({ receivers: [receiver], routes: [] })), (key, value: unknown) =>
    key === "text" ? undefined : value,
  )

/** Receivers of pages, each with the fields that must be equal for it to reach the same people. */
const paged = ({ receivers, routes }: AlertConfig): ReadonlyMap<string, string> => {
  const names = new Set(routes.filter(({ severities }) => severities.has("page")).flatMap((route) => route.receivers))
  return new Map(receivers.filter(({ name }) => names.has(name)).map((one) => [sameText(one), one.name]))
}

/** Names that were paged before and no longer are. */
export const pagedNoMore = (before: AlertConfig, now: AlertConfig): ReadonlyArray<string> => {
  const still = paged(now)
  return [...paged(before)].filter(([text]) => !still.has(text)).map(([, name]) => name)
}

/** Merges both: the receivers now, and those of before under another address. */
export const bothAlerts = (now: AlertConfig, before: AlertConfig): AlertConfig => {
  const known = new Map(now.receivers.map((receiver) => [receiver.name, sameText(receiver)]))
  const nameOf = (receiver: ReceiverConfig): string =>
    (known.get(receiver.name) ?? sameText(receiver)) === sameText(receiver)
      ? receiver.name
      : `${receiver.name} (before)`
  const names = new Map(before.receivers.map((receiver) => [receiver.name, nameOf(receiver)]))
  const more = before.receivers.flatMap((receiver) => {
    const name = nameOf(receiver)
    return known.has(name) ? [] : [{ ...receiver, name }]
  })
  const routes = before.routes.map(({ severities, receivers }) => ({
    severities,
    receivers: receivers.flatMap((name) => names.get(name) ?? []),
  }))
  return { receivers: [...now.receivers, ...more], routes: [...now.routes, ...routes] }
}
