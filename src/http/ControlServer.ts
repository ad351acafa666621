import { chmodSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Effect, Layer, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import type { Mode, Treasury } from "../config/Treasury.ts"
import { isFinalIntent } from "../domain/Intent.ts"
import { submitPayment } from "../engine/submitPayment.ts"
import { boundedServer } from "../listen/boundedServer.ts"
import { Signals } from "../store/database/Signals.ts"
import { verifyStore } from "../store/journal/verifyStore.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { countEnd } from "../telemetry/Metrics.ts"
import { agreementFor } from "./agreeing.ts"
import {
  type AlertVerb,
  ackAlert,
  alertBodies,
  alertStory,
  alertsView,
  alertVerbNames,
  resendAlerts,
  silenceAlerts,
  testReceivers,
  unsilenceAlerts,
} from "./alertVerbs.ts"
import { ApproveBody, approve, findApproval, SignatureText, storyWithApproval } from "./approvals.ts"
import {
  EndBody,
  type EndVerb,
  endPayment,
  endVerbs,
  HaltBody,
  haltAll,
  PauseBody,
  pauseScope,
  ResumeBody,
  resumeScope,
  Words,
} from "./brakeVerbs.ts"
import { exportKinds, exportPage } from "./exports.ts"
import { askBackfill, ledgerVerb, ledgerVerbNames, reconcileNow } from "./ledgerVerbs.ts"
import { planOf } from "./planOf.ts"
import { RebaseBody, rebaseBalances } from "./rebaseBalances.ts"
import { reloadConfig } from "./reload.ts"
import { answerExplain, explainPath, json, pathOf, refusal } from "./respond.ts"
import { connectionsMax, ListenError } from "./StatusServer.ts"
import { readView } from "./StatusView.ts"
import { findIntent, type HttpProblem, listIntents, receiptOf } from "./stories.ts"
import { AcceptBody, ApproveTermsBody, acceptTerms, approveTerms, loadAsked } from "./termsApproval.ts"

interface ControlServerOptions {
  readonly treasury: Treasury
  /** Mode in force. */
  readonly mode: Mode
  readonly dataDir: string
}

/** Name of the socket inside the data directory. Its file permission is the authentication. */
export const socketFile = "cofferer.sock"

const endPath = new RegExp(`^/api/v1/intents/([0-9a-z]{3,64})/(${endVerbs.join("|")})$`)

/** Interval at which a requested poll is checked. */
const pollMillis = 200

const brakePath = /^\/api\/v1\/(pause|resume|halt)$/

const planPath = "/api/v1/plan"

const bodyBytesMax = ByteSize.kibibytes(64)

/** The API of the command line, on a socket that only this user can open. */
export const layerControl = (options: ControlServerOptions) => Layer.effectDiscard(make(options))

const make = Effect.fnUntraced(function* (options: ControlServerOptions) {
  const path = join(options.dataDir, socketFile)
  // The database's lock is ours already, so a socket that lies there was left by a process that died.
  yield* Effect.sync(() => rmSync(path, { force: true }))
  const server = yield* NodeHttpServer.make(() => boundedServer(connectionsMax), {
    path,
    gracefulShutdownTimeout: "500 millis",
  }).pipe(Effect.mapError(({ cause }) => new ListenError({ address: path, busy: false, cause })))
  yield* Effect.sync(() => chmodSync(path, 0o600))
  yield* server.serve(yield* HttpRouter.toHttpEffect(routes(options)))
})

type Needs = ContextOf<typeof answer>

type ContextOf<F> = F extends (...args: never) => Effect.Effect<unknown, unknown, infer R> ? R : never

const routes = (options: ControlServerOptions) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const context = yield* Effect.context<Needs>()
      yield* router.add("*", "/*", (request) =>
        answer(options, request).pipe(
          Effect.catchTags({
            StoreError: (error) => Effect.succeed(refusal(503, error.message)),
            GatewayError: (error) => Effect.succeed(refusal(503, error.message, "nothing was changed; try again")),
            SchemaError: (error) => Effect.succeed(refusal(400, error.message.split("\n")[0] ?? "", "see --help")),
            HttpServerError: () => Effect.succeed(refusal(413, "the body cannot be read, or is larger than 64 KiB")),
            SubmitRejected: (error) => Effect.succeed(refusal(error.byPolicy ? 403 : 400, error.message, error.remedy)),
          }),
          Effect.provideContext(context),
        ),
      )
    }),
  )

const answer = Effect.fn("Control.answer")(function* (
  given: ControlServerOptions,
  request: HttpServerRequest.HttpServerRequest,
) {
  const options = { ...given, ...(yield* ConfigInForce).now() }
  const path = pathOf(request)
  const query = new URLSearchParams(request.url.split("?")[1] ?? "")
  if (request.method === "GET") {
    if (path === "/api/v1/live") return json({ live: true, pid: process.pid })
    if (path === "/api/v1/status") return json(yield* readView())
    if (path === explainPath) return yield* answerExplain(options, query)
    if (path === planPath) return json(yield* planOf({ plan: options, inForce: undefined, asLastSeen: false }))
    if (path === "/api/v1/intents") return json(yield* listIntents(Number(query.get("limit") ?? "20")))
    if (path === "/api/v1/export") {
      const asked = yield* Schema.decodeUnknownEffect(ExportQuery)(Object.fromEntries(query))
      return json(yield* exportPage(asked))
    }
    const seq = /^\/api\/v1\/alerts\/([1-9][0-9]{0,14})$/.exec(path)?.[1]
    if (seq !== undefined) return answerOf(yield* alertStory(Number(seq)))
    if (path === "/api/v1/alerts") {
      return json(yield* alertsView(Number(query.get("limit") ?? "20"), query.get("all") === "1"))
    }
    if (path === "/api/v1/verify") return json(yield* verifyStore())
    const [, kind, id] = /^\/api\/v1\/(intents|receipts)\/([0-9a-z]{3,64})$/.exec(path) ?? []
    if (id !== undefined) {
      return answerOf(yield* kind === "receipts" ? receiptOf(id) : storyWithApproval(options.treasury, id))
    }
  }
  const approval = approvalPath.exec(path)
  if (approval !== null && (request.method !== "POST" || agreementFor(path) !== undefined))
    return yield* approvals(options, approval, request)
  if (request.method === "POST") {
    if (agreementFor(path) === undefined) return refusal(404, `no ${request.method} ${path}`)
    const stop = brakePath.exec(path)?.[1]
    if (stop !== undefined) return yield* brakeVerb(options, stop, request)
    const alertVerb = alertVerbNames.find((name) => path === `/api/v1/alerts/${name}`)
    if (alertVerb !== undefined) return answerOf(yield* alertsVerb(options.treasury, alertVerb, request))
    if (path === "/api/v1/backfill") return yield* backfill(options.treasury, yield* body(request, BackfillBody))
    const verb = endPath.exec(path)
    if (verb !== null) return yield* end(options.treasury, verb[1]!, verb[2] as EndVerb, yield* body(request, EndBody))
    if (path === planPath) return yield* plan(options, yield* body(request, PlanBody))
    if (path === "/api/v1/reload") return yield* reload(yield* body(request, ReloadBody))
    if (path === "/api/v1/terms/accept") return answerOf(yield* acceptTerms(yield* body(request, AcceptBody)))
    const ledger = ledgerVerbNames.find((name) => path === `/api/v1/${name}`)
    if (ledger !== undefined) return yield* done(yield* ledgerVerb(ledger, options, yield* body(request, LedgerBody)))
    if (path === "/api/v1/balances/rebase") {
      return answerOf(yield* rebaseBalances(options.treasury, yield* body(request, RebaseBody)))
    }
    if (path === "/api/v1/reconcile") {
      yield* body(request, Nothing)
      const signals = yield* Signals
      return json(yield* reconcileNow(options, Effect.andThen(signals.wake("balances"), Effect.sleep(pollMillis))))
    }
    if (path === "/api/v1/submit") {
      const taken = yield* submitPayment(options.treasury, options.mode, yield* body(request, Schema.Unknown))
      yield* wake
      return json(taken, taken.created ? 201 : 200)
    }
  }
  return refusal(404, `no ${request.method} ${path}`)
})

const body = Effect.fnUntraced(function* <A>(
  request: HttpServerRequest.HttpServerRequest,
  schema: Schema.ConstraintDecoder<A>,
) {
  const text = yield* request.text.pipe(Effect.provideService(HttpIncomingMessage.MaxBodySize, bodyBytesMax))
  return yield* Schema.decodeEffect(Schema.fromJsonString(schema))(text, { onExcessProperty: "error" })
})

const approvalPath = /^\/api\/v1\/(?:terms\/approve|intents\/([0-9a-z]{3,64})\/(approval|approve))$/

/** Texts for operators to sign, and their signatures. */
const approvals = Effect.fnUntraced(function* (
  options: ControlServerOptions,
  [path, id, word]: ReadonlyArray<string | undefined>,
  request: HttpServerRequest.HttpServerRequest,
) {
  if (request.method !== (word === "approval" ? "GET" : "POST")) return refusal(404, `no ${request.method} ${path}`)
  return answerOf(
    id === undefined
      ? yield* approveTerms(options, yield* body(request, ApproveTermsBody))
      : word === "approval"
        ? yield* findApproval(options.treasury, id)
        : yield* approve(options.treasury, id, yield* body(request, ApproveBody)),
  )
})

/** Answer of the verb; a refusal, or the text that still needs signatures, each with its status. */
const answerOf = (done: object | HttpProblem): HttpServerResponse.HttpServerResponse => {
  if (isProblem(done)) return refusal(done.status, done.problem, done.remedy)
  return json(done, "waits" in done ? 202 : 200)
}

const isProblem = (done: object): done is HttpProblem => "problem" in done && "remedy" in done

/** The answer of a verb that lets loops go on at once. */
const done = (result: object | HttpProblem) => Effect.as(wake, answerOf(result))

const Millis = Schema.NumberFromString.check(Schema.isInt())
const ExportQuery = Schema.Struct({
  what: Schema.Literals(exportKinds),
  from: Millis,
  to: Millis,
  after: Schema.String.check(Schema.isPattern(/^([0-9]{1,19}(\.[0-9a-f]{1,64})?)?$/)),
})
const Nothing = Schema.Record(Schema.String, Schema.Never)
const LedgerBody = Schema.Struct({ reason: Words, author: Words, signature: Schema.optional(SignatureText) })
/** Absolute paths of a changed treasury's file and what lies over it. */
const PlanBody = Schema.Struct({ files: Schema.NonEmptyArray(Schema.String.check(Schema.isPattern(/^\//))) })
const ReloadBody = Schema.Struct({ reason: Words, author: Words, allowWeaker: Schema.optional(Schema.Boolean) })
const BackfillBody = Schema.Struct({ since: Schema.String.check(Schema.isPattern(/^[0-9]{1,19}$/)) })

const backfill = Effect.fnUntraced(function* ({ keepMillis }: Treasury, asked: typeof BackfillBody.Type) {
  return answerOf(yield* askBackfill(BigInt(asked.since), keepMillis))
})

/** A person's word about alerts. */
const alertsVerb = Effect.fnUntraced(function* (
  treasury: Treasury,
  verb: AlertVerb,
  request: HttpServerRequest.HttpServerRequest,
) {
  switch (verb) {
    case "ack":
      return yield* ackAlert(yield* body(request, alertBodies.ack))
    case "silence":
      return yield* silenceAlerts(yield* body(request, alertBodies.silence))
    case "unsilence":
      return yield* unsilenceAlerts(yield* body(request, alertBodies.unsilence))
    case "resend":
      return yield* resendAlerts(treasury, yield* body(request, alertBodies.resend))
    case "test":
      return yield* testReceivers(treasury, yield* body(request, alertBodies.test))
  }
})

/** A person's stop, or the end of one. */
const brakeVerb = Effect.fnUntraced(function* (
  options: ControlServerOptions,
  verb: string,
  request: HttpServerRequest.HttpServerRequest,
) {
  if (verb === "halt") return yield* done(yield* haltAll(yield* body(request, HaltBody)))
  if (verb === "pause") return yield* done(yield* pauseScope(options.treasury, yield* body(request, PauseBody)))
  return yield* done(yield* resumeScope(options, yield* body(request, ResumeBody)))
})

const plan = Effect.fnUntraced(function* (inForce: ControlServerOptions, { files }: typeof PlanBody.Type) {
  const loaded = yield* loadAsked(files)
  if ("problem" in loaded) return refusal(400, loaded.problem, loaded.remedy)
  const changed = { treasury: loaded.treasury, mode: inForce.mode }
  return json(yield* planOf({ plan: changed, inForce, asLastSeen: false }))
})

const reload = Effect.fnUntraced(function* (asked: typeof ReloadBody.Type) {
  const done = yield* reloadConfig({ ...asked, allowWeaker: asked.allowWeaker === true })
  if (done._tag === "Refused") return refusal(done.isConfig ? 422 : 409, done.detail, done.remedy)
  return json(done)
})

const end = Effect.fnUntraced(function* (treasury: Treasury, id: string, verb: EndVerb, asked: typeof EndBody.Type) {
  const result = yield* endPayment(treasury, id, verb, asked)
  if (!("ended" in result)) return answerOf(result)
  const { state, detail } = result.ended
  const found = yield* findIntent(result.ended.id)
  if ("intent" in found && isFinalIntent(found.intent.state)) {
    yield* countEnd(found.intent, found.intent.state, found.intent.fee)
  }
  yield* logEvent("payment ended", { intent: result.ended.id, state, reason: detail })
  return yield* done(result.ended)
})

const wake = Effect.gen(function* () {
  const signals = yield* Signals
  yield* signals.wake("engine")
  yield* signals.wake("submitter")
})
