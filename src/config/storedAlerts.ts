import { Option, Schema } from "effect"
import type { ReceiverConfig, Treasury } from "./Treasury.ts"

export type AlertConfig = Pick<Treasury, "receivers" | "routes">

const Headers = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))
const StoredAlerts = Schema.Struct({
  receivers: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      kind: Schema.Literals(["log", "webhook"]),
      url: Schema.optional(Schema.String),
      urlFile: Schema.optional(Schema.String),
      headerFiles: Headers,
    }),
  ),
  routes: Schema.Array(
    Schema.Struct({
      severities: Schema.Array(Schema.Literals(["page", "ticket", "info"])),
      receivers: Schema.Array(Schema.String),
    }),
  ),
})
const Text = Schema.fromJsonString(StoredAlerts)
const decode = Schema.decodeUnknownOption(Text)
const encode = Schema.encodeSync(Text)

/** Who is told of what, as a text. Secrets stay in their files: only where those are is kept. */
export const encodeAlerts = ({ receivers, routes }: AlertConfig): string =>
  encode({
    receivers: receivers.map((receiver) =>
      receiver.kind === "log"
        ? { name: receiver.name, kind: "log", headerFiles: [] }
        : {
            name: receiver.name,
            kind: "webhook",
            ...(receiver.url === undefined ? {} : { url: receiver.url }),
            ...(receiver.urlFile === undefined ? {} : { urlFile: receiver.urlFile }),
            headerFiles: [...receiver.headerFiles],
          },
    ),
    routes: routes.map(({ severities, receivers: to }) => ({ severities: [...severities], receivers: to })),
  })

/** Nobody where the text is none. */
export const decodeAlerts = (text: string): AlertConfig =>
  Option.match(decode(text), {
    onNone: () => ({ receivers: [], routes: [] }),
    onSome: ({ receivers, routes }) => ({
      receivers: receivers.map(
        ({ name, kind, url, urlFile, headerFiles }): ReceiverConfig =>
          kind === "log" ? { name, kind } : { name, kind, url, urlFile, headerFiles: new Map(headerFiles) },
      ),
      routes: routes.map(({ severities, receivers: to }) => ({ severities: new Set(severities), receivers: to })),
    }),
  })

const sameText = (receiver: ReceiverConfig): string => encodeAlerts({ receivers: [receiver], routes: [] })

/** Receivers of pages under the one, and what of each would have to be the same to tell the same people. */
const paged = ({ receivers, routes }: AlertConfig): ReadonlyMap<string, string> => {
  const names = new Set(routes.filter(({ severities }) => severities.has("page")).flatMap((route) => route.receivers))
  return new Map(receivers.filter(({ name }) => names.has(name)).map((one) => [sameText(one), one.name]))
}

/** Who was paged before and is not any more, by name. */
export const pagedNoMore = (before: AlertConfig, now: AlertConfig): ReadonlyArray<string> => {
  const still = paged(now)
  return [...paged(before)].filter(([text]) => !still.has(text)).map(([, name]) => name)
}

/** Tells both: who is told now, and who was told before under another address. */
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
