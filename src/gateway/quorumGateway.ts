import { Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import type { Metrics } from "../telemetry/Metrics.ts"
import { acceptedHead, type ChainOptions } from "./acceptedHead.ts"
import { agreedListing, agreedSends, anyDebits, cursorOf } from "./agreedListing.ts"
import type { GatewayError } from "./GatewayError.ts"
import { GatewayReader } from "./GatewayReader.ts"
import { type Gateway, type GatewayAnswer, Gateways, makeGateways } from "./Gateways.ts"
import { GatewayWriter } from "./GatewayWriter.ts"
import { Health, isUnheard } from "./Health.ts"
import { onChain } from "./onChain.ts"
import type { EpochCount } from "./readChain.ts"
import type { RowReader } from "./readRows.ts"
import type { TransferReader, TransferSighting } from "./readTransfers.ts"
import type { Epoch } from "./schema/ChainHead.ts"
import type { ObservedTransfer } from "./schema/Transfers.ts"
import { type GatewayOptions, makeTransport } from "./Transport.ts"
import { lowerMark } from "./walkPages.ts"

const valuesOf = <A>(answers: ReadonlyArray<GatewayAnswer<A>>): ReadonlyArray<A> => answers.map(({ value }) => value)

/** Cursors remembered with the gateway that gave them: more than walks go on at once. */
const cursorsMax = 256

/** Reads from the best gateway; a walk that goes on by cursor stays with the one that gave the cursor. */
const bestRows = (gateways: Gateways["Service"]): RowReader => {
  const owners = new Map<string, string>()
  const read = <A extends { readonly pageInfo: { readonly endCursor: string } }>(
    cursor: string | undefined,
    ask: (one: RowReader) => Effect.Effect<A, GatewayError>,
  ): Effect.Effect<A, GatewayError> => {
    const owner = cursor === undefined ? undefined : owners.get(cursor)
    const own = gateways.all.find(({ name }) => name === owner)
    const page = (one: Gateway) =>
      Effect.tap(ask(one), ({ pageInfo: { endCursor } }) =>
        Effect.sync(() => {
          owners.delete(endCursor)
          if (endCursor !== "") owners.set(endCursor, one.name)
          if (owners.size > cursorsMax) for (const oldest of owners.keys()) return void owners.delete(oldest)
        }),
      )
    return own === undefined ? gateways.first(page) : page(own)
  }
  return {
    balanceChanges: (query) => read(query.after ?? query.before, (one) => one.balanceChanges(query)),
    assets: (query) => read(query.after ?? query.before, (one) => one.assets(query)),
    accounts: (query) => read(query.after ?? query.before, (one) => one.accounts(query)),
  }
}

/** Identity of a payment: parties, asset and amount. */
const paymentOf = ({ id, from, to, asset, amount }: ObservedTransfer): string => [id, from, to, asset, amount].join(" ")

/** The fields of a transfer's end on which gateways must agree. */
const endOf = (transfer: ObservedTransfer): string =>
  [paymentOf(transfer), transfer.status, transfer.fees, transfer.timestamp].join(" ")

const endings: ReadonlySet<string> = new Set(["done", "rejected", "stopped", "cancelled"])

interface Shown {
  readonly found: ObservedTransfer
  readonly gateway: string
}

/**
 * Merges the gateways' answers for one transfer. A final state, or a payment other than the expected one, needs the
 * same answer of a quorum; a transfer that any gateway knows is not absent.
 */
export const agreedSighting = (answers: ReadonlyArray<TransferSighting>, quorum: number): TransferSighting => {
  const mark = answers.map((sighting) => sighting.mark).reduce(lowerMark)
  const shown = answers.flatMap(({ found, gateway }): ReadonlyArray<Shown> => (found ? [{ found, gateway }] : []))
  const alike = (all: ReadonlyArray<Shown>, words: (one: ObservedTransfer) => string) =>
    all.map(({ found }) => all.filter((other) => words(other.found) === words(found))).find((s) => s.length >= quorum)
  const names = (all: ReadonlyArray<{ readonly gateway: string }>) => all.map(({ gateway }) => gateway).join("+")
  const ended = alike(
    shown.filter(({ found }) => endings.has(found.status)),
    endOf,
  )
  if (ended?.[0] !== undefined) return { found: ended[0].found, mark, gateway: names(ended), agreed: true }
  const known = alike(shown, paymentOf)
  const [one] = known ?? shown
  if (one === undefined) return { found: undefined, mark, gateway: names(answers), agreed: true }
  return {
    found: { ...one.found, status: "pending" },
    mark,
    gateway: names(known ?? answers),
    agreed: known !== undefined,
  }
}

type Looked = Pick<TransferReader, "transfer" | "transfersFrom">

/** Both kinds of payments are agreed on alike. */
const agreed = (gateways: Gateways["Service"], of: (one: TransferReader) => Looked): Looked => ({
  transfer: (id) =>
    Effect.map(
      gateways.several((g) => of(g).transfer(id)),
      (answers) => agreedSighting(valuesOf(answers), gateways.quorum),
    ),
  transfersFrom: (publicKey, after) =>
    Effect.map(
      gateways.several((g) => {
        const own = cursorOf(after, g.name, gateways.all.length)
        const one = of(g)
        return one
          .transfersFrom(publicKey, own)
          .pipe(
            Effect.catchReason("GatewayError", "Rejected", (_, error) =>
              own === undefined || gateways.all.length === 1 ? Effect.fail(error) : one.transfersFrom(publicKey),
            ),
          )
      }),
      (answers) => agreedListing(answers, gateways.quorum, { after, of: gateways.all.length }),
    ),
})

/**
 * The network's settings that a quorum reports alike. Otherwise one gateway could set the fee that payments are held
 * to. A setting with different answers is unknown.
 */
const agreedParameters = (
  answers: ReadonlyArray<ReadonlyMap<string, string>>,
  quorum: number,
): ReadonlyMap<string, string> => {
  const agreed = new Map<string, string>()
  for (const values of answers) {
    for (const [key, text] of values) {
      if (answers.filter((one) => one.get(key) === text).length >= quorum) agreed.set(key, text)
    }
  }
  return agreed
}

/** The newest of what a quorum has seen: one gateway alone neither begins an epoch nor uses one up. */
const quorumOf = <A>(answers: ReadonlyArray<A>, quorum: number, of: (value: A) => number): A =>
  answers.toSorted((a, b) => of(b) - of(a))[quorum - 1]!

const agreedEpoch = (answers: ReadonlyArray<Epoch>, quorum: number): Epoch =>
  quorumOf(answers, quorum, ({ seq }) => seq)

/** Counted up to the time that all of them have reached. */
const agreedCount = (answers: ReadonlyArray<EpochCount>, quorum: number): EpochCount => {
  const { seq } = quorumOf(answers, quorum, (count) => count.seq)
  const same = answers.filter((count) => count.seq === seq)
  const { used, limit } = quorumOf(same, Math.min(quorum, same.length), (count) => count.used)
  return { seq, used, limit, asOf: same.map(({ asOf }) => asOf).reduce((a, b) => (a < b ? a : b)) }
}

/** Readings of a network that several gateways show. */
const layerQuorum = (chain: ChainOptions): Layer.Layer<GatewayReader, never, Gateways | Health> =>
  Layer.effect(
    GatewayReader,
    Effect.gen(function* () {
      const gateways = yield* Gateways
      const merged = <A>(
        ask: (one: Gateway) => Effect.Effect<A, GatewayError>,
        merge: (answers: ReadonlyArray<A>, quorum: number) => A,
      ) => Effect.map(gateways.several(ask), (answers) => merge(valuesOf(answers), gateways.quorum))
      const withdrawals = agreed(gateways, (one) => ({ transfer: one.withdrawal, transfersFrom: one.withdrawalsFrom }))
      return GatewayReader.of({
        ...(yield* acceptedHead(chain)),
        ...bestRows(gateways),
        ...agreed(gateways, (one) => one),
        withdrawal: withdrawals.transfer,
        withdrawalsFrom: withdrawals.transfersFrom,
        sends: (key, since, until) => merged((g) => g.sends(key, since, until), agreedSends),
        debits: (key, since, until) => merged((g) => g.debits(key, since, until), anyDebits),
        parameters: merged((g) => g.parameters, agreedParameters),
        epoch: merged((g) => g.epoch, agreedEpoch),
        epochCount: (key) => merged((g) => g.epochCount(key), agreedCount),
      })
    }),
  )

interface NetworkOptions {
  readonly chainId: string
  /** At least one. */
  readonly gateways: ReadonlyArray<GatewayOptions>
  readonly quorum: number
  /** True if the network runs in this process. */
  readonly isOwn?: boolean
}

/** The gateways of a network, each by itself and all together. */
export const layerGateways = (
  options: NetworkOptions,
): Layer.Layer<Gateways | Health | GatewayReader | GatewayWriter, never, HttpClient.HttpClient | Metrics> => {
  const { chainId, gateways, quorum, isOwn = false } = options
  const single = Effect.gen(function* () {
    const transports = yield* Effect.forEach(gateways, makeTransport)
    const all = yield* Effect.forEach(transports, (transport) =>
      onChain({ name: transport.gateway, ...GatewayReader.make(transport, chainId) }, chainId),
    )
    const writers = transports.map((transport) => [transport.gateway, GatewayWriter.make(transport)] as const)
    const health = yield* Health
    const quarantined = Effect.map(health.all, (views) => new Set(views.filter(isUnheard).map(({ name }) => name)))
    return Layer.mergeAll(
      Layer.effect(Gateways, makeGateways({ all, quorum, ranked: health.ranked, quarantined })),
      Layer.succeed(GatewayWriter, GatewayWriter.routed(new Map(writers), writers[0]![1])),
    )
  })
  return layerQuorum({ chainId, isOwn }).pipe(
    Layer.provideMerge(Layer.unwrap(single)),
    Layer.provideMerge(Health.layer(gateways.map(({ name }) => name))),
  )
}
