import { Clock, Effect, Schema } from "effect"
import type { Chain, Fault } from "../Chain.ts"
import { describeFault, faultFields, faultRate, problemOfFault } from "../Faults.ts"
import { expire } from "../faults/registry.ts"
import { type HttpAnswer, type RefusedRequest, type Route, type RouteRequest, refuseRequest } from "./Answer.ts"

const answerOf = (body: unknown, status = 200): HttpAnswer => ({ status, body, fromNode: false })

const own = { operation: undefined } as const

const blocksMax = 10_000

const BlocksBody = Schema.Struct({
  count: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: blocksMax }))),
})

/** A fault to arm; it hits every request where no rate is given. */
const FaultBody = Schema.Struct({ ...faultFields, rate: Schema.optionalKey(faultRate) })

const bodyOf = <A>(schema: Schema.ConstraintDecoder<A>, ask: RouteRequest): Effect.Effect<A, RefusedRequest> =>
  Effect.flatMap(ask.body, (text) =>
    Effect.try({
      try: (): unknown => JSON.parse(text === "" ? "{}" : text),
      catch: () => refuseRequest(answerOf({ error: "the body is not JSON" }, 400)),
    }).pipe(
      Effect.flatMap((value) =>
        Effect.mapError(Schema.decodeUnknownEffect(schema)(value, { onExcessProperty: "error" }), (error) =>
          refuseRequest(answerOf({ error: error.message }, 400)),
        ),
      ),
    ),
  )

/** Makes blocks by hand: `{ "count": 3 }`, one without a count. */
const blocks: Route = {
  ...own,
  method: "POST",
  path: "/sandbox/blocks",
  answer: ({ node }, ask) =>
    Effect.gen(function* () {
      const { count } = yield* bodyOf(BlocksBody, ask)
      for (let n = 0; n < (count ?? 1); n++) yield* node.stepBlock
      return answerOf(yield* node.read(({ height, hash }) => ({ height, hash })))
    }),
}

/** True balances and events of the ledger, for tests that judge a treasury from outside. */
const ledger: Route = {
  ...own,
  method: "GET",
  path: "/sandbox/ledger",
  answer: ({ node }) => Effect.map(node.read(viewOf), answerOf),
}

const viewOf = (chain: Chain) => {
  const names = new Map([...chain.keys].map(([name, key]) => [key, name]))
  return {
    height: chain.height,
    hash: chain.hash,
    time: String(chain.time),
    mempool: [...chain.mempool.pending.keys()],
    balances: [...chain.ledger.accounts.values()]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((account) => ({
        name: names.get(account.party) ?? null,
        party: account.party,
        asset: account.asset,
        symbol: chain.assets.get(account.asset)?.symbol ?? null,
        market: account.market,
        type: account.type,
        balance: String(account.balance),
      })),
    executed: chain.included.map(({ bytes: _, nonce, time, ...entry }) => ({
      ...entry,
      nonce: String(nonce),
      time: String(time),
    })),
  }
}

const describe = ({ seen: _, ...fault }: Fault) => ({ ...fault, detail: describeFault(fault) })

const listFaults: Route = {
  ...own,
  method: "GET",
  path: "/sandbox/faults",
  answer: ({ node }) =>
    Effect.gen(function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      const faults = yield* node.read((chain) => {
        expire(chain.faults, nowMillis)
        return chain.faults.armed.map(describe)
      })
      return answerOf({ faults })
    }),
}

const armFault: Route = {
  ...own,
  method: "POST",
  path: "/sandbox/faults",
  answer: ({ node }, ask) =>
    Effect.gen(function* () {
      const spec = yield* bodyOf(FaultBody, ask)
      const problem = problemOfFault(spec)
      if (problem !== undefined) {
        return yield* refuseRequest(answerOf({ error: `${problem.message}: ${problem.remedy}` }, 400))
      }
      return answerOf({ fault: describe(yield* node.armFault({ ...spec, rate: spec.rate ?? 1 })) })
    }),
}

const disarmFaults: Route = {
  ...own,
  method: "DELETE",
  path: "/sandbox/faults",
  answer: ({ node }) => Effect.map(node.disarmFault(undefined), (gone) => answerOf({ gone })),
}

/** Takes one fault away. */
const disarmFault: Route = {
  ...own,
  method: "DELETE",
  path: "/sandbox/faults/:id",
  answer: ({ node }, ask) =>
    Effect.map(node.disarmFault(Number(ask.params["id"])), (gone) =>
      gone === 0 ? answerOf({ error: `no fault ${ask.params["id"]} is armed` }, 404) : answerOf({ gone }),
    ),
}

/** The sandbox's own paths, which no network has. */
export const controls: ReadonlyArray<Route> = [blocks, ledger, listFaults, armFault, disarmFaults, disarmFault]
