import { Clock, Effect, Schema } from "effect"
import type { Chain, Fault } from "../Chain.ts"
import { describeFault, faultFields, faultRate, problemOfFault } from "../Faults.ts"
import { expire } from "../faults/registry.ts"
import { type Answering, type HttpAnswer, type Route, type RouteRequest, refuseRequest } from "./Answer.ts"

const answerOf = (body: unknown, status = 200): HttpAnswer => ({ status, body, fromNode: false })

const own = (method: Route["method"], path: Route["path"], answer: Answering): Route => ({
  operation: undefined,
  method,
  path,
  answer: Effect.fnUntraced(answer),
})

const blocksMax = 10_000

const BlocksBody = Schema.Struct({
  count: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: blocksMax }))),
})

/** A fault to arm; it hits every request where no rate is given. */
const FaultBody = Schema.Struct({ ...faultFields, rate: Schema.optionalKey(faultRate) })

const bodyOf = Effect.fnUntraced(function* <A>(schema: Schema.ConstraintDecoder<A>, ask: RouteRequest) {
  const text = yield* ask.body
  const value = yield* Effect.try({
    try: (): unknown => JSON.parse(text === "" ? "{}" : text),
    catch: () => refuseRequest(answerOf({ error: "the body is not JSON" }, 400)),
  })
  return yield* Schema.decodeUnknownEffect(schema)(value, { onExcessProperty: "error" }).pipe(
    Effect.mapError(({ message }) => refuseRequest(answerOf({ error: message }, 400))),
  )
})

/** Makes blocks by hand: `{ "count": 3 }`, one without a count. */
const blocks = own("POST", "/sandbox/blocks", function* ({ node }, ask) {
  const { count } = yield* bodyOf(BlocksBody, ask)
  for (let n = 0; n < (count ?? 1); n++) yield* node.stepBlock
  return answerOf(yield* node.read(({ height, hash }) => ({ height, hash })))
})

/** True balances and events of the ledger, for tests that judge a treasury from outside. */
const ledger = own("GET", "/sandbox/ledger", function* ({ node }) {
  return answerOf(yield* node.read(viewOf))
})

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

const listFaults = own("GET", "/sandbox/faults", function* ({ node }) {
  const nowMillis = yield* Clock.currentTimeMillis
  const faults = yield* node.read((chain) => {
    expire(chain.faults, nowMillis)
    return chain.faults.armed.map(describe)
  })
  return answerOf({ faults })
})

const armFault = own("POST", "/sandbox/faults", function* ({ node }, ask) {
  const spec = yield* bodyOf(FaultBody, ask)
  const problem = problemOfFault(spec)
  if (problem !== undefined) {
    return yield* refuseRequest(answerOf({ error: `${problem.message}: ${problem.remedy}` }, 400))
  }
  return answerOf({ fault: describe(yield* node.armFault({ ...spec, rate: spec.rate ?? 1 })) })
})

const disarmFaults = own("DELETE", "/sandbox/faults", function* ({ node }) {
  return answerOf({ gone: yield* node.disarmFault(undefined) })
})

const disarmFault = own("DELETE", "/sandbox/faults/:id", function* ({ node }, { params: { id } }) {
  const gone = yield* node.disarmFault(Number(id))
  return gone === 0 ? answerOf({ error: `no fault ${id} is armed` }, 404) : answerOf({ gone })
})

/** The sandbox's own paths, which no network has. */
export const controls: ReadonlyArray<Route> = [blocks, ledger, listFaults, armFault, disarmFaults, disarmFault]
