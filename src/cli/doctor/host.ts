import { existsSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { Effect, Layer, Logger, Result } from "effect"
import { isThere, readSecrets } from "../../config/files.ts"
import { examineDataDir, refuseMarkFolder } from "../../config/ownFiles.ts"
import type { Treasury } from "../../config/Treasury.ts"
import { type Problem, problemWithPlace } from "../../config/yaml/ConfigError.ts"
import { conditionTable } from "../../http/conditionTable.ts"
import { addressSetting } from "../../http/StatusServer.ts"
import type { Found, View } from "../../http/View.ts"
import { storeLayer } from "../../layers.ts"
import { reachReceiver } from "../../notify/Notifier.ts"
import { databaseFile } from "../../store/database/Database.ts"
import { bytesText, DiskSpace, enoughSpace } from "../../store/database/DiskSpace.ts"
import { Settings } from "../../store/database/Settings.ts"
import { checkKeys, looseSecrets } from "../checks.ts"
import { askDaemon, bodyOf } from "../common/client.ts"
import type { Setup } from "../common/setup.ts"

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)

export const keyFindings = Effect.fnUntraced(function* (setup: Setup) {
  const checked = yield* Effect.result(checkKeys(setup, true))
  if (Result.isFailure(checked)) return problemsAs("keys", "bad", checked.failure.problems)
  const { warnings, matching } = checked.success
  const names = matching.join(", ")
  const sound = names === "" ? "no party has a signer" : `private and public keys of ${names} match`
  const isShown = names !== "" || warnings.length === 0
  return [...problemsAs("keys", "warn", warnings), ...(isShown ? [healthy("keys", sound)] : [])]
})

/** The directory, or the nearest existing one above it, in which a start would make it. */
const nearestExisting = (dir: string): string =>
  isThere(dir) || dirname(dir) === dir ? dir : nearestExisting(dirname(dir))

/** Error code of a real write to the directory; undefined if it was taken. */
const writeProbe = (dir: string): string | undefined => {
  const file = join(dir, `.cofferer-doctor-${process.pid}`)
  try {
    writeFileSync(file, Buffer.alloc(65_536), { flag: "wx", mode: 0o600, flush: true })
    rmSync(file)
    return undefined
  } catch (error) {
    // A full disk may have taken a part of it.
    if (existsSync(file)) rmSync(file)
    return codeOf(error)
  }
}

/** A disk, quota or limit that takes no more bytes. */
const fullDiskCodes: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT", "EFBIG"])

/** Permissions of files with secrets, and permissions and room of the data directory, by a real write. */
export const dataDirFindings = Effect.fnUntraced(function* (setup: Setup) {
  const { treasury, dataDir } = setup
  const existing = nearestExisting(dataDir)
  const code = writeProbe(existing)
  const examined = yield* Effect.result(
    Effect.all([
      existing === dataDir ? examineDataDir(dataDir, false) : Effect.void,
      refuseMarkFolder(treasury.watermarkFile),
    ]),
  )
  const findings: Array<DoctorFinding> = [...problemsAs("permissions", "warn", looseSecrets(setup))]
  if (Result.isFailure(examined)) findings.push(...problemsAs("permissions", "bad", examined.failure.problems))
  else if (code !== undefined && !fullDiskCodes.has(code)) {
    const remedy = "name a directory of this user in --data or store.dir, on a file system that takes writes"
    findings.push(bad("permissions", `Nothing can be written to ${existing} (${code})`, remedy))
  } else
    findings.push(
      healthy("permissions", `${dataDir} is this user's alone${existing === dataDir ? "" : ", once a start makes it"}`),
    )
  const room = yield* Effect.provide(
    Effect.flatMap(DiskSpace, (space) => space.room),
    DiskSpace.layer(existing),
  )
  const at = new Date(0).toISOString()
  const halts = fullDiskCodes.has(code) ? [{ reason: "disk_full", detail: "", at }] : []
  const disk = { dir: existing, free: room.free, low: enoughSpace(room) }
  const free = room.free === undefined ? "free space unknown" : `${bytesText(room.free)} free`
  findings.push(
    conditionFinding("disk", conditionTable.low_disk({ disk, halts })) ?? healthy("disk", `${free} under ${existing}`),
  )
  return findings
})

/** Error code of listening at the address; undefined if it is free. */
const listenProbe = (host: string, port: number) =>
  Effect.callback<string | undefined>((resume) => {
    const server = createServer()
    server.on("error", (error) => resume(Effect.succeed(codeOf(error))))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resume(Effect.undefined)))
  })

/** Checks that the addresses of the page and of the metrics are free, or used by this treasury's daemon. */
export const portFindings = Effect.fnUntraced(function* ({ listen, metrics, isOneOfMany }: Setup, isRunning: boolean) {
  const setting = (name: string) => `${addressSetting(name, isOneOfMany)} or COFFERER_${name.toUpperCase()}`
  const uses = [
    { ...listen, use: "the page and the metrics", setting: setting("listen") },
    ...(metrics === undefined ? [] : [{ ...metrics, use: "the metrics", setting: setting("metrics") }]),
  ]
  return yield* Effect.forEach(uses, ({ host, port, use, setting }) =>
    Effect.map(listenProbe(host, port), (code) => {
      const address = `${host}:${port}`
      if (code === undefined) return healthy("port", `${address} is free for ${use}`)
      if (code === "EADDRINUSE" && isRunning)
        return healthy("port", `${address} is in use, and this treasury's daemon runs`)
      const remedy = `set ${setting} to a free address of this host`
      if (code !== "EADDRINUSE") return bad("port", `Nothing can listen at ${address} (${code})`, remedy)
      const stop = `"ss -ltnp" names it: stop it, or ${remedy}`
      return isOneOfMany
        ? warn(
            "port",
            `${address} is in use, and this treasury does not run`,
            `unless its process runs the others, ${stop}`,
          )
        : bad("port", `${address} is taken by another process`, stop)
    }),
  )
})

/** Wire form of transactions: configured, or learned from the last payment that the chain executed. */
export const wireFormFinding = Effect.fnUntraced(function* (found: Setup, isRunning: boolean) {
  const { framing, chainId } = found.treasury.network
  const hasDatabase = found.postgresUrlFile !== undefined || existsSync(join(found.dataDir, databaseFile))
  const canRead = !isRunning && hasDatabase
  const read = canRead
    ? yield* Settings.pipe(
        Effect.flatMap((settings) => settings.framing(chainId)),
        Effect.provide(Layer.merge(storeLayer(found, "reader"), Logger.layer([]))),
        Effect.result,
      )
    : Result.succeed(undefined)
  if (Result.isFailure(read)) {
    const { postgresUrlFile: file } = found
    const remedy =
      file === undefined ? "stop the process that uses it, or restore it" : `correct ${file}, or start its server`
    return bad("wire_form", `The database cannot be read: ${read.failure.message}`, remedy)
  }
  const known = read.success
  if (framing === "auto") {
    return healthy(
      "wire_form",
      known === undefined ? "auto: learned from the first payment" : `auto: ${known}, as last executed`,
    )
  }
  if (known === undefined || known === framing) return healthy("wire_form", `${framing}, as configured`)
  const remedy = `write network.framing: ${known}, or leave it out`
  return bad("wire_form", `network.framing is ${framing}, and ${chainId} executes the form ${known}`, remedy)
})

/** Connects to each receiver; nothing is sent. */
export const receiverFindings = Effect.fnUntraced(function* ({ receivers }: Treasury) {
  const findings = yield* Effect.forEach(
    receivers,
    (receiver) =>
      Effect.flatMap(readSecrets(receiver), reachReceiver).pipe(
        Effect.as([healthy("receivers", `${receiver.name} can be reached`)]),
        Effect.catchTags({
          ConfigError: ({ problems }) => Effect.succeed(problemsAs("receivers", "bad", problems)),
          NotifyError: ({ message }) => {
            const remedy = "correct alerts.receivers, or the network to it: until then its alerts wait"
            return Effect.succeed([bad("receivers", `Receiver ${message}`, remedy)])
          },
        }),
      ),
    { concurrency: 4 },
  )
  return findings.flat()
})

/** Conditions of a daemon that runs on the data directory; undefined where none does. */
export const daemonFindings = Effect.fnUntraced(function* (dataDir: string) {
  const answer = yield* askDaemon(dataDir, "/api/v1/status")
  if (answer === undefined) return undefined
  const { conditions, mode } = (yield* bodyOf(answer)) as Pick<View, "conditions" | "mode">
  return conditions.length === 0
    ? [healthy("daemon", `runs in mode ${mode}, and is healthy`)]
    : conditions.map((condition): DoctorFinding => conditionFinding("daemon", condition)!)
})

/** Subjects that `doctor` examines, in the order in which it prints them. */
export const doctorChecks = [
  "chain",
  "gateway",
  "clock",
  "assets",
  "work",
  "keys",
  "permissions",
  "disk",
  "port",
  "wire_form",
  "receivers",
  "daemon",
] as const
type DoctorCheck = (typeof doctorChecks)[number]

/** Result of one check. `bad` prevents payments or alerts, `warn` may. */
export interface DoctorFinding {
  readonly check: DoctorCheck
  readonly severity: "ok" | "warn" | "bad"
  readonly text: string
  /** The fix; null where nothing is wrong. */
  readonly remedy: string | null
}

export const healthy = (check: DoctorCheck, text: string): DoctorFinding => {
  return { check, severity: "ok", text, remedy: null }
}

const fault =
  (severity: "warn" | "bad") =>
  (check: DoctorCheck, text: string, remedy: string): DoctorFinding => ({ check, severity, text, remedy })
export const warn = fault("warn")
export const bad = fault("bad")

/** A condition that holds, as a finding. */
export const conditionFinding = (check: DoctorCheck, condition: Found | undefined): DoctorFinding | undefined =>
  condition && fault(condition.severity)(check, condition.text, condition.remedy)

/** Problems of files, as findings. */
export const problemsAs = (
  check: DoctorCheck,
  severity: "warn" | "bad",
  problems: ReadonlyArray<Problem>,
): ReadonlyArray<DoctorFinding> =>
  problems.map((problem) => fault(severity)(check, problemWithPlace(problem), problem.remedy))
