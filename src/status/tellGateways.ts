import { createHash } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import type { GatewayConfig, Treasury } from "../config/Treasury.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Settings } from "../store/Settings.ts"
import { Signals } from "../store/Signals.ts"

/** A gateway by its address. That may hold a secret, so that only its host is kept for people to read. */
const Known = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ name: Schema.String, host: Schema.String, hash: Schema.String })),
)
const decode = Schema.decodeUnknownOption(Known)
const encode = Schema.encodeSync(Known)
const key = "gatewaysLast"

/** Gateways of the last start that are left out now, and those that are new, as people know them. */
interface GatewayChange {
  readonly removed: ReadonlyArray<string>
  readonly added: ReadonlyArray<string>
  /** How many of the last start's are still asked. */
  readonly left: number
}

const knownAs = ({ name, url }: GatewayConfig) => ({
  name,
  host: URL.parse(url)?.host ?? "",
  hash: createHash("sha256").update(url.replace(/\/+$/, "")).digest("hex"),
})

/** Which gateways a start exchanges, and notes them for the next; undefined where all are the same or none is known. */
export const changedGateways = Effect.fnUntraced(function* ({ network }: Treasury) {
  const settings = yield* Settings
  const before = Option.getOrUndefined(decode(yield* settings.get(key)))
  const now = network.gateways.map(knownAs)
  yield* settings.set(key, encode(now))
  if (before === undefined) return undefined
  const without = (some: typeof before, others: typeof before) =>
    some.filter(({ hash }) => !others.some((other) => other.hash === hash)).map(({ name, host }) => `${name} (${host})`)
  const [removed, added] = [without(before, now), without(now, before)]
  if (removed.length === 0 && added.length === 0) return undefined
  return { removed, added, left: before.length - removed.length } satisfies GatewayChange
})

export const gatewayWords = ({ removed, added }: GatewayChange): string =>
  [
    ...(removed.length === 0 ? [] : [`gateways removed: ${removed.join(", ")}`]),
    ...(added.length === 0 ? [] : [`gateways added: ${added.join(", ")}`]),
  ].join("; ")

/**
 * Gateways decide what is believed. Where fewer of the old ones are left than must agree, new ones alone can say
 * anything, which is a page; any other exchange is a ticket.
 */
export const tellGateways = Effect.fnUntraced(function* (
  seq: number | undefined,
  { name, network }: Treasury,
  change: GatewayChange,
) {
  const isOther = change.left < network.quorum
  const left = isOther ? `; of those before ${change.left} are left, and ${network.quorum} must agree` : ""
  yield* (yield* AlertQueue).raise({
    dedup: `gateways/${seq ?? gatewayWords(change)}`,
    severity: isOther && change.added.length > 0 ? "page" : "ticket",
    kind: "config",
    subject: name,
    detail: `${gatewayWords(change)}${left}; if this is not meant: halt, and put the old file back`,
    fields: {},
  })
  yield* (yield* Signals).wake("alerts")
})
