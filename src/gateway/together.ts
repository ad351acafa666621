import { Effect, Layer } from "effect"
import { agreedHead } from "./agreedHead.ts"
import { ChainContext } from "./ChainContext.ts"
import { Confirmation, type TransferSighting } from "./Confirmation.ts"
import { GatewayError } from "./GatewayError.ts"
import { GatewayReader } from "./GatewayReader.ts"
import { Gateways, type Told } from "./Gateways.ts"
import { Health } from "./Health.ts"
import { LedgerHistory } from "./LedgerHistory.ts"
import { NetworkParameters } from "./NetworkParameters.ts"
import type { ChainHead } from "./schema/ChainHead.ts"
import { lowerMark } from "./walkPages.ts"

/** Cursors remembered with the gateway that gave them: more than walks go on at once. */
const cursorsMax = 256

/** Reads from the best gateway; a walk that goes on by cursor stays with the one that gave the cursor. */
const reader = Effect.gen(function* () {
  const gateways = yield* Gateways
  const owners = new Map<string, string>()
  const read = <A extends { readonly pageInfo: { readonly endCursor: string } }>(
    cursor: string | undefined,
    ask: (one: GatewayReader["Service"]) => Effect.Effect<A, GatewayError>,
  ): Effect.Effect<A, GatewayError> => {
    const owner = cursor === undefined ? undefined : owners.get(cursor)
    const own = gateways.all.find(({ name }) => name === owner)
    const page = (name: string, one: GatewayReader["Service"]) =>
      Effect.tap(ask(one), ({ pageInfo: { endCursor } }) =>
        Effect.sync(() => {
          owners.delete(endCursor)
          if (endCursor !== "") owners.set(endCursor, name)
          if (owners.size > cursorsMax) for (const oldest of owners.keys()) return void owners.delete(oldest)
        }),
      )
    return own === undefined ? gateways.first((g) => page(g.name, g.reader)) : page(own.name, own.reader)
  }
  return GatewayReader.of({
    balanceChanges: (query) => read(query.after ?? query.before, (one) => one.balanceChanges(query)),
    assets: (query) => read(query.after ?? query.before, (one) => one.assets(query)),
    accounts: (query) => read(query.after ?? query.before, (one) => one.accounts(query)),
  })
})

const endings: ReadonlySet<string> = new Set(["done", "rejected", "stopped", "cancelled"])

/**
 * What gateways say together of one transfer. It came to an end where a quorum says so in the same words; while any one
 * knows it, it is not absent.
 */
export const agreedSighting = (told: ReadonlyArray<TransferSighting>, quorum: number): TransferSighting => {
  const found = told.flatMap((sighting) => sighting.found ?? [])
  const mark = told.map((sighting) => sighting.mark).reduce(lowerMark)
  for (const one of found) {
    const same = told.filter(({ found: other }) => other?.status === one.status)
    if (endings.has(one.status) && same.length >= quorum) {
      return { found: one, mark, gateway: same.map(({ gateway }) => gateway).join("+") }
    }
  }
  const [first] = found
  const gateway = told.map((sighting) => sighting.gateway).join("+")
  return { found: first === undefined ? undefined : { ...first, status: "pending" }, mark, gateway }
}

const confirmation = Effect.map(Gateways, (gateways) =>
  Confirmation.of({
    transfer: (id) =>
      Effect.map(
        gateways.several((g) => g.confirmation.transfer(id)),
        (told) =>
          agreedSighting(
            told.map(({ value }) => value),
            gateways.quorum,
          ),
      ),
    transfersFrom: (publicKey, options) => gateways.first((g) => g.confirmation.transfersFrom(publicKey, options)),
  }),
)

/** A gateway of another chain than the treasury's tells of nothing that is ours. */
const chain = Effect.fnUntraced(function* (chainId: string) {
  const gateways = yield* Gateways
  const health = yield* Health
  const judge = Effect.fnUntraced(function* (told: ReadonlyArray<Told<ChainHead>>) {
    const heads = told.map(({ value }) => value)
    const ours = heads.filter((head) => head.chainId === chainId)
    const head =
      agreedHead(ours, gateways.quorum) ??
      agreedHead(
        heads.filter((h) => !ours.includes(h)),
        gateways.quorum,
      )
    if (head === undefined) {
      const detail = `${ours.length} of ${gateways.quorum} gateways that must agree are on chain ${chainId}`
      return yield* new GatewayError({ gateway: "quorum", operation: "height", reason: { _tag: "Ambiguous", detail } })
    }
    for (const { gateway, value } of told) {
      if (gateways.all.length === 1 || value.chainId === head.chainId) continue
      yield* health.quarantine(gateway.name, `it is on chain ${value.chainId}`)
    }
    return head
  })
  return ChainContext.of({
    head: Effect.flatMap(
      gateways.several((g) => g.chain.head),
      judge,
    ).pipe(Effect.withSpan("Gateways.head")),
  })
})

/** The services of a network that several gateways show. */
export const layerTogether = (
  chainId: string,
): Layer.Layer<
  GatewayReader | Confirmation | LedgerHistory | NetworkParameters | ChainContext,
  never,
  Gateways | Health
> =>
  Layer.mergeAll(
    Layer.effect(GatewayReader, reader),
    Layer.effect(Confirmation, confirmation),
    Layer.effect(
      LedgerHistory,
      Effect.map(Gateways, ({ first }) =>
        LedgerHistory.of({ sends: (key, since, until) => first((g) => g.history.sends(key, since, until)) }),
      ),
    ),
    Layer.effect(
      NetworkParameters,
      Effect.map(Gateways, ({ first }) => NetworkParameters.of({ parameters: first((g) => g.parameters.parameters) })),
    ),
    Layer.effect(ChainContext, chain(chainId)),
  )
