import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option, Result, Schema } from "effect"
import { Command } from "effect/cli"
import { alertOf } from "../domain/alerts/Alert.ts"
import { ageText, ruleWord, shellWord } from "../domain/text.ts"
import { addressFile } from "../http/StatusServer.ts"
import { readView } from "../http/StatusView.ts"
import type { IntentView, View } from "../http/View.ts"
import { storeLayer } from "../layers.ts"
import { lastFiles } from "../store/controls/starts.ts"
import { markOf, movedKey } from "../store/database/moved.ts"
import { leaseHolder } from "../store/database/pgLease.ts"
import { Settings } from "../store/database/Settings.ts"
import { withFlags } from "../telemetry/Logging.ts"
import { askDaemon, bodyOf, exchange, storedSetup, throughDaemon } from "./common/client.ts"
import { failWith, type Output, printResult, table } from "./common/output.ts"
import {
  type Chosen,
  commonFlags,
  dataDirOf,
  eachTreasury,
  notRunning,
  runCommand,
  setup,
  severalIn,
  switchFlag,
} from "./common/setup.ts"

const severities = ["bad", "warn", "ok"] as const
const signs = { ok: "ok  ", warn: "!   ", bad: "BAD " } as const

/** Text of an account's `inBand`. */
const bandWords = { true: "in band", false: "OUT OF BAND", null: "no balance seen" }

/** The status as text. Without a daemon the headline has no sign: the database alone does not prove health. */
export const viewText = (view: View, isRunning = true): string => {
  const seen = [...new Set(view.accounts.map(({ observation }) => observationText(observation)))]
  const accounts = view.accounts.map((a) => [
    `  ${a.party}`,
    `${a.balance} ${a.asset}`,
    a.levels.length === 0 ? "" : bandWords[String(a.inBand) as keyof typeof bandWords],
    a.levels.map((l) => `${l.name} ${l.value}${l.trial ? " (on trial)" : ""}`).join("  "),
    ...(seen.length === 1 ? [] : [observationText(a.observation)]),
  ])
  const rules = view.rules.map((r) => [
    `  ${r.name}`,
    r.subject,
    r.fires?.toUpperCase() ?? (r.trial ? "on trial" : ruleWord(r)),
    r.reading,
  ])
  const limits = view.policy.map((p) => [`  ${p.text}`, `${p.used} of ${p.limit}`, `${p.transfers} transfers`, p.free])
  const { accepted, refused, lost } = view.acceptance
  return [
    `${isRunning ? signs[view.sentence.severity] : "    "}${view.sentence.text}`,
    `    ${view.treasury}, mode ${view.mode}, ${gatewaysText(view.network)}, block ${view.height}, chain ${view.network.chainId}`,
    ...acceptedText(view),
    ...conditionsText(view.conditions),
    ...(accounts.length > 0 ? [seen.length === 1 ? `accounts, ${seen[0]}` : "accounts", table(accounts)] : []),
    ...(rules.length > 0 ? ["rules", table(rules)] : []),
    ...(view.intents.length > 0 ? ["payments (UTC)", intentsText(view.intents)] : ["payments", "  none yet"]),
    ...(limits.length > 0 ? ["limits, 24 h", table(limits)] : []),
    ...pastText(view),
    `submissions in 24 h: ${accepted} accepted, ${refused} refused, ${lost} without an answer; journal ${view.journal.seq}, head ${view.journal.head.slice(0, 8)}`,
  ].join("\n")
}

/** The conditions behind the worst one, whose text is the headline. */
const conditionsText = ([, ...others]: View["conditions"]): ReadonlyArray<string> => {
  const rows = others.map(({ name, severity, text, remedy }) => [`  ${signs[severity]}${name}`, `${text}; ${remedy}`])
  return rows.length === 0 ? [] : ["also", table(rows)]
}

/** Text for operators who did not sign: terms that a person put in force without them, or is about to. */
const acceptedText = ({ accepted }: View): ReadonlyArray<string> => {
  if (accepted === null) return []
  const { hash, author, reason, at, inForceAt } = accepted
  const since =
    inForceAt === null
      ? 'in force after one hour unless somebody halts: "cofferer halt --reason TEXT"'
      : `in force since ${inForceAt}`
  return [`terms ${hash.slice(0, 8)} accepted without operators by ${author} at ${at}: ${reason}; ${since}`]
}

/** Age, block and source of a balance. */
const observationText = (seen: View["accounts"][number]["observation"]): string =>
  seen === null ? "never seen" : `${ageText(seen.ageSeconds)}, block ${seen.block}, from ${seen.source}`

/** Lost ranges of the past, and those being read. */
const pastText = ({ gaps, backfills }: View): ReadonlyArray<string> => {
  const time = (iso: string) => iso.slice(0, 19).replace("T", " ")
  const rows = [
    ...gaps.map((g) => [`  ${time(g.since)}`, time(g.until), `lost: ${g.cause}`]),
    ...backfills.map((b) => [
      `  ${time(b.since)}`,
      time(b.until),
      `${Math.floor(b.share * 100)} % read, now at ${time(b.next)}`,
    ]),
  ]
  return rows.length === 0 ? [] : ["past (UTC)", table(rows)]
}

/** Gateways with their states, and how many must agree. */
const gatewaysText = ({ gateways, quorum }: View["network"]): string => {
  const each = gateways.map(({ name, state }) => (state === "up" || state === "unknown" ? name : `${name} (${state})`))
  return gateways.length === 1 ? `gateway ${each[0]}` : `gateways ${each.join(", ")}, ${quorum} of them must agree`
}

/** Payments, one a line. */
export const intentsText = (intents: ReadonlyArray<IntentView>): string =>
  table(
    intents.map((i) => [
      `  ${i.short}`,
      i.state,
      i.amount,
      `${i.from} -> ${i.to}`,
      i.createdAt.slice(0, 19).replace("T", " "),
      i.rule,
      i.note ?? i.heldBy[0] ?? "",
    ]),
  )

interface StatusChosen {
  readonly output: Output
  readonly fail: boolean
}

const flags = {
  fail: switchFlag("fail", "Exit 8 unless the treasury is healthy"),
  live: switchFlag("live", "Only ask whether the daemon answers; exit 4 if none runs"),
  ...commonFlags,
}

/**
 * The view of the store, the process elsewhere that runs its treasury, if any, the files of its last start, and where
 * it was moved.
 */
const readElsewhere = Effect.gen(function* () {
  const mark = yield* (yield* Settings).get(movedKey)
  const moved = mark && markOf([[mark]])?.text
  return { ...(yield* readView()), holder: yield* leaseHolder, files: yield* lastFiles, moved }
})

type Elsewhere = Pick<Effect.Success<typeof readElsewhere>, "sentence" | "holder" | "files" | "moved">

/** The headline where no daemon runs here, in place of that of the store. */
const headlineOf = (chosen: Chosen, { sentence, holder, files, moved }: Elsewhere): View["sentence"] =>
  holder === undefined
    ? {
        severity: "bad",
        text: `No daemon runs: ${moved ?? `nothing is decided, sent or watched; start it: "${runCommand(chosen, files)}"`}`,
      }
    : { ...sentence, text: `${holder.name} runs it since ${new Date(holder.since).toISOString()}. ${sentence.text}` }

const Unready = Schema.fromJsonString(
  Schema.Struct({ treasury: Schema.String, store: Schema.String, remedy: Schema.String }),
)

/**
 * The headline where a daemon waits for its store to take writes; undefined where none does. It has no socket then, and
 * answers at the page's address alone.
 */
const waitingIn = Effect.fnUntraced(
  function* (chosen: Chosen, dataDir: string) {
    const found = yield* storedSetup(chosen, dataDir)
    const written = (yield* Effect.try(() => readFileSync(join(dataDir, addressFile), "utf8"))).trim()
    const [host, port, path = "/"] = written.split(" ")
    const { text } = yield* exchange({ host, port, path: `${path}readyz`, timeout: 2_000 })
    const { treasury, store: reason, remedy } = yield* Schema.decodeEffect(Unready)(text)
    // The address is the one of the last start: another treasury's daemon may have it now.
    if (treasury !== found.treasury.name) return undefined
    const { detail } = alertOf("store_unwritable", { reason, remedy })
    return { severity: "bad", text: `A daemon waits at ${host}:${port}: ${detail}` } as const
  },
  Effect.orElseSucceed(() => undefined),
)

/** The headline of each treasury of a folder, the worst first. */
const statusOfAll = Effect.fnUntraced(function* (dir: string, { output, fail }: StatusChosen) {
  const rows = yield* Effect.forEach(
    yield* eachTreasury(dir),
    ({ name, chosen }) =>
      Effect.gen(function* () {
        const dataDir = yield* dataDirOf(chosen)
        const answer = yield* askDaemon(dataDir, "/api/v1/status")
        if (answer !== undefined) return { treasury: name, ...((yield* bodyOf(answer)) as View).sentence }
        const waiting = yield* waitingIn(chosen, dataDir)
        if (waiting !== undefined) return { treasury: name, ...waiting }
        const found = yield* setup(chosen)
        const view =
          found.postgresUrlFile === undefined
            ? undefined
            : yield* Effect.provide(readElsewhere, storeLayer(found, "reader"))
        if (view?.holder !== undefined) return { treasury: name, ...headlineOf(chosen, view) }
        return { treasury: name, severity: "bad" as const, text: "no daemon runs it" }
      }).pipe(
        // One line for each treasury: "check" prints the rest.
        Effect.catch(({ message }) =>
          Effect.succeed({ treasury: name, severity: "bad" as const, text: message.split("\n", 1).join("") }),
        ),
      ),
    { concurrency: 8 },
  )
  const worst = rows.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))
  const named = dir === "." ? "" : `-c ${shellWord(dir)} `
  const hinted = (row: (typeof worst)[number]) =>
    withFlags(row.text, { place: `${named}--treasury ${shellWord(row.treasury)}`, hasOperators: false })
  yield* printResult(output, worst, () => table(worst.map((row) => [signs[row.severity], row.treasury, hinted(row)])))
  const bad = worst.filter(({ severity }) => severity !== "ok").length
  return fail && bad > 0 ? yield* failWith("unhealthy", `${bad} of ${worst.length} treasuries`) : undefined
})

export const status = Command.make(
  "status",
  flags,
  Effect.fn(function* (chosen) {
    const dir = severalIn(chosen)
    if (dir !== undefined && Option.isNone(chosen.treasury) && Option.isNone(chosen.data)) {
      return yield* statusOfAll(dir, chosen)
    }
    const dataDir = yield* dataDirOf(chosen)
    if (chosen.live) {
      const alive = yield* askDaemon(dataDir, "/api/v1/live")
      if (alive === undefined) return yield* notRunning(chosen, dataDir)
      return yield* printResult(chosen.output, yield* bodyOf(alive), () => "live")
    }
    const answer = yield* Effect.result(throughDaemon(chosen, "/api/v1/status", () => readElsewhere, { dataDir }))
    const isHere = Result.isSuccess(answer) && answer.success.running
    const waiting = isHere ? undefined : yield* waitingIn(chosen, dataDir)
    if (Result.isFailure(answer)) {
      if (waiting === undefined) return yield* answer.failure
      yield* printResult(chosen.output, { running: false, sentence: waiting }, () => signs.bad + waiting.text)
      return chosen.fail ? yield* failWith("unhealthy", waiting.text) : undefined
    }
    const { body } = answer.success
    const { holder, files: _, moved: __, ...view } = body
    const sentence = isHere ? view.sentence : (waiting ?? headlineOf(chosen, body))
    const running = isHere || holder !== undefined
    yield* printResult(chosen.output, { running, ...view, sentence }, () =>
      running
        ? viewText({ ...view, sentence })
        : `${signs.bad}${sentence.text}. Its database says:\n${viewText(view, false)}`,
    )
    if (chosen.fail && sentence.severity !== "ok") {
      return yield* failWith("unhealthy", running || waiting !== undefined ? sentence.text : "no daemon runs")
    }
    return undefined
  }),
).pipe(Command.withDescription("Print the treasury's status"))
