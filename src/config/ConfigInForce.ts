import { Context, Effect, Layer, Option, Schema, Semaphore } from "effect"
import type { Terms } from "../rules/policy/weakens.ts"
import { hashIn } from "./code/withCode.ts"
import { NamedReceiver, type ReceiverConfig } from "./schema/Receivers.ts"
import type { Mode, Treasury } from "./Treasury.ts"

/** A configuration that a process runs by. */
export interface InForce {
  readonly treasury: Treasury
  /** The file's mode, or a lower one. */
  readonly mode: Mode
  /** The file's own receivers, while this process also alerts others that were paged before. */
  readonly alerts?: AlertConfig | undefined
}

/** Limits on the money under a configuration. The mode is that of the file, before any lowering by other means. */
export const treasuryTermsOf = ({ treasury }: Pick<InForce, "treasury">): Terms => {
  const { mode, policy, parties, assets, network } = treasury
  const { chainId, maxAgeMillis, quorum, fee } = network
  return { chainId, mode, policy, parties, assets, maxAgeMillis, quorum, code: codeOf(treasury), fee }
}

/** Hashes of the files of rules in TypeScript that have functions, each once. */
const codeOf = ({ document }: Treasury): ReadonlyArray<string> => [
  ...new Set([...(document.code?.keys() ?? [])].map(hashIn)),
]

/** True if the fiber has the lock on the configuration already. */
const IsSteady = Context.Reference<boolean>("cofferer/config/IsSteady", { defaultValue: () => false })

/**
 * The configuration in force. A loop reads it once at the start of each cycle and works by that one version; it changes
 * as a whole, never while a signature is judged. A payment decided under an earlier one is judged by this one before it
 * is signed; signed bytes go on as they are.
 */
export class ConfigInForce extends Context.Service<
  ConfigInForce,
  {
    readonly now: () => InForce
    /**
     * Runs an effect during which the configuration does not change; may be nested. Take it before the store's
     * transaction, as `replace` does: in the other order the two would wait for each other.
     */
    readonly steady: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Puts `next` in force once `before`, which stores it, has succeeded. */
    readonly replace: <E, R>(next: InForce, before: Effect.Effect<void, E, R>) => Effect.Effect<void, E, R>
    /** One reload at a time. */
    readonly reloading: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("cofferer/config/ConfigInForce") {
  static readonly layer = (initial: InForce) =>
    Layer.sync(ConfigInForce, () => {
      let held = initial
      const { withPermit: steady } = Semaphore.makeUnsafe(1)
      const { withPermit: reloading } = Semaphore.makeUnsafe(1)
      return ConfigInForce.of({
        now: () => held,
        steady: (effect) =>
          Effect.flatMap(IsSteady, (isSteady) =>
            isSteady ? effect : steady(Effect.provideService(effect, IsSteady, true)),
          ),
        reloading: (effect) => reloading(effect),
        replace: (next, before) =>
          steady(
            Effect.uninterruptible(
              Effect.andThen(
                before,
                Effect.sync(() => {
                  held = next
                }),
              ),
            ),
          ),
      })
    })
}

/** The configuration that a cycle works by from its start to its end. */
export class CycleConfig extends Context.Service<CycleConfig, InForce>()("cofferer/config/CycleConfig") {}

/** Runs a cycle by the configuration that is in force when it begins. */
export const byOneConfig = <A, E, R>(cycle: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ConfigInForce, ({ now }) => Effect.provideService(cycle, CycleConfig, now()))

/** True while the configuration of the cycle is in force. Ask under `steady`, which keeps the answer true. */
export const isCycleInForce = Effect.gen(function* () {
  const { now } = yield* ConfigInForce
  const { treasury, mode } = yield* CycleConfig
  return now().treasury === treasury && now().mode === mode
})

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

/** A receiver as text, without its template: another template reaches the same people. */
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
export const noLongerPaged = (before: AlertConfig, now: AlertConfig): ReadonlyArray<string> => {
  const still = paged(now)
  return [...paged(before)].filter(([text]) => !still.has(text)).map(([, name]) => name)
}

/** Merges both: the receivers now, and those of before under another address. */
export const mergedAlerts = (now: AlertConfig, before: AlertConfig): AlertConfig => {
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
