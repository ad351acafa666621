import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { ConfigInForce } from "../../config/ConfigInForce.ts"
import type { Treasury } from "../../config/Treasury.ts"
import { type HaltReason, haltText, type Invariant, keptReasons, remedyOf } from "../../domain/Halt.ts"
import { type Intent, isFinalIntent } from "../../domain/Intent.ts"
import { endText } from "../../domain/Time.ts"
import { visible } from "../../domain/text.ts"
import { pinAuthor, stopsPayment } from "../../rules/checks/stops.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { Metrics } from "../../telemetry/Metrics.ts"
import { raise } from "../alerts/raise.ts"
import { newestBlock, rowsOf } from "../database/columns.ts"
import { Database } from "../database/Database.ts"
import { Sql } from "../database/Sql.ts"
import { Journal } from "../journal/Journal.ts"

/** Names of parties with their keys, and symbols of pinned assets with their ids. */
interface Names {
  readonly parties: ReadonlyMap<string, string>
  readonly assets: ReadonlyMap<string, string>
}

const namesOf = ({ parties, assets }: Pick<Treasury, "parties" | "assets">): Names => ({
  parties: new Map([...parties.values()].map(({ name, publicKey }) => [name, publicKey])),
  assets: new Map([...assets.values()].map(({ symbol, id }) => [symbol, id])),
})

const parts = (scope: string): readonly [kind: string, name: string] => {
  const at = scope.indexOf(":")
  return [scope.slice(0, Math.max(0, at)), scope.slice(at + 1)]
}

const named = (kind: string, { parties, assets }: Names): ReadonlyMap<string, string> | undefined =>
  kind === "party" ? parties : kind === "asset" || kind === "pin" ? assets : undefined

/** The scope as stored: a party's key or an asset's id in place of a name, which may change. Rules keep their names. */
const keptScope = (scope: string, names: Names): string => {
  const [kind, name] = parts(scope)
  const key = named(kind, names)?.get(name)
  return key === undefined ? scope : `${kind}:${key}`
}

/** A stored scope with today's name; unchanged if nothing has its key or id any more. */
const shownScope = (kept: string, names: Names): string => {
  const [kind, key] = parts(kept)
  const found = [...(named(kind, names) ?? [])].find(([, one]) => one === key)
  return found === undefined ? kept : `${kind}:${found[0]}`
}

/** The rule that a scope stops; undefined for one of something else. */
export const ruleOfScope = (scope: string): string | undefined => {
  const [kind, name] = parts(scope)
  return kind === "rule" || kind === "lock" ? name : undefined
}

const noNames: Names = { parties: new Map(), assets: new Map() }

/**
 * A person's stop; with scope "pin:SYMBOL" that of an asset whose listing contradicts its pin, with "lock:NAME" that of
 * a rule whose payments fail. Scopes of people: "all", "rule:NAME", "party:NAME", "asset:SYMBOL". It ends when someone
 * resumes it, or at `until`.
 */
export interface Pause {
  readonly seq: number
  /** Under the names that parties and assets have now. */
  readonly scope: string
  /** As it is stored: with the party's key or the asset's id, so that no other name ends it. */
  readonly kept: string
  readonly reason: string
  readonly author: string
  readonly at: number
  readonly until: number | undefined
}

const PauseRow = Schema.Struct({
  seq: Schema.Int,
  scope: Schema.String,
  reason: Schema.String,
  author: Schema.String,
  at: Schema.Int,
  until: Schema.NullOr(Schema.Int),
})
const EndedRow = Schema.Struct({ scope: Schema.String, endedAt: Schema.Int })
/** Reasons of halts by people. Each such halt voids a waiting acceptance of terms, even if one is in force already. */
const ofPeople: ReadonlyArray<string> = ["operator", "halt_file"] satisfies ReadonlyArray<HaltReason>
/** Reasons that may halt several times, each with words of its own: who agrees to end one must know the others. */
const severalTimes: ReadonlyArray<string> = [...ofPeople, "duplicate_execution", "invariant"]

/** Nothing is signed while one is in force. */
const HaltRow = Schema.Struct({ seq: Schema.Int, reason: Schema.String, detail: Schema.String, at: Schema.Int })
type Halt = typeof HaltRow.Type

/** A script may write a new text each second: each halt is a page, and a line in what operators sign. */
const haltFilesMax = 10

/** True if another halt for this reason, with these words, would add nothing to those in force. */
export const isHaltedFor = (halts: ReadonlyArray<Halt>, reason: string, said: string): boolean => {
  const same = halts.filter((halt) => halt.reason === reason)
  if (reason === "halt_file" && same.length >= haltFilesMax) return true
  return severalTimes.includes(reason) ? same.some(({ detail }) => detail === visible(said)) : same.length > 0
}

/** Halts and pauses: durable, in force before the next send, each with a reason. Alerts go on. */
export class Controls extends Context.Service<Controls>()("cofferer/store/Controls", {
  make: Effect.gen(function* () {
    const sql = yield* Sql
    const journal = yield* Journal
    const database = yield* Database
    const halts = database.memoryOf<ReadonlyArray<Halt>>("halts")(
      "",
      sql`SELECT seq, reason, detail, at FROM halts WHERE ended_at IS NULL ORDER BY seq`.pipe(
        rowsOf(HaltRow, "Controls.halts"),
      ),
    )
    const config = Option.getOrUndefined(yield* Effect.serviceOption(ConfigInForce))
    const names = (): Names => (config === undefined ? noNames : namesOf(config.now().treasury))
    const unended = database.memoryOf<ReadonlyArray<Pause>>("pauses")(
      "",
      sql`SELECT seq, scope, reason, author, at, until FROM pauses WHERE ended_at IS NULL ORDER BY seq`.pipe(
        rowsOf(PauseRow, "Controls.pauses"),
        Effect.map((rows) => rows.map((row) => ({ ...row, kept: row.scope, until: row.until ?? undefined }))),
      ),
    )
    const newest = database.memoryOf<number | undefined>("watermarks")("", newestBlock(sql))
    const sureTime = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      return Math.min(now, (yield* newest) ?? now)
    })
    const stopAcceptance = Effect.fnUntraced(function* (reason: string, at: number) {
      const ended = yield* sql.write`UPDATE terms_accepted SET ended_at = ${at} WHERE ended_at IS NULL RETURNING hash`
      for (const { hash } of ended) {
        const detail = `the acceptance of the terms ${hash} is void: halted by ${reason}`
        yield* journal.append({ kind: "halt", subject: "terms", body: { detail } })
      }
    })
    const release = Effect.fnUntraced(function* (reason: string, detail: string) {
      const at = yield* Clock.currentTimeMillis
      const ended = yield* sql.write`UPDATE halts SET ended_at = ${at} WHERE reason = ${reason} AND ended_at IS NULL
        RETURNING seq`
      if (ended.length > 0) yield* journal.append({ kind: "resume", subject: reason, body: { detail } })
    }, sql.durable("Controls.release"))
    return {
      halts,
      /**
       * When a person last ended a pause of each scope, Unix milliseconds. An end later than now is of a clock that was
       * wrong: nothing would come after it.
       */
      ended: Effect.flatMap(Clock.currentTimeMillis, (now) =>
        sql`SELECT scope, max(ended_at) AS "endedAt" FROM pauses WHERE ended_at <= ${now} GROUP BY scope`.pipe(
          rowsOf(EndedRow, "Controls.ended"),
          Effect.map((rows) => new Map(rows.map(({ scope, endedAt }) => [scope, endedAt]))),
        ),
      ),
      /** Those that are not over by our clock and by the newest block: by a clock that is ahead alone none is over. */
      pauses: Effect.gen(function* () {
        const today = names()
        const all = yield* unended
        const at = all.some(({ until }) => until !== undefined) ? yield* sureTime : 0
        return all
          .filter(({ until }) => until === undefined || until > at)
          .map((pause) => ({ ...pause, scope: shownScope(pause.kept, today) }))
      }),
      /** `kept`: the scope as it is stored; absent: by the names of today. */
      pause: Effect.fn("Controls.pause")(function* ({
        scope,
        kept = keptScope(scope, names()),
        reason,
        author,
        until,
      }: Pick<Pause, "scope" | "reason" | "author" | "until"> & { readonly kept?: string }) {
        const at = yield* Clock.currentTimeMillis
        // They are shown within a sentence: a line of their own would be read as ours.
        const said = { reason: visible(reason), author: visible(author) }
        yield* sql.write`INSERT INTO pauses ${sql.insert({ scope: kept, ...said, at, until: until ?? null })}`
        yield* journal.append({ kind: "pause", subject: scope, body: { reason, author, until } })
      }, sql.durable("Controls.pause")),
      /**
       * Ends the pauses of the scope. Scope "all" also ends the halts but those of `keptReasons`, and acknowledges
       * second executions. A halt whose cause remains comes back at the next check of it. Returns how many ended.
       */
      resume: Effect.fn("Controls.resume")(function* ({
        scope,
        reason,
        author,
      }: Pick<Pause, "scope" | "reason" | "author">) {
        const at = yield* Clock.currentTimeMillis
        const ended = yield* sql.write`UPDATE pauses SET ended_at = ${at}
          WHERE scope IN ${sql.in([scope, keptScope(scope, names())])} AND ended_at IS NULL
          AND (until IS NULL OR until > ${yield* sureTime}) RETURNING seq`
        const lifted =
          scope === "all"
            ? yield* sql.write`UPDATE halts SET ended_at = ${at} WHERE reason NOT IN ${sql.in(keptReasons)}
                AND ended_at IS NULL RETURNING seq`
            : []
        if (scope === "all") {
          yield* sql.write`UPDATE duplicates SET acknowledged_at = ${at} WHERE acknowledged_at IS NULL`
        }
        yield* journal.append({ kind: "resume", subject: scope, body: { reason, author } })
        return ended.length + lifted.length
      }, sql.durable("Controls.resume")),
      /**
       * Adds a halt, unless `isHaltedFor` these words already. A new halt, and any by people, voids an acceptance of
       * terms that still waits for its hour.
       */
      halt: Effect.fn("Controls.halt")(function* (reason: string, said: string) {
        const detail = visible(said)
        const isIn = isHaltedFor(yield* halts, reason, said)
        const at = yield* Clock.currentTimeMillis
        if (!isIn || ofPeople.includes(reason)) yield* stopAcceptance(reason, at)
        if (isIn) return
        yield* sql.write`INSERT INTO halts ${sql.insert({ reason, detail, at })}`
        yield* journal.append({ kind: "halt", subject: reason, body: { detail } })
      }, sql.durable("Controls.halt")),
      /** Ends the halts of a reason, for a caller that sees their cause gone, such as a removed HALT file. */
      release: Effect.fn("Controls.release")(function* (reason: string, detail: string) {
        // Called twice a second while there is no HALT file: that must not take the write lock.
        if ((yield* halts).some((row) => row.reason === reason)) yield* release(reason, detail)
      }),
    }
  }),
}) {
  static readonly layerNoDeps = Layer.effect(Controls, Controls.make)
}

export const resumeCommand = (scope: string): string =>
  scope === "all" ? '"cofferer resume --reason TEXT"' : `"cofferer resume --scope ${scope} --reason TEXT"`

export const untilText = (until: number | undefined | null): string =>
  until == null ? "until someone resumes it" : endText(until)

/** When a pause ends, as text. */
export const pauseEnd = (author: string, until: number | undefined | null): string =>
  author === pinAuthor ? "until the listing agrees with its pin" : untilText(until)

const pauseText = ({ scope, author, reason, until }: Pause): string =>
  `paused (${scope}) by ${author} ${pauseEnd(author, until)}: ${reason}; ${resumeCommand(scope)}`

/** A halt or pause that holds a payment. */
interface PaymentHold {
  /** "halted by ana: audit", "halted (foreign payment)", "paused (all) by ana". */
  readonly name: string
  /** The same with its reason and what ends it. */
  readonly text: string
}

/**
 * Halts and pauses that keep a payment from being signed or sent now. Bytes that were sent may still execute and be
 * confirmed.
 */
export const holdsOf = Effect.fnUntraced(function* ({
  rule,
  payment,
  state,
}: Pick<Intent, "rule" | "payment" | "state">) {
  if (isFinalIntent(state)) return []
  const controls = yield* Controls
  const halts = (yield* controls.halts).map(
    (halt): PaymentHold => ({
      name: halt.reason === "operator" ? `halted ${haltText(halt)}` : `halted (${halt.reason.replaceAll("_", " ")})`,
      text: `halted ${haltText(halt)}; ${remedyOf(halt.reason, halt.detail)}`,
    }),
  )
  const pauses = (yield* controls.pauses)
    .filter(stopsPayment(rule, payment))
    .map((pause): PaymentHold => ({ name: `paused (${pause.scope}) by ${pause.author}`, text: pauseText(pause) }))
  return [...halts, ...pauses]
})

/**
 * Halts all signing and pages people if `check` returns a detail, in one transaction with what `check` stores.
 * A halt for a reason that is in force already changes nothing.
 */
export const haltSigningWith = Effect.fn("Controls.haltSigning")(function* <E, R>(
  reason: HaltReason,
  check: Effect.Effect<string | undefined, E, R>,
) {
  const controls = yield* Controls
  const database = yield* Database
  const raised = yield* database.write(
    Effect.gen(function* () {
      const detail = yield* check
      if (detail === undefined) return undefined
      yield* controls.halt(reason, detail)
      const halt = (yield* controls.halts).findLast((h) => h.reason === reason)
      const remedy = remedyOf(reason, detail)
      const words = reason === "operator" ? `halted by ${detail}` : detail
      const isNew = yield* raise("halt", { reason, seq: halt?.seq ?? 0, detail: words, remedy })
      return isNew ? { reason: detail, remedy } : undefined
    }),
  )
  if (raised !== undefined) yield* logEvent("signing halted", { scope: reason, ...raised })
})

/** Halts all signing and pages people. Fails if the store cannot be written: nothing is decided or signed then. */
export const haltSigning = (reason: HaltReason, detail: string) => haltSigningWith(reason, Effect.succeed(detail))

/** An assertion of the money path does not hold: counts it, and halts. */
export const haltOnViolation = Effect.fn("Controls.haltOnViolation")(function* (invariant: Invariant, detail: string) {
  const metrics = yield* Metrics
  metrics.invariantViolations.inc({ invariant })
  yield* logEvent("invariant broken", { invariant, detail })
  yield* haltSigning("invariant", `${invariant.replaceAll("_", " ")}: ${detail}`)
})
