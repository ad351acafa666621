import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ByteSize, Clock, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, type HttpServerRequest } from "effect/http"
import type { Fault } from "../Faults.ts"
import { kinds, type Stage } from "../faults/kinds.ts"
import { spoilPages } from "../faults/pages.ts"
import { statusAnswer } from "../faults/statusAnswer.ts"
import { twist } from "../faults/twist.ts"
import { breakAnswer, hangUp } from "../faults/wire.ts"
import { toMicros } from "../Time.ts"
import { accounts } from "./Accounts.ts"
import { type Answer, plainError, refuse } from "./Answer.ts"
import { asset, assets } from "./Assets.ts"
import { balanceChanges } from "./BalanceChanges.ts"
import { controls } from "./Control.ts"
import { deposits, withdrawal, withdrawals } from "./Custody.ts"
import { explorerInfo, explorerTransaction, explorerTransactions } from "./Explorer.ts"
import { estimateFee, feeDiscount } from "./Fees.ts"
import { ledgerEntries } from "./LedgerEntries.ts"
import { parameter, parameters } from "./Parameters.ts"
import { parseQuery } from "./Query.ts"
import { pass, type RateLimiter } from "./RateLimiter.ts"
import { check, checkRaw, submitRaw } from "./Raw.ts"
import type { Ask, Route, World } from "./Route.ts"
import { bodyText, isPreflight, preflight, respond } from "./respond.ts"
import { spamStatistics } from "./Spam.ts"
import { coreTime, epoch, health, height, info, nodeTime, statistics } from "./Status.ts"
import { submit } from "./Submit.ts"
import { makeStreams, streams } from "./streams/serveStream.ts"
import { transfer, transfers } from "./Transfers.ts"

const routes: ReadonlyArray<Route> = [
  submit,
  submitRaw,
  check,
  checkRaw,
  balanceChanges,
  assets,
  asset,
  height,
  statistics,
  accounts,
  transfers,
  transfer,
  withdrawals,
  withdrawal,
  deposits,
  ledgerEntries,
  estimateFee,
  feeDiscount,
  spamStatistics,
  explorerTransaction,
  explorerTransactions,
  explorerInfo,
  parameters,
  parameter,
  coreTime,
  nodeTime,
  info,
  epoch,
  health,
  ...controls,
]

/** The largest message between the network's gateway and its node. */
const messageMax = ByteSize.mebibytes(4)

/** A slash more or a capital letter is another path; a parameter may be as long as a request line. */
export const exactPaths = {
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  caseSensitive: true,
  maxParamLength: 16_384,
}

/** All paths of the profile, with the network's answers to unknown paths and wrong methods. */
export const layerRoutes = (world: World, limiter: RateLimiter | undefined) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const served = routes.filter((route) => route.specified || world.profile.surface === "full")
      for (const route of served) {
        yield* router.add(route.method, route.path, serve(world, limiter, route))
      }
      const streamed = world.profile.surface === "full" ? streams : []
      const stream = makeStreams(world, {
        strike: (request, faults) => strikeBefore(world, request, faults),
        respond: (request, answer) => respond(request, answer, {}),
      })
      for (const route of streamed) yield* router.add("GET", route.path, stream(route))
      const patterns = [...served, ...streamed].map(({ path }) => new RegExp(`^${path.replace(/:[a-z]+/g, "[^/]+")}$`))
      yield* router.add("*", "/*", (request) => {
        const path = request.url.split("?")[0]!
        const known = patterns.some((pattern) => pattern.test(path))
        if (isPreflight(request)) return Effect.succeed(preflight(request))
        return Effect.succeed(
          respond(
            request,
            known
              ? plainError("Unimplemented", "Method Not Allowed", false)
              : plainError("NotFound", "Not Found", false),
            {},
          ),
        )
      })
    }),
  )

const serve = (world: World, limiter: RateLimiter | undefined, route: Route) =>
  Effect.fnUntraced(
    function* (request: HttpServerRequest.HttpServerRequest) {
      const nowMillis = yield* Clock.currentTimeMillis
      const limited = isOfDataNode(route) && route.operation !== "health" && limiter !== undefined
      const passage = limited ? pass(limiter, addressOf(request), nowMillis) : { headers: {}, refusal: undefined }
      const faults = route.operation === undefined ? [] : yield* world.node.faultsFor(route.operation)
      const instead = passage.refusal ?? (faults.length === 0 ? undefined : yield* strikeBefore(world, request, faults))
      if (instead !== undefined)
        return respond(request, instead, { ...passage.headers, ...(yield* blockHeaders(world, route)) })
      const met = faults.length === 0 ? { world, headers: world } : yield* meet(world, faults)
      const headers = { ...passage.headers, ...(yield* blockHeaders(met.headers, route)) }
      const { params } = yield* HttpRouter.RouteContext
      const ask = askOf(request, params)
      const given = yield* route
        .answer(met.world, ask)
        .pipe(Effect.catchTag("Refusal", (refusal) => Effect.succeed<Answer>(refusal.answer)))
      const answer: Answer = route.server === "explorer" ? { ...given, indented: true } : given
      return faults.length === 0
        ? respond(request, answer, headers)
        : yield* strikeAfter(world, request, faults, { answer, headers, after: ask.query.get("pagination.after")?.[0] })
    },
    (effect, request) =>
      Effect.catchTag(effect, "SandboxError", () =>
        Effect.succeed(respond(request, plainError("Unavailable", "the ledger is out of order", false), {})),
      ),
  )

const askOf = (request: HttpServerRequest.HttpServerRequest, params: Ask["params"]): Ask => ({
  query: parseQuery(request.url),
  params,
  body: request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, messageMax),
    Effect.mapError((error) => {
      const text = `grpc: received message larger than max (more than ${messageMax})`
      return refuse(
        error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
          ? plainError("ResourceExhausted", text, false)
          : plainError("InvalidArgument", "unexpected EOF", false),
      )
    }),
  ),
})

const isOfDataNode = (route: Route): boolean => route.operation !== undefined && route.server === undefined

/** The block that the node began last, as it stood before the operation looked at anything. */
const blockHeaders = (world: World, route: Route) =>
  !isOfDataNode(route) || !world.profile.blockHeaders
    ? Effect.succeed({})
    : world.node.read(({ height, time }) => ({
        "X-Block-Height": String(height),
        "X-Block-Timestamp": String(toMicros(time)),
      }))

const addressOf = (request: HttpServerRequest.HttpServerRequest): string =>
  NodeHttpServerRequest.toIncomingMessage(request).socket.remoteAddress?.replace(/^::ffff:/, "") ?? ""

const stageOf = (fault: Fault): Stage => {
  const late = fault.kind === "http_status" && fault.effect === true
  return late ? "wire" : kinds[fault.kind].stage
}

/** What happens to a request before it has any effect; undefined where it goes on. */
const strikeBefore = Effect.fnUntraced(function* (
  world: World,
  request: HttpServerRequest.HttpServerRequest,
  faults: ReadonlyArray<Fault>,
) {
  for (const fault of faults) {
    if (stageOf(fault) !== "before" || !(yield* world.node.spendFault(fault))) continue
    if (fault.kind === "http_status") return statusAnswer(fault)
    if (fault.kind === "drop_before") return yield* hangUp(request)
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

/** What happens to an answer on its way: the first fault that breaks it wins. */
const strikeAfter = Effect.fnUntraced(function* (
  world: World,
  request: HttpServerRequest.HttpServerRequest,
  faults: ReadonlyArray<Fault>,
  given: {
    readonly answer: Answer
    readonly headers: Readonly<Record<string, string>>
    readonly after: string | undefined
  },
) {
  let { answer } = given
  for (const fault of faults) {
    if (stageOf(fault) !== "body" || !(yield* world.node.spendFault(fault))) continue
    answer = spoilPages(answer, fault, { seed: world.scenario.seed, after: given.after ?? "" })
  }
  for (const fault of faults) {
    // A lost answer is kept for a request that had an effect: a refusal moves no money.
    const wasted = fault.kind === "accept_drop_answer" && !(answer.accepted ?? answer.status === 200)
    if (stageOf(fault) !== "wire" || wasted || !(yield* world.node.spendFault(fault))) continue
    if (fault.kind === "http_status") return respond(request, statusAnswer(fault), given.headers)
    return yield* breakAnswer(request, fault.kind, {
      status: answer.status,
      headers: { ...(answer.fromNode ? given.headers : {}), ...answer.headers },
      body: bodyText(answer, request),
    })
  }
  return respond(request, answer, given.headers)
})
