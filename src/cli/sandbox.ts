import { join } from "node:path"
import { Clock, Effect, Layer, Option, Record, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { secureDataDir } from "../config/ownFiles.ts"
import { DurationText, durationMillis } from "../config/schema/Fields.ts"
import { faultKinds, kinds, operations, problemOfFault } from "../sandbox/Faults.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import { decodeScenario, type Scenario } from "../sandbox/Scenario.ts"
import { signedMillis } from "../sandbox/ScenarioText.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { failWith, printResult, table } from "./common/output.ts"
import { askSandbox, sandboxDir, urlFlag } from "./common/sandboxClient.ts"
import {
  commonFlags,
  configFlag,
  dataFlag,
  fileArgument,
  optionalInt,
  optionalOf,
  optionalText,
  type Setup,
  setup,
  switchFlag,
} from "./common/setup.ts"
import { linesFlag, loggingLayer } from "./run/logging.ts"

/** An armed fault as the network reports it. */
const Armed = Schema.Struct({
  id: Schema.Int,
  operation: Schema.String,
  kind: Schema.String,
  hits: Schema.Int,
  detail: Schema.String,
})

const shared = { url: urlFlag, ...commonFlags }

const path = "/sandbox/faults"

/** Describes in a few words the effect of a kind on an answer. */
const describeKind = (kind: (typeof faultKinds)[number]): string =>
  `the answer ${kinds[kind].says({ operation: "any", ...samples })}`

/** Sample values for the parameters of a kind. */
const samples = { status: 503, delayMillis: 2_000, skewMillis: -90_000, chainId: "other-1" } as const

/** The flag of each key that a kind may need. */
const flagOf = {
  status: "--status",
  delayMillis: "--delay",
  skewMillis: "--skew",
  chainId: "--chain-id",
} as const

const list = Command.make(
  "list",
  shared,
  Effect.fn(function* (chosen) {
    const body = yield* askSandbox(chosen, { method: "GET", path })
    const { faults: armed } = yield* Schema.decodeUnknownEffect(Schema.Struct({ faults: Schema.Array(Armed) }))(body)
    const known = faultKinds.map((kind) => {
      const { hits, needs } = kinds[kind]
      return { kind, hits, needs: needs === undefined ? null : flagOf[needs], detail: describeKind(kind) }
    })
    const text = () =>
      [
        armed.length === 0 ? "no fault is armed" : "armed",
        ...(armed.length === 0 ? [] : [table(armed.map((f) => [`  ${f.id}`, f.kind, f.detail, `hit ${f.hits}`]))]),
        "",
        'kinds, each for "sandbox fault arm", with the paths that they can hit and the flag that they need',
        table(known.map(({ kind, hits, needs, detail }) => [`  ${kind}`, hits, needs ?? "-", detail])),
      ].join("\n")
    return yield* printResult(chosen.output, { armed, kinds: known }, text)
  }),
).pipe(Command.withDescription("List the armed faults and all kinds of faults"))

const armFlags = {
  operation: Flag.Literals("operation", [...operations, "any"]).pipe(
    Flag.withDescription("Request that the fault affects; default any"),
    Flag.withDefault("any" as const),
  ),
  rate: Flag.Finite("rate").pipe(
    Flag.withDescription("Probability that the fault hits a request: more than 0, at most 1; default 1"),
    Flag.optional,
  ),
  count: optionalInt("count", "End the fault after this many hits; default: no limit"),
  for: optionalOf("for", DurationText, "End the fault after this time, such as 30s; default: no limit"),
  status: optionalInt("status", "For http_status: the status code: 403, 429, 500, 502, 503 or 504"),
  effect: switchFlag("effect", "For http_status: the network still performs the request"),
  delay: optionalOf("delay", DurationText, "For delay: how much later the answer comes, such as 2s"),
  blocks: optionalInt("blocks", "For old reads and late_broadcast: number of blocks, 1 to 500; default 3"),
  skew: optionalText("skew", "For clock_skew: how much the clock is fast, --skew=90s, or slow, --skew=-90s"),
  code: optionalInt("code", "For lying_failure and late_broadcast: the reported code; default 70"),
  chainId: optionalText("chain-id", "For chain_id_change: the new chain id"),
}

const millis = Option.map(durationMillis)

/** Flags that only some kinds take, by the key of a fault. */
const ownFlags = { ...flagOf, effect: "--effect", blocks: "--blocks", code: "--code" } as const

/** Fails if a flag does not apply to the kind: the fault would be another one than the call says. */
const refuseStray = (kind: keyof typeof kinds, body: Readonly<Record<string, unknown>>) => {
  const { needs, may = [] } = kinds[kind]
  const own: ReadonlyArray<string> = needs === undefined ? may : [needs, ...may]
  const stray = Record.toEntries(ownFlags).flatMap(([key, flag]) => (key in body && !own.includes(key) ? [flag] : []))
  return stray.length === 0 ? Effect.void : failWith("usage", `${kind} does not take ${stray.join(", ")}: leave it out`)
}

const skewIn = (text: string) => {
  const skew = signedMillis(text)
  const problem = `--skew ${text} is not a duration; write one such as --skew=-90s`
  return Number.isNaN(skew) ? failWith("usage", problem) : Effect.succeed(skew)
}

const arm = Command.make(
  "arm",
  {
    kind: Argument.Literals("kind", faultKinds).pipe(
      Argument.withDescription("Kind of the fault; sandbox fault list prints all kinds"),
    ),
    ...armFlags,
    ...shared,
  },
  Effect.fn(function* (chosen) {
    const { kind, operation, rate, count, status, effect, blocks, code, chainId } = chosen
    const [durationMillis, delayMillis] = [millis(chosen.for), millis(chosen.delay)]
    const body = {
      kind,
      operation,
      ...(effect ? { effect } : {}),
      ...(Option.isSome(chosen.skew) ? { skewMillis: yield* skewIn(chosen.skew.value) } : {}),
      ...Record.getSomes<string, unknown>({ rate, count, durationMillis, status, delayMillis, blocks, code, chainId }),
    }
    yield* refuseStray(kind, body)
    const problem = problemOfFault(body)
    if (problem !== undefined) return yield* failWith("usage", `${problem.message}: ${flagsOf(problem.remedy)}`)
    const answer = yield* askSandbox(chosen, { method: "POST", path, body })
    const { fault } = yield* Schema.decodeUnknownEffect(Schema.Struct({ fault: Armed }))(answer)
    return yield* printResult(chosen.output, answer, () => `armed ${fault.id}: ${fault.detail}`)
  }),
).pipe(Command.withDescription("Start a fault"))

/** "write delay: 2s, or delayMillis in JSON" in the words of the command line. */
const flagsOf = (remedy: string): string =>
  remedy
    .replace(/, or \w+ in JSON$/, "")
    .replace(/write (\w+): one of/, "write --$1 with one of")
    .replace(/write (\w+): /, (_, key: string) => `write --${key === "chainId" ? "chain-id" : key}=`)

const clear = Command.make(
  "clear",
  {
    id: Argument.Int("id").pipe(
      Argument.withDescription("Number of the fault, as sandbox fault list shows it; default all"),
      Argument.optional,
    ),
    ...shared,
  },
  Effect.fn(function* (chosen) {
    const one = Option.map(chosen.id, (id) => `${path}/${id}`)
    const answer = yield* askSandbox(chosen, { method: "DELETE", path: Option.getOrElse(one, () => path) })
    const { gone } = yield* Schema.decodeUnknownEffect(Schema.Struct({ gone: Schema.Int }))(answer)
    return yield* printResult(chosen.output, { gone }, () => `${gone === 0 ? "no fault was armed" : `cleared ${gone}`}`)
  }),
).pipe(Command.withDescription("End one fault, or all"))

const sandboxFault = Command.make("fault").pipe(
  Command.withDescription("Faults of the play-money network"),
  Command.withSubcommands([list, arm, clear]),
)

const networkLayer = ({ dataDir }: Pick<Setup, "dataDir">, scenario: Scenario, portBusy: "free" | "error") =>
  Sandbox.layer({ scenario, dir: join(dataDir, sandboxDir), portBusy, clock: "real" })

/** Runs `use` beside the embedded network, once that listens on its port or, if it is taken, on a free one. */
export const withSandbox = Effect.fnUntraced(function* <A, E, R>(
  found: Setup,
  use: (sandbox: Sandbox["Service"]) => Effect.Effect<A, E, R>,
) {
  const scenario = yield* decodeScenario(found.treasury.document, found.treasury.network.chainId)
  yield* Effect.gen(function* () {
    const sandbox = yield* Sandbox
    const { port } = scenario.listen
    if (port !== 0 && sandbox.port !== port) {
      const elsewhere = `port ${port} is taken: the network is at ${sandbox.url} for as long as it runs`
      yield* logEvent("sandbox port taken", { reason: `${elsewhere}, and other programs do not find it there` })
    }
    yield* Effect.raceFirst(use(sandbox), sandbox.join)
  }).pipe(Effect.provide(networkLayer(found, scenario, "free")))
})

const flags = { file: fileArgument, config: configFlag, data: dataFlag, output: linesFlag }

export const sandboxCommand = Command.make(
  "sandbox",
  flags,
  Effect.fn(function* (chosen) {
    const startedAt = yield* Clock.currentTimeMillis
    const found = yield* setup(chosen)
    const { chainId } = found.treasury.network
    const scenario = yield* decodeScenario(found.treasury.document, chainId)
    yield* secureDataDir(found.dataDir)
    return yield* Effect.gen(function* () {
      const sandbox = yield* Sandbox
      yield* logEvent("sandbox listening", { chainId, urls: [sandbox.url] })
      return yield* sandbox.join
    }).pipe(
      Effect.provide(
        Layer.provideMerge(networkLayer(found, scenario, "error"), loggingLayer(found, chosen.output, startedAt)),
      ),
    )
  }),
).pipe(
  Command.withDescription("Run the play-money network that the file's sandbox section describes"),
  Command.withSubcommands([sandboxFault]),
)
