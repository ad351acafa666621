import { existsSync } from "node:fs"
import { Console, Effect, Logger, Option, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readHaltFile, writeHaltFile } from "../config/files.ts"
import { DurationText, durationMillis } from "../config/schema/Fields.ts"
import { remedyOf } from "../domain/Halt.ts"
import { resumeScope } from "../http/brakeVerbs.ts"
import { AcceptBody, acceptTerms } from "../http/termsApproval.ts"
import { storeLayer } from "../layers.ts"
import { trip } from "../store/controls/trip.ts"
import { agreementFlags, signAgreement } from "./approve.ts"
import { bodyOf, type ControlAnswer, control, storedSetup, throughDaemon } from "./common/client.ts"
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

const InForce = Schema.Struct({
  scope: Schema.String,
  reason: Schema.String,
  author: Schema.String,
  until: Schema.NullOr(Schema.Int),
})
type InForce = typeof InForce.Type

const Paused = Schema.Struct({ longest: Schema.NullOr(InForce) })

interface Resumed {
  readonly stillHalted: ReadonlyArray<string>
  readonly stillPaused: ReadonlyArray<InForce>
}

const endOf = (until: number | null): string =>
  until === null ? "until someone resumes it" : `until ${new Date(until).toISOString()}`

/** The result of a pause: where another one lasts longer, its end is shown. */
const pausedText = (
  asked: { readonly scope: string; readonly until: number | undefined },
  longest: InForce | null,
): string => {
  const until = asked.until ?? null
  if (longest === null || longest.until === until) return `paused ${asked.scope} ${endOf(until)}`
  const { scope, author, reason } = longest
  return `paused ${asked.scope} ${endOf(longest.until)}: another pause lasts longer (${scope}, by ${author}: ${reason})`
}

/** Halts and pauses still in force, each with the command that ends it. */
const stillText = ({ stillHalted, stillPaused }: Resumed): ReadonlyArray<string> => [
  ...stillHalted.map((reason) => `still halted: ${reason.replaceAll("_", " ")}; ${remedyOf(reason)}`),
  ...stillPaused.map(
    ({ scope, reason, author, until }) =>
      `still paused ${endOf(until)}: ${scope}, by ${author}: ${reason}; "cofferer resume --scope ${scope} --reason TEXT"`,
  ),
]

const scopeFlag = Flag.String("scope").pipe(
  Flag.withDescription(
    "all, rule:NAME, party:NAME, asset:SYMBOL, pin:SYMBOL (stopped by its listing) or lock:NAME (a rule that locked itself); default all: everything",
  ),
  Flag.withDefault("all"),
)
export const reasonFlag = Flag.String("reason").pipe(
  Flag.withSchema(Schema.String.check(Schema.isMinLength(1, { expected: "a reason" }))),
  Flag.withDescription("Why; the journal, status and the page show it"),
)

interface HaltAsked {
  readonly reason: string
  readonly author: string
  /** Default true; false if a daemon runs and does not obey. */
  readonly isHeard?: boolean
  /** Scope of the requested stop, if smaller than everything. */
  readonly asked?: string | undefined
  /** Treasury whose store also records the halt, if its files can be read. */
  readonly chosen: Chosen
}

const undo = '"cofferer resume --reason TEXT" removes it'

/**
 * Notes in the store what the HALT file says: who takes the file away before a daemon has seen it ends nothing.
 * Whatever stands in the way, the file is there.
 */
const noteHalt = Effect.fnUntraced(
  function* (chosen: Chosen, dataDir: string, said: string) {
    const found = yield* storedSetup(chosen, dataDir)
    yield* trip("halt_file", said).pipe(Effect.provide(storeLayer(found)))
  },
  Effect.provide(Logger.layer([])),
  (noted) => Effect.ignoreCause(noted),
)

/** Where no daemon runs, the HALT file stops the next one before its first signature; one that is deaf reads it too. */
const haltNext = Effect.fnUntraced(function* (
  output: Output,
  dataDir: string,
  { reason, author, isHeard = true, asked, chosen }: HaltAsked,
) {
  if (!existsSync(dataDir)) {
    const message = `${dataDir}  is not a data directory: nothing is halted; name the right one with --data DIR`
    return yield* failWith("notFound", message)
  }
  yield* writeHaltFile(dataDir, `${author}: ${reason}`)
  if (isHeard) yield* noteHalt(chosen, dataDir, `${author}: ${reason}`)
  const text = isHeard
    ? `no daemon runs: wrote ${dataDir}/HALT, which halts the next one; ${undo}`
    : `wrote ${dataDir}/HALT, which halts the daemon at its next check; ${undo}`
  const wider = asked === undefined ? "" : `everything is stopped instead of ${asked}, and until someone resumes it: `
  return yield* printResult(output, { halted: true, reason, author }, () => `${wider}${text}`)
})

const pausedBy = (answer: ControlAnswer) =>
  Effect.flatMap(bodyOf(answer), (body) =>
    Schema.decodeUnknownEffect(Paused)(body).pipe(
      Effect.mapError(() => failWith("failure", "the daemon's answer is not a pause")),
    ),
  )

/** True if the daemon did not answer, answered unreadably, or could not store the request. */
const isDeaf = ({ exitCode }: CliFailure): boolean => exitCode === exitCodes.failure || exitCode === exitCodes.timeOut

/** A person's pause. Where no daemon takes it, the HALT file stops everything, of the next one as well. */
export const pause = Command.make(
  "pause",
  {
    scope: scopeFlag,
    reason: reasonFlag,
    for: optionalOf("for", DurationText, "The pause ends after this time, such as 2h"),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen, "stop")
    const { scope, reason } = chosen
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const until = Option.match(chosen.for, { onNone: () => undefined, onSome: (text) => now + durationMillis(text) })
    const author = userName()
    const lasting = until === undefined ? "" : ` for ${Option.getOrElse(chosen.for, () => "")}`
    const asked = scope === "all" && until === undefined ? undefined : `${scope}${lasting}`
    const heard = yield* control(dataDir, "POST", "/api/v1/pause", { scope, reason, author, until }).pipe(
      Effect.flatMap((answer) => (answer === undefined ? Effect.undefined : pausedBy(answer))),
      Effect.result,
    )
    if (Result.isFailure(heard)) {
      // A request that the daemon understood and refused is the user's mistake.
      if (!isDeaf(heard.failure)) return yield* heard.failure
      yield* Console.error(`warn ${heard.failure.message}`)
      return yield* haltNext(chosen.output, dataDir, { reason, author, isHeard: false, asked, chosen })
    }
    if (heard.success === undefined) return yield* haltNext(chosen.output, dataDir, { reason, author, asked, chosen })
    const { longest } = heard.success
    return yield* printResult(chosen.output, { paused: scope, reason, author, until, longest }, () =>
      pausedText({ scope, until }, longest),
    )
  }),
).pipe(Command.withDescription("Stop new payments: all, or those of --scope"))

/** A person's halt of everything, until `resume`. Where no daemon takes it, the HALT file says it. */
export const halt = Command.make(
  "halt",
  { reason: reasonFlag, ...commonFlags },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen, "stop")
    const { reason } = chosen
    const author = userName()
    const told = yield* control(dataDir, "POST", "/api/v1/halt", { reason, author }).pipe(
      Effect.flatMap((answer) => (answer === undefined ? Effect.undefined : bodyOf(answer))),
      Effect.result,
    )
    if (Result.isFailure(told)) {
      yield* Console.error(`warn ${told.failure.message}`)
      return yield* haltNext(chosen.output, dataDir, { reason, author, isHeard: false, chosen })
    }
    if (told.success === undefined) return yield* haltNext(chosen.output, dataDir, { reason, author, chosen })
    const text = 'halted: nothing is signed or sent until "resume"'
    return yield* printResult(chosen.output, { halted: true, reason, author }, () => text)
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
    const mayBegin = scope === "all" && (yield* readHaltFile(dataDir)) !== undefined
    const done = yield* signAgreement(
      chosen,
      { kind: "resume", says: { scope, reason } },
      Effect.fnUntraced(function* (more) {
        const asked = { ...body, ...more }
        const stored = ({ treasury }: Setup) => resumeScope({ treasury, dataDir }, asked)
        return (yield* throughDaemon(chosen, "/api/v1/resume", stored, { body: asked, mayBegin })).body
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

/** Lets the daemon read its files again: all of it is put in force, or nothing. */
export const reload = Command.make(
  "reload",
  {
    reason: reasonFlag,
    allowWeaker: switchFlag("allow-weaker", "Accept a file that permits more than before"),
    ...commonFlags,
  },
  Effect.fn(function* ({ reason, allowWeaker, output, ...chosen }) {
    const dataDir = yield* dataDirOf(chosen)
    const author = userName()
    const answer = yield* control(dataDir, "POST", "/api/v1/reload", { reason, author, allowWeaker })
    if (answer === undefined) return yield* notRunning(chosen, dataDir)
    const done = (yield* bodyOf(answer)) as {
      readonly hash: string
      readonly parts?: ReadonlyArray<string>
      readonly weaker?: ReadonlyArray<string>
    }
    return yield* printResult(output, done, () => {
      if (done.parts === undefined) return `nothing changed: ${done.hash.slice(0, 12)} is in force`
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
      Argument.withDescription("Hash of the file's terms, as status and the page name it"),
    ),
    reason: reasonFlag.pipe(Flag.optional),
    ...commonFlags,
  },
  Effect.fn(function* ({ hash, reason, output, ...chosen }) {
    const body = { hash, author: userName(), ...(Option.isSome(reason) ? { reason: reason.value } : {}) }
    const { body: done } = yield* throughDaemon(chosen, "/api/v1/terms/accept", () => acceptTerms(body), { body })
    return yield* printResult(output, done, () =>
      done.isInForce
        ? `terms ${hash} are in force`
        : `terms ${hash} come into force after an hour in which nothing is signed; "cofferer halt" stops it`,
    )
  }),
).pipe(Command.withDescription("Accept the file's terms that halted a start, where no operator can sign them"))

/** Terms that bound the money: who signs them, `approve terms` says. */
export const terms = Command.make("terms").pipe(
  Command.withDescription("Terms of a file that permits more than the terms in force"),
  Command.withSubcommands([accept]),
)
