import { chmodSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Effect, Layer, Schema } from "effect"
import { HttpIncomingMessage, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { modeAtStart } from "../config/Environment.ts"
import type { Mode, Treasury } from "../config/Treasury.ts"
import { configProblem } from "../config/yaml/ConfigError.ts"
import { isFinalIntent } from "../domain/Intent.ts"
import { submitPayment } from "../engine/submitPayment.ts"
import { boundedServer } from "../sockets/boundedServer.ts"
import { Signals } from "../store/database/Signals.ts"
import { verifyStore } from "../store/journal/verifyStore.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { countEnd } from "../telemetry/Metrics.ts"
import type { VerbName } from "./agreeing.ts"
import {
  ackAlert,
  alertBodies,
  alertStory,
  alertsView,
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
  HaltBody,
  haltAll,
  PauseBody,
  pauseScope,
  ResumeBody,
  resumeScope,
  Words,
} from "./controlVerbs.ts"
import { exportKinds, exportPage } from "./exports.ts"
import { askBackfill, type LedgerVerb, ledgerVerb, reconcileNow } from "./ledgerVerbs.ts"
import { planOf } from "./planOf.ts"
import { RebaseBody, rebaseBalances } from "./rebaseBalances.ts"
import { reloadConfig } from "./reload.ts"
import { answerExplain, explainPath, json, pathOf, refusal } from "./respond.ts"
import { connectionsMax, ListenError } from "./StatusServer.ts"
import { readView } from "./StatusView.ts"
import { findIntent, type HttpProblem, isProblem, listIntents, receiptOf } from "./stories.ts"
import { AcceptBody, ApproveTermsBody, acceptTerms, approveTerms, loadAsked } from "./termsApproval.ts"

interface ControlServerOptions {
  readonly treasury: Treasury
  /** Mode in force. */
  readonly mode: Mode
  readonly dataDir: string
}

/** Name of the socket inside the data directory. Its file permission is the authentication. */
export const socketFile = "cofferer.sock"

/** Interval at which a requested poll is checked. */
const pollMillis = 200

const bodyBytesMax = ByteSize.kibibytes(64)

/** The API of the command line, on a socket that only this user can open. */
export const layerControl = (options: ControlServerOptions) => Layer.effectDiscard(make(options))

const make = Effect.fnUntraced(function* (options: ControlServerOptions) {
  const path = join(options.dataDir, socketFile)
  if (yield* isServed(path)) {
    const why = "another daemon listens there: commands would reach this one instead, and act on the wrong treasury"
    return yield* configProblem(path, why, "name another data directory with --data or store.dir")
  }
  // It was left by a process that died.
  yield* Effect.sync(() => rmSync(path, { force: true }))
  const server = yield* NodeHttpServer.make(() => boundedServer(connectionsMax), {
    path,
    gracefulShutdownTimeout: "500 millis",
  }).pipe(
    Effect.mapError(({ cause }) => {
      const names = { name: "the command line's socket", setting: "--data or store.dir" }
      return new ListenError({ ...names, address: path, busy: false, cause })
    }),
  )
  yield* Effect.sync(() => chmodSync(path, 0o600))
  yield* server.serve(Effect.interruptible(Effect.flatMap(HttpServerRequest.HttpServerRequest, respond(options))))
})

/** True if somebody listens at the socket. With PostgreSQL no lock keeps two treasuries from one data directory. */
const isServed = (path: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(path)
    const end = (is: boolean) => {
      socket.destroy()
      resume(Effect.succeed(is))
    }
    socket.once("connect", () => end(true))
    // A full queue of connections is that of a daemon.
    socket.once("error", ({ code }: NodeJS.ErrnoException) => end(code === "EAGAIN"))
    return Effect.sync(() => socket.destroy())
  })

const respond = (options: ControlServerOptions) => (request: HttpServerRequest.HttpServerRequest) =>
  answer(options, request).pipe(
    Effect.catchTags({
      StoreError: (error) => Effect.succeed(refusal(503, error.message)),
      GatewayError: (error) => Effect.succeed(refusal(503, error.message, "nothing was changed; try again")),
      SchemaError: (error) => Effect.succeed(refusal(400, error.message.split("\n")[0] ?? "", "see --help")),
      HttpServerError: () => Effect.succeed(refusal(413, "the body cannot be read, or is larger than 64 KiB")),
      SubmitRejected: (error) => Effect.succeed(refusal(error.byPolicy ? 403 : 400, error.message, error.remedy)),
    }),
  )

const answer = Effect.fn("Control.answer")(function* (
  given: ControlServerOptions,
  request: HttpServerRequest.HttpServerRequest,
) {
  const options = { ...given, ...(yield* ConfigInForce).now() }
  const path = pathOf(request)
  const none = nothingAt(request.method, path)
  if (request.method === "GET") return (yield* read(options, path, queryOf(request))) ?? none
  const [, id, word = ""] = /^\/api\/v1\/(?:intents\/([0-9a-z]{3,64})\/)?([a-z/]+)$/.exec(path) ?? []
  const name = id === undefined ? word : `intents/*/${word}`
  if (request.method !== "POST" || !Object.hasOwn(verbs, name)) return none
  return yield* verbs[name as VerbName](options, request, id ?? "")
})

/** Answer for an unknown path; names the payment if the path contains something that is not an id. */
const nothingAt = (method: string, path: string) => {
  const id = /^\/api\/v1\/(?:intents|receipts)\/([^/]+)/.exec(path)?.[1]
  if (id === undefined || /^[0-9a-z]{3,64}$/.test(id)) return refusal(404, `no ${method} ${path}`)
  return refusal(404, `no payment "${id}"`, 'give the first three characters or more of an id; see "cofferer intents"')
}

const queryOf = ({ url }: HttpServerRequest.HttpServerRequest) => new URLSearchParams(url.split("?")[1] ?? "")

/** The answer to a GET; undefined for an unknown path. */
const read = Effect.fnUntraced(function* (options: ControlServerOptions, path: string, query: URLSearchParams) {
  const limit = Number(query.get("limit") ?? "20")
  switch (path) {
    case "/api/v1/live":
      return json({ live: true, pid: process.pid, files: options.treasury.files })
    case "/api/v1/status":
      return json(yield* readView())
    case explainPath:
      return yield* answerExplain(options, query)
    case "/api/v1/plan":
      return json(yield* planOf({ plan: options, inForce: undefined, asLastSeen: false }))
    case "/api/v1/intents":
      return json(yield* listIntents(limit))
    case "/api/v1/export":
      return json(yield* exportPage(yield* Schema.decodeUnknownEffect(ExportQuery)(Object.fromEntries(query))))
    case "/api/v1/alerts":
      return json(yield* alertsView(limit, query.get("all") === "1"))
    case "/api/v1/verify":
      return json(yield* verifyStore())
  }
  const seq = /^\/api\/v1\/alerts\/([1-9][0-9]{0,14})$/.exec(path)?.[1]
  if (seq !== undefined) return answerOf(yield* alertStory(Number(seq)))
  const [, kind, id, approval] = /^\/api\/v1\/(intents|receipts)\/([0-9a-z]{3,64})(\/approval)?$/.exec(path) ?? []
  if (id === undefined) return undefined
  if (kind === "receipts") return approval === undefined ? answerOf(yield* receiptOf(id)) : undefined
  const { treasury } = options
  return answerOf(yield* approval === undefined ? storyWithApproval(treasury, id) : findApproval(treasury, id))
})

const body = Effect.fnUntraced(function* <A>(
  request: HttpServerRequest.HttpServerRequest,
  schema: Schema.ConstraintDecoder<A>,
) {
  const text = yield* request.text.pipe(Effect.provideService(HttpIncomingMessage.MaxBodySize, bodyBytesMax))
  return yield* Schema.decodeEffect(Schema.fromJsonString(schema))(text, { onExcessProperty: "error" })
})

/** Response for the result of a verb: done, refused, or waiting for signatures. */
const answerOf = (done: object | HttpProblem): HttpServerResponse.HttpServerResponse => {
  if (isProblem(done)) return refusal(done.status, done.problem, done.remedy)
  return json(done, "waits" in done ? 202 : 200)
}

/** Response of a verb after which loops run at once. */
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
/** Absolute paths of a changed treasury file and its overlays. */
const PlanBody = Schema.Struct({ files: Schema.NonEmptyArray(Schema.String.check(Schema.isPattern(/^\//))) })
const ReloadBody = Schema.Struct({ reason: Words, author: Words, allowWeaker: Schema.optional(Schema.Boolean) })
const BackfillBody = Schema.Struct({ since: Schema.String.check(Schema.isPattern(/^[0-9]{1,19}$/)) })

const plan = Effect.fnUntraced(function* (inForce: ControlServerOptions, { files }: typeof PlanBody.Type) {
  const loaded = yield* loadAsked(files)
  if ("problem" in loaded) return refusal(400, loaded.problem, loaded.remedy)
  const changed = { treasury: loaded.treasury, mode: yield* modeAtStart(loaded.treasury.mode) }
  return json(yield* planOf({ plan: changed, inForce, asLastSeen: false }))
})

const reload = Effect.fnUntraced(function* (asked: typeof ReloadBody.Type) {
  const done = yield* reloadConfig({ ...asked, allowWeaker: asked.allowWeaker === true })
  if (done._tag === "Refused") return refusal(done.isConfig ? 422 : 409, done.detail, done.remedy)
  return json(done)
})

const end = Effect.fnUntraced(function* (treasury: Treasury, id: string, word: EndVerb, asked: typeof EndBody.Type) {
  const result = yield* endPayment(treasury, id, word, asked)
  if (!("ended" in result)) return answerOf(result)
  const { state, detail } = result.ended
  const found = yield* findIntent(result.ended.id)
  if ("intent" in found && isFinalIntent(found.intent.state)) {
    yield* countEnd(found.intent, found.intent.state, found.intent.fee)
  }
  yield* logEvent("payment ended", { intent: result.ended.id, state, reason: detail })
  return yield* done(result.ended)
})

const submit = Effect.fnUntraced(function* ({ treasury, mode }: ControlServerOptions, asked: unknown) {
  const taken = yield* submitPayment(treasury, mode, asked)
  yield* wake
  return json(taken, taken.created ? 201 : 200)
})

const reconcile = Effect.fnUntraced(function* (options: ControlServerOptions) {
  const signals = yield* Signals
  return json(yield* reconcileNow(options, Effect.andThen(signals.wake("balances"), Effect.sleep(pollMillis))))
})

const wake = Effect.flatMap(Signals, (signals) => signals.wake("engine", "submitter"))

/** A verb of the socket: decodes the body, then performs it. `id` is that of the path, or empty. */
const verb =
  <A, E, R>(
    schema: Schema.ConstraintDecoder<A>,
    perform: (
      options: ControlServerOptions,
      asked: A,
      id: string,
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ) =>
  (options: ControlServerOptions, request: HttpServerRequest.HttpServerRequest, id: string) =>
    Effect.flatMap(body(request, schema), (asked) => perform(options, asked, id))

const answered = <E, R>(work: Effect.Effect<object | HttpProblem, E, R>) => Effect.map(work, answerOf)

const ends = (word: EndVerb) => verb(EndBody, ({ treasury }, asked, id) => end(treasury, id, word, asked))
const ledger = (word: LedgerVerb) =>
  verb(LedgerBody, (options, asked) => Effect.flatMap(ledgerVerb(word, options, asked), done))

/** Every verb, as `agreements` names it. */
const verbs = {
  // Named, since the asker knows only the data directory.
  halt: verb(HaltBody, ({ treasury: { name } }, asked) =>
    Effect.flatMap(haltAll(asked), (halted) => done({ ...halted, treasury: name })),
  ),
  pause: verb(PauseBody, ({ treasury }, asked) => Effect.flatMap(pauseScope(treasury, asked), done)),
  resume: verb(ResumeBody, (options, asked) => Effect.flatMap(resumeScope(options, asked), done)),
  "intents/*/cancel": ends("cancel"),
  "intents/*/reject": ends("reject"),
  "intents/*/abandon": ends("abandon"),
  "intents/*/resolve": ends("resolve"),
  "intents/*/approve": verb(ApproveBody, ({ treasury }, asked, id) => answered(approve(treasury, id, asked))),
  adopt: ledger("adopt"),
  recover: ledger("recover"),
  "balances/rebase": verb(RebaseBody, ({ treasury }, asked) => answered(rebaseBalances(treasury, asked))),
  reload: verb(ReloadBody, (_, asked) => reload(asked)),
  "terms/accept": verb(AcceptBody, (_, asked) => answered(acceptTerms(asked))),
  "terms/approve": verb(ApproveTermsBody, (options, asked) => answered(approveTerms(options, asked))),
  submit: verb(Schema.Unknown, submit),
  "alerts/ack": verb(alertBodies.ack, (_, asked) => answered(ackAlert(asked))),
  "alerts/silence": verb(alertBodies.silence, (_, asked) => answered(silenceAlerts(asked))),
  "alerts/unsilence": verb(alertBodies.unsilence, (_, asked) => answered(unsilenceAlerts(asked))),
  "alerts/resend": verb(alertBodies.resend, ({ treasury }, asked) => answered(resendAlerts(treasury, asked))),
  "alerts/test": verb(alertBodies.test, ({ treasury }, asked) => answered(testReceivers(treasury, asked))),
  plan: verb(PlanBody, plan),
  backfill: verb(BackfillBody, ({ treasury }, { since }) => answered(askBackfill(BigInt(since), treasury.keepMillis))),
  reconcile: verb(Nothing, reconcile),
} satisfies Readonly<Record<VerbName, unknown>>
