import { Clock, Effect, Fiber } from "effect"
import type { Fault } from "../Chain.ts"
import { type FaultKind, kinds, type Stage } from "../Faults.ts"
import { spoilPages, statusAnswer } from "../faults/answers.ts"
import { twist } from "../faults/twist.ts"
import { toMicros } from "../Ledger.ts"
import type { SandboxError } from "../LedgerFile.ts"
import { type HttpAnswer, parseQuery, plainError, type RefusedRequest, type Route, type World } from "./Answer.ts"
import { admit, type RateLimiter } from "./RateLimiter.ts"

/** A request, independent of its transport. */
export interface Incoming {
  /** Path and query. */
  readonly url: string
  readonly params: Readonly<Record<string, string | undefined>>
  /** The caller's address, for the limiter. */
  readonly address: string
  readonly body: Effect.Effect<string, RefusedRequest>
}

/** Outcome of a request. Headers are the node's: an answer that is not its own is sent without them. */
export type PerformedRequest =
  | { readonly _tag: "Answered"; readonly answer: HttpAnswer; readonly headers: Headers }
  /** The connection ends without an answer. */
  | { readonly _tag: "HungUp" }
  /** The answer goes wrong on its way, as the fault says. */
  | { readonly _tag: "Broken"; readonly kind: FaultKind; readonly answer: HttpAnswer; readonly headers: Headers }

type Headers = Readonly<Record<string, string>>

/** Lets a request meet, in this order: the limiter, faults before its effect, the operation, faults of its answer. */
export const perform = (
  world: World,
  limiter: RateLimiter | undefined,
  route: Route,
  incoming: Incoming,
): Effect.Effect<PerformedRequest> =>
  Effect.catchTag(performed(world, limiter, route, incoming), "SandboxError", () =>
    Effect.succeed(answered(plainError("Unavailable", "the ledger is out of order"), {})),
  )

const answered = (answer: HttpAnswer, headers: Headers): PerformedRequest => ({ _tag: "Answered", answer, headers })

const performed = Effect.fnUntraced(function* (
  world: World,
  limiter: RateLimiter | undefined,
  route: Route,
  incoming: Incoming,
) {
  const nowMillis = yield* Clock.currentTimeMillis
  const limited = isOfDataNode(route) && limiter !== undefined
  const admission = limited ? admit(limiter, incoming.address, nowMillis) : { headers: {}, refusal: undefined }
  const faults = route.operation === undefined ? [] : yield* world.node.faultsFor(route.operation)
  if (admission.refusal !== undefined) {
    return answered(admission.refusal, { ...admission.headers, ...(yield* blockHeaders(world, route)) })
  }
  const go = (request: Incoming) => operate(world, route, request, { faults, limits: admission.headers })
  return yield* faults.some(({ kind }) => kind === "delay") ? sendOff(world, incoming, go) : go(incoming)
})

/** Delivers a request in flight, even if its sender disconnects meanwhile. */
const sendOff = Effect.fnUntraced(function* (
  world: World,
  incoming: Incoming,
  go: (incoming: Incoming) => Effect.Effect<PerformedRequest, SandboxError>,
) {
  const body = Effect.fromResult(yield* Effect.result(incoming.body))
  const stopped = Effect.andThen(world.node.stopped, Effect.interrupt)
  return yield* Fiber.join(yield* Effect.forkDetach(Effect.raceFirst(go({ ...incoming, body }), stopped)))
})

/** Faults before the effect, the operation, and faults of its answer. */
const operate = Effect.fnUntraced(function* (
  world: World,
  route: Route,
  incoming: Incoming,
  { faults, limits }: { readonly faults: ReadonlyArray<Fault>; readonly limits: Headers },
): Effect.fn.Return<PerformedRequest, SandboxError> {
  const instead = faults.length === 0 ? undefined : yield* strikeBefore(world, faults)
  if (instead === "hungUp") return { _tag: "HungUp" }
  if (instead !== undefined) return answered(instead, { ...limits, ...(yield* blockHeaders(world, route)) })
  const met = faults.length === 0 ? { world, headers: world } : yield* meet(world, faults)
  const headers = { ...limits, ...(yield* blockHeaders(met.headers, route)) }
  const ask = { query: parseQuery(incoming.url), params: incoming.params, body: incoming.body }
  const answer = yield* route
    .answer(met.world, ask)
    .pipe(Effect.catchTag("Refusal", (refusal) => Effect.succeed<HttpAnswer>(refusal.answer)))
  if (faults.length === 0) return answered(answer, headers)
  return yield* strikeAfter(world, faults, { answer, headers, after: ask.query.get("pagination.after")?.[0] })
})

const isOfDataNode = (route: Route): boolean => route.operation !== undefined

/** The block that the node began last, as it stood before the operation looked at anything. */
const blockHeaders = (world: World, route: Route) =>
  !isOfDataNode(route) || !world.profile.blockHeaders
    ? Effect.succeed({})
    : world.node.read(({ height, time }) => ({
        "X-Block-Height": String(height),
        "X-Block-Timestamp": String(toMicros(time)),
      }))

const stageOf = (fault: Fault): Stage => {
  const late = fault.kind === "http_status" && fault.effect === true
  return late ? "wire" : kinds[fault.kind].stage
}

/** Faults that hit a request before it has any effect; undefined if it proceeds. */
const strikeBefore = Effect.fnUntraced(function* (
  world: World,
  faults: ReadonlyArray<Fault>,
): Effect.fn.Return<HttpAnswer | "hungUp" | undefined, SandboxError> {
  for (const fault of faults) {
    if (stageOf(fault) !== "before" || !(yield* world.node.spendFault(fault))) continue
    if (fault.kind === "http_status") return statusAnswer(fault)
    if (fault.kind === "drop_before") return "hungUp"
    yield* Effect.sleep(fault.delayMillis ?? 0)
  }
  return undefined
})

/** The network that the request meets: the true one, seen through each fault that changes it. */
const meet = Effect.fnUntraced(function* (world: World, faults: ReadonlyArray<Fault>) {
  let met = { world, headers: world }
  for (const fault of faults) {
    if (stageOf(fault) === "world" && (yield* world.node.spendFault(fault))) met = twist(met, fault)
  }
  return met
})

/** Faults that hit an answer on its way: the first one that breaks it wins. */
const strikeAfter = Effect.fnUntraced(function* (
  world: World,
  faults: ReadonlyArray<Fault>,
  given: { readonly answer: HttpAnswer; readonly headers: Headers; readonly after: string | undefined },
): Effect.fn.Return<PerformedRequest, SandboxError> {
  let { answer } = given
  for (const fault of faults) {
    if (stageOf(fault) !== "body" || !(yield* world.node.spendFault(fault))) continue
    answer = spoilPages(answer, fault, { seed: world.scenario.seed, after: given.after ?? "" })
  }
  for (const fault of faults) {
    // A lost answer is kept for a request that had an effect: a refusal moves no money.
    const wasted = fault.kind === "accept_drop_answer" && !(answer.accepted ?? answer.status === 200)
    if (stageOf(fault) !== "wire" || wasted || !(yield* world.node.spendFault(fault))) continue
    if (fault.kind === "http_status") return answered(statusAnswer(fault), given.headers)
    return { _tag: "Broken", kind: fault.kind, answer, headers: given.headers }
  }
  return answered(answer, given.headers)
})
