import { existsSync } from "node:fs"
import { Cause, Clock, Console, Effect, Exit, Logger, Option, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readHaltFile, writeHaltFile } from "../config/files.ts"
import { DurationText, durationMillis } from "../config/schema/Fields.ts"
import { type PauseBody, pauseScope, resumeScope, scopeProblem } from "../http/controlVerbs.ts"
import { AcceptBody, acceptTerms } from "../http/termsApproval.ts"
import { storeLayer } from "../layers.ts"
import { haltSigning, untilText } from "../store/controls/Controls.ts"
import { refusalOf } from "../store/database/sqlStates.ts"
import { agreementFlags, signAgreement } from "./approve.ts"
import { asGuest, askDaemon, bodyOf, loadingMillis, storedSetup, throughDaemon } from "./common/client.ts"
import { type CliFailure, exitCodes, failWith, type Output, printResult } from "./common/output.ts"
import {
  type Chosen,
  commonFlags,
  dataDirOf,
  notRunning,
  optionalOf,
  type Setup,
  switchFlag,
  userName,
} from "./common/setup.ts"

const PauseInForce = Schema.Struct({
  scope: Schema.String,
  reason: Schema.String,
  author: Schema.String,
  until: Schema.NullOr(Schema.Int),
})
type PauseInForce = typeof PauseInForce.Type

const Paused = Schema.Struct({ longest: Schema.NullOr(PauseInForce) })

interface Resumed {
  readonly stillHalted: ReadonlyArray<string>
  /** The command that ends each of these halts, in their order. */
  readonly remedies: ReadonlyArray<string>
  readonly stillPaused: ReadonlyArray<PauseInForce>
}

/** The result of a pause. If another pause of the scope lasts longer, it has the end of that one. */
const pausedText = (
  asked: { readonly scope: string; readonly until: number | undefined },
  longest: PauseInForce | null,
): string => {
  const until = asked.until ?? null
  if (longest === null || longest.until === until) return `paused ${asked.scope} ${untilText(until)}`
  const { scope, author, reason } = longest
  return `paused ${asked.scope} ${untilText(longest.until)}: another pause lasts longer (${scope}, by ${author}: ${reason})`
}

/** Halts and pauses still in force, each cause once, with the command that ends it. */
const stillText = ({ stillHalted, remedies, stillPaused }: Resumed): ReadonlyArray<string> => [
  ...new Set(stillHalted.map((reason, i) => `still halted: ${reason.replaceAll("_", " ")}; ${remedies[i]}`)),
  ...stillPaused.map(
    ({ scope, reason, author, until }) =>
      `still paused ${untilText(until)}: ${scope}, by ${author}: ${reason}; "cofferer resume --scope ${scope} --reason TEXT"`,
  ),
]

const scopeFlag = Flag.String("scope").pipe(
  Flag.withDescription(
    "all, rule:NAME, party:NAME, asset:SYMBOL, pin:SYMBOL (an asset stopped by its listing) or lock:NAME (a rule that locked itself); default all: everything",
  ),
  Flag.withDefault("all"),
)
export const reasonFlag = Flag.String("reason").pipe(
  Flag.withSchema(Schema.String.check(Schema.isMinLength(1, { expected: "a reason" }))),
  Flag.withDescription("Reason (required); the journal, status and the page show it"),
)

interface HaltRequest {
  readonly reason: string
  readonly author: string
  /** True if a daemon runs that did not perform the request; default false. */
  readonly isDaemonThere?: boolean
  /** The requested stop, if smaller than a halt of everything. */
  readonly asked?: string | undefined
  /** Treasury whose store also records the halt, if its files can be read. */
  readonly chosen: Chosen
}

const undo = {
  file: '"cofferer resume --reason TEXT" removes it',
  shared: '"cofferer resume --reason TEXT" ends it',
}

const quiet = Effect.provide(Logger.layer([]))

/** The setup, and true if other processes share its store; undefined if its files cannot be read. */
const readableSetup = (chosen: Chosen, dataDir: string) =>
  storedSetup(chosen, dataDir).pipe(
    Effect.map((found) => ({ found, isShared: found.postgresUrlFile !== undefined })),
    Effect.option,
    Effect.map(Option.getOrUndefined),
  )

/**
 * Halts if no daemon did. In a shared store the halt binds whichever process runs the treasury. Otherwise, and if that
 * fails, it writes the HALT file: the next daemon here reads it before its first signature, a running one within half a
 * second. On SQLite the halt is stored too, so that it outlasts a file that is removed before a daemon reads it.
 */
const haltWithoutDaemon = Effect.fnUntraced(function* (
  output: Output,
  dataDir: string,
  { reason, author, isDaemonThere = false, asked, chosen }: HaltRequest,
) {
  const cause = `${author}: ${reason}`
  const wider = asked === undefined ? "" : `everything is stopped instead of ${asked}, and until someone resumes it: `
  const stored = yield* readableSetup(chosen, dataDir)
  const shared =
    stored?.isShared === true
      ? yield* asGuest(stored.found, haltSigning("operator", cause)).pipe(
          quiet,
          // Ctrl-C while the database does not answer still halts this host.
          Effect.onInterrupt(() => Effect.ignore(writeHaltFile(dataDir, cause))),
          Effect.exit,
        )
      : undefined
  if (shared !== undefined && Exit.isSuccess(shared)) {
    const text = `halted wherever it runs: nothing is signed or sent; ${undo.shared}`
    return yield* printResult(output, { halted: true, reason, author }, () => `${wider}${text}`)
  }
  if (!existsSync(dataDir)) {
    const message = `${dataDir} is not a data directory: nothing is halted; name the right one with --data DIR`
    return yield* failWith("notFound", message)
  }
  yield* writeHaltFile(dataDir, cause)
  const notElsewhere = (failure: Cause.Cause<unknown>) =>
    failWith(
      "failure",
      `NOT HALTED elsewhere: ${Cause.squash(failure)}; ${dataDir}/HALT halts this host alone: run this where the treasury runs`,
    )
  if (shared !== undefined) return yield* notElsewhere(shared.cause)
  if (!isDaemonThere && stored !== undefined) {
    const own = yield* Effect.provide(haltSigning("halt_file", cause), storeLayer(stored.found)).pipe(
      quiet,
      Effect.exit,
    )
    // The store was moved: the treasury may run on the new one.
    if (Exit.isFailure(own) && refusalOf(Cause.squash(own.cause)) === "refused") return yield* notElsewhere(own.cause)
  }
  const text = isDaemonThere
    ? `wrote ${dataDir}/HALT, which halts the daemon at its next check; ${undo.file}`
    : `no daemon answers: wrote ${dataDir}/HALT, which halts the next one, and one that waits for its store; ${undo.file}`
  return yield* printResult(output, { halted: true, reason, author }, () => `${wider}${text}`)
})

const decodePause = (body: unknown) =>
  Schema.decodeUnknownEffect(Paused)(body).pipe(
    Effect.mapError(() => failWith("failure", "the daemon's answer is not a pause")),
  )

/** Pauses in a shared store; undefined if the store is not shared. Fails if the scope names nothing. */
const pauseShared = Effect.fnUntraced(function* (chosen: Chosen, dataDir: string, request: typeof PauseBody.Type) {
  const stored = yield* readableSetup(chosen, dataDir)
  const wrong = stored && scopeProblem(stored.found.treasury, request.scope)
  if (wrong !== undefined) return yield* failWith("usage", `${wrong.problem}; ${wrong.remedy}`)
  if (stored?.isShared !== true) return undefined
  const done = yield* asGuest(stored.found, pauseScope(stored.found.treasury, request)).pipe(
    quiet,
    Effect.mapError((message) => failWith("failure", message)),
  )
  return "problem" in done ? yield* failWith("usage", `${done.problem}; ${done.remedy}`) : done
})

/** True if the daemon did not answer, answered unreadably, or could not store the request. */
const isDaemonFailure = ({ exitCode }: CliFailure): boolean =>
  exitCode === exitCodes.failure || exitCode === exitCodes.timeOut

/** A person's pause. If no daemon performs it, the HALT file stops everything instead, also in the next daemon. */
export const pause = Command.make(
  "pause",
  {
    scope: scopeFlag,
    reason: reasonFlag,
    for: optionalOf("for", DurationText, "The pause ends after this time, such as 2h; default: it lasts until resume"),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen, "stop")
    const { scope, reason } = chosen
    const now = yield* Clock.currentTimeMillis
    const until = Option.match(chosen.for, { onNone: () => undefined, onSome: (text) => now + durationMillis(text) })
    const author = userName()
    const lasting = until === undefined ? "" : ` for ${Option.getOrElse(chosen.for, () => "")}`
    const asked = scope === "all" && until === undefined ? undefined : `${scope}${lasting}`
    const answered = yield* askDaemon(dataDir, "/api/v1/pause", { body: { scope, reason, author, until } }).pipe(
      Effect.flatMap((answer) =>
        answer === undefined
          ? pauseShared(chosen, dataDir, { scope, reason, author, until })
          : Effect.flatMap(bodyOf(answer), decodePause),
      ),
      Effect.result,
    )
    if (Result.isFailure(answered)) {
      // A request that the daemon understood and refused is the user's mistake.
      if (!isDaemonFailure(answered.failure)) return yield* answered.failure
      yield* Console.error(`warn ${answered.failure.message}`)
      return yield* haltWithoutDaemon(chosen.output, dataDir, { reason, author, isDaemonThere: true, asked, chosen })
    }
    if (answered.success === undefined)
      return yield* haltWithoutDaemon(chosen.output, dataDir, { reason, author, asked, chosen })
    const { longest } = answered.success
    return yield* printResult(chosen.output, { paused: scope, reason, author, until, longest }, () =>
      pausedText({ scope, until }, longest),
    )
  }),
).pipe(Command.withDescription("Stop new payments: all, or those of --scope"))

/** A person's halt of everything, until `resume`. If no daemon performs it, the HALT file halts. */
export const halt = Command.make(
  "halt",
  { reason: reasonFlag, ...commonFlags },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen, "stop")
    const { reason } = chosen
    const author = userName()
    const answered = yield* askDaemon(dataDir, "/api/v1/halt", { body: { reason, author } }).pipe(
      Effect.flatMap((answer) => (answer === undefined ? Effect.undefined : bodyOf(answer))),
      Effect.result,
    )
    if (Result.isFailure(answered)) {
      yield* Console.error(`warn ${answered.failure.message}`)
      return yield* haltWithoutDaemon(chosen.output, dataDir, { reason, author, isDaemonThere: true, chosen })
    }
    if (answered.success === undefined)
      return yield* haltWithoutDaemon(chosen.output, dataDir, { reason, author, chosen })
    const { treasury } = answered.success as { readonly treasury?: string }
    const text = `halted: ${treasury ?? "the daemon"} signs and sends nothing until "cofferer resume --reason TEXT"`
    return yield* printResult(chosen.output, { halted: true, treasury, reason, author }, () => text)
  }),
).pipe(Command.withDescription("Stop all signing and sending, until resume"))

/** Ends pauses of a scope; with scope all also the halts and the HALT file. */
export const resume = Command.make(
  "resume",
  {
    scope: scopeFlag,
    reason: reasonFlag,
    ...agreementFlags,
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const { scope, reason } = chosen
    const body = { scope, reason, author: userName() }
    const mayCreate = scope === "all" && (yield* readHaltFile(dataDir)) !== undefined
    const done = yield* signAgreement(
      chosen,
      { kind: "resume", says: { scope, reason } },
      Effect.fnUntraced(function* (more) {
        const asked = { ...body, ...more }
        const stored = ({ treasury }: Setup) => resumeScope({ treasury, dataDir }, asked)
        return (yield* throughDaemon(chosen, "/api/v1/resume", stored, { body: asked, mayCreate, isGuest: true })).body
      }),
    )
    const file = done.haltFile === "removed"
    if (done.ended === 0 && !file) {
      const none = scope === "all" ? "nothing was resumed: no pause of all, and no halt" : `${scope} is not paused`
      return yield* failWith("notFound", [none, ...stillText(done)].join("\n"))
    }
    return yield* printResult(chosen.output, { resumed: scope, removed: file, answer: done }, () =>
      [`resumed ${scope}${file ? ", and removed the HALT file" : ""}`, ...stillText(done)].join("\n"),
    )
  }),
).pipe(Command.withDescription("End a halt or a pause"))

/** Makes the daemon read its files again: all of the new configuration comes into force, or none of it. */
export const reload = Command.make(
  "reload",
  {
    reason: reasonFlag,
    allowWeaker: switchFlag("allow-weaker", "Accept a file that permits more than the one in force"),
    ...commonFlags,
  },
  Effect.fn(function* ({ reason, allowWeaker, output, ...chosen }) {
    const dataDir = yield* dataDirOf(chosen)
    const author = userName()
    const body = { reason, author, allowWeaker }
    const answer = yield* askDaemon(dataDir, "/api/v1/reload", { body, timeoutMillis: loadingMillis })
    if (answer === undefined) return yield* notRunning(chosen, dataDir)
    const done = (yield* bodyOf(answer)) as {
      readonly hash: string
      /** Those that the daemon was started with and reads. */
      readonly files?: ReadonlyArray<string>
      readonly parts?: ReadonlyArray<string>
      readonly weaker?: ReadonlyArray<string>
    }
    return yield* printResult(output, done, () => {
      if (done.parts === undefined) {
        return `nothing changed in ${done.files?.join(", ")}: ${done.hash.slice(0, 12)} is in force`
      }
      const weaker = (done.weaker ?? []).map((words) => `now permitted: ${words}`)
      return [`in force: ${done.parts.join(", ")} changed, ${done.hash.slice(0, 12)}`, ...weaker].join("\n")
    })
  }),
).pipe(Command.withDescription("Put the changed treasury file in force, whole or not at all"))

const accept = Command.make(
  "accept",
  {
    hash: Argument.String("hash").pipe(
      Argument.withSchema(AcceptBody.fields.hash),
      Argument.withDescription("Hash of the file's terms, as status and the page show it"),
    ),
    reason: reasonFlag.pipe(Flag.withDescription("Reason; required if the operators' keys are lost"), Flag.optional),
    ...commonFlags,
  },
  Effect.fn(function* ({ hash, reason, output, ...chosen }) {
    const body = { hash, author: userName(), ...(Option.isSome(reason) ? { reason: reason.value } : {}) }
    const { body: done } = yield* throughDaemon(chosen, "/api/v1/terms/accept", () => acceptTerms(body), { body })
    return yield* printResult(output, done, () =>
      done.isInForce
        ? `terms ${hash} are in force`
        : `terms ${hash} come into force after an hour in which nothing is signed; "cofferer halt --reason TEXT" stops it`,
    )
  }),
).pipe(Command.withDescription("Accept the file's terms that halted a start, where no operator can sign them"))

/** Terms that bound the money. Operators sign them with `approve terms`. */
export const terms = Command.make("terms").pipe(
  Command.withDescription("Accept a file that permits more than the terms in force"),
  Command.withSubcommands([accept]),
)
