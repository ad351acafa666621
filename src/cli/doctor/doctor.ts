import { Clock, Effect, Layer, Result } from "effect"
import { Command } from "effect/cli"
import { isEmbedded, type Treasury } from "../../config/Treasury.ts"
import type { ConfigError } from "../../config/yaml/ConfigError.ts"
import { millisOf } from "../../domain/Time.ts"
import { GatewayError, ifSupported } from "../../gateway/GatewayError.ts"
import { type Gateway, Gateways } from "../../gateway/Gateways.ts"
import { walkAssets } from "../../gateway/walkPages.ts"
import { conditionTable } from "../../http/conditionTable.ts"
import { gatewayLayer } from "../../layers.ts"
import { ProofOfWork } from "../../pow/ProofOfWork.ts"
import { clockGap, wrongClock } from "../../rules/checks/wrongClock.ts"
import { blockMillis } from "../../store/balances/Observations.ts"
import { checkGateway, gatewayWaitMillis } from "../checks.ts"
import { withLastFiles } from "../common/client.ts"
import { failWith, printResult } from "../common/output.ts"
import { commonFlags, fileArgument, setup } from "../common/setup.ts"
import { layerMetrics } from "../run/logging.ts"
import {
  bad,
  conditionFinding,
  type DoctorFinding,
  daemonFindings,
  dataDirFindings,
  doctorChecks,
  healthy,
  keyFindings,
  portFindings,
  problemsAs,
  receiverFindings,
  warn,
  wireFormFinding,
} from "./host.ts"

const signs = { ok: "ok  ", warn: "warn", bad: "BAD " } as const

const linesOf = ({ check, severity, text, remedy }: DoctorFinding): ReadonlyArray<string> => {
  const indent = " ".repeat(18)
  return [
    `${signs[severity]}  ${check.replaceAll("_", " ").padEnd(13)}${text}`,
    ...(remedy === null ? [] : [`${indent}fix: ${remedy}`]),
  ]
}

export const doctor = Command.make(
  "doctor",
  { file: fileArgument, ...commonFlags },
  Effect.fn(function* (chosen) {
    const found = yield* setup(yield* withLastFiles(chosen))
    const daemon = yield* daemonFindings(found.dataDir).pipe(
      Effect.catch(({ message }) => Effect.succeed([warn("daemon", message, "stop it and start it again")])),
    )
    const isRunning = daemon !== undefined
    const parts = yield* Effect.all([
      networkFindings(found.treasury),
      keyFindings(found),
      dataDirFindings(found),
      portFindings(found, isRunning),
      Effect.map(wireFormFinding(found, isRunning), (one) => [one]),
      receiverFindings(found.treasury),
    ])
    const order = (one: DoctorFinding): number => doctorChecks.indexOf(one.check)
    const findings = [
      ...parts.flat(),
      ...(daemon ?? [healthy("daemon", `no daemon runs in ${found.dataDir}`)]),
    ].toSorted((a, b) => order(a) - order(b))
    const failed = findings.filter(({ severity }) => severity === "bad").length
    yield* printResult(chosen.output, { file: found.treasury.file, ok: failed === 0, findings }, () =>
      findings.flatMap(linesOf).join("\n"),
    )
    if (failed > 0) return yield* failWith("unhealthy", `${failed} of ${findings.length} checks failed`)
    return undefined
  }),
).pipe(
  Command.withDescription(
    "Check clock, disk, permissions, port, gateways, keys and receivers, with a fix for each finding",
  ),
)

/** The present answers of one gateway. */
const readGateway = (gateway: Gateway) =>
  Effect.gen(function* () {
    const head = yield* gateway.head
    const assets = yield* ifSupported(walkAssets(gateway))
    return { head, mark: assets?.mark, at: yield* Clock.currentTimeMillis }
  }).pipe(
    Effect.timeoutOrElse({
      duration: gatewayWaitMillis,
      orElse: () => {
        const reason = { _tag: "Timeout", afterMillis: gatewayWaitMillis } as const
        return Effect.fail(new GatewayError({ gateway: gateway.name, operation: "height", reason }))
      },
    }),
    Effect.result,
    Effect.map((read) => ({ name: gateway.name, read })),
  )

type Reading = Effect.Success<ReturnType<typeof readGateway>>

/** The gateway as the page would show it. */
const viewOf = ({ name, read }: Reading) => {
  if (Result.isSuccess(read)) {
    const height = String(read.success.head.height)
    return { name, state: "up", isHeard: true, height, detail: "", otherChain: null, aheadSeconds: null }
  }
  const { reason, message } = read.failure
  const otherChain = reason._tag === "OtherChain" ? reason.chainId : null
  return { name, state: "down", isHeard: false, height: null, detail: message, otherChain, aheadSeconds: null }
}

const clockFinding = (readings: ReadonlyArray<Reading>, maxAgeMillis: number): DoctorFinding => {
  const timed = readings.flatMap(({ name, read }) =>
    Result.isSuccess(read) && read.success.mark !== undefined
      ? [{ name, at: read.success.at, blockAt: millisOf(read.success.mark.timestamp) }]
      : [],
  )
  const newest = timed.toSorted((a, b) => b.blockAt - a.blockAt)[0]
  if (newest === undefined) {
    return warn(
      "clock",
      "No gateway reports the time of its blocks: the clock was not compared",
      "check NTP on this host",
    )
  }
  const ahead = timed.map(({ name, at, blockAt }) => ({ name, aheadMillis: blockAt - at }))
  const gap = clockGap(newest.at, newest.blockAt, maxAgeMillis)
  const condition = conditionTable.clock({ wrongClock: wrongClock(ahead, maxAgeMillis), gap })
  const seconds = (Math.abs(newest.at - newest.blockAt) / 1_000).toFixed(1)
  return (
    conditionFinding("clock", condition) ??
    healthy("clock", `${seconds} s from the newest block of gateway ${newest.name}`)
  )
}

/** Work of 124,880 hashes, about a tenth of a second. */
const sample = { blockHash: "0".repeat(64), tid: "0".repeat(64), difficulty: 16 }

const workFinding = (pow: { readonly difficulty: number; readonly pastBlocks: number }) =>
  Effect.gen(function* () {
    const { hashes, millis } = yield* (yield* ProofOfWork).solve(sample)
    const perMilli = Number(hashes) / millis
    const seconds = 2 ** pow.difficulty / perMilli / 1_000
    const windowSeconds = (pow.pastBlocks * blockMillis) / 1_000
    const text = `${(perMilli / 1_000).toFixed(1)} million hashes per second; difficulty ${pow.difficulty} takes about ${seconds.toPrecision(2)} s of a window of about ${windowSeconds} s`
    return seconds < windowSeconds / 2
      ? healthy("work", text)
      : bad(
          "work",
          `Proof of work is too slow: ${text}`,
          "run the daemon on a faster machine, or one with more free cores",
        )
  }).pipe(
    Effect.catchTag("PowError", ({ message }) =>
      Effect.succeed(
        bad(
          "work",
          `Proof of work failed: ${message}`,
          "run doctor again; if it stays so, reinstall with npm ci --ignore-scripts",
        ),
      ),
    ),
  )

/** Checks the gateways, their chain and assets, the clock against their blocks, and the proof of work they ask for. */
const networkFindings = Effect.fn("Doctor.network")(
  function* (treasury: Treasury) {
    const { network } = treasury
    const gateways = yield* Gateways
    const readings = yield* Effect.forEach(gateways.all, readGateway, { concurrency: "unbounded" })
    const views = readings.map(viewOf)
    const up = readings.flatMap(({ read }) => (Result.isSuccess(read) ? [read.success] : []))
    if (up.length === 0 && isEmbedded(treasury)) {
      return [healthy("gateway", `the file's own network ${network.chainId} runs with "cofferer run --sandbox"`)]
    }
    const facts = { network: { ...network, gateways: views }, halts: [] }
    const names = views.filter(({ state }) => state === "up").map(({ name, height }) => `${name} at block ${height}`)
    const findings: Array<DoctorFinding> = [
      conditionFinding("chain", conditionTable.wrong_chain(facts)) ??
        (up.length === 0 ? undefined : healthy("chain", `${network.chainId}, as the file says`)),
      conditionFinding("gateway", conditionTable.gateway_down(facts)) ??
        (names.length === 0 ? undefined : healthy("gateway", `${names.join(", ")}; ${network.quorum} must agree`)),
    ].filter((one) => one !== undefined)
    const [first] = up
    if (first === undefined) return findings
    findings.push(clockFinding(readings, network.maxAgeMillis))
    if (names.length === gateways.all.length) findings.push(...(yield* assetFindings(treasury)))
    findings.push(yield* workFinding(first.head.pow))
    return findings
  },
  (effect, treasury) =>
    effect.pipe(
      Effect.provide(
        Layer.merge(gatewayLayer({ treasury }), ProofOfWork.layer).pipe(Layer.provide(layerMetrics(treasury))),
      ),
      // The file of a gateway's header cannot be read.
      Effect.catchTag("ConfigError", ({ problems }) => Effect.succeed(problemsAs("gateway", "bad", problems))),
    ),
)

const assetFindings = Effect.fnUntraced(function* (treasury: Treasury) {
  const compared = yield* Effect.result(checkGateway(treasury))
  if (Result.isFailure(compared)) return problemsAs("assets", "bad", (compared.failure satisfies ConfigError).problems)
  const { warnings, note } = compared.success
  if (note !== undefined) return [warn("assets", note, "compare ids and decimals by hand")]
  if (warnings.length > 0) return problemsAs("assets", "warn", warnings)
  return [healthy("assets", `${treasury.assets.size} pinned, with the ids and decimals that the gateway lists`)]
})
