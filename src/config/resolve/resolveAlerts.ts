import { accessSync, constants } from "node:fs"
import { isIP } from "node:net"
import type { Severity } from "../../domain/alerts/CatalogueEntry.ts"
import { alertAfterMillis, type ConditionName, conditionNames } from "../../domain/alerts/healthConditions.ts"
import { durationMillis, isLoopback } from "../schema/Fields.ts"
import { mapSecrets, type ReceiverConfig } from "../schema/Receivers.ts"
import type { TreasuryFile } from "../schema/TreasuryFile.ts"
import { nameRemedy } from "../yaml/decodeAll.ts"
import { type Reporter, secretFile } from "../yaml/Reporter.ts"

/** Receivers of alerts of some severities. */
export interface RouteConfig {
  readonly severities: ReadonlySet<Severity>
  readonly receivers: ReadonlyArray<string>
  /** Further receivers of an alert that nobody acknowledges in time. */
  readonly escalate?: ReadonlyArray<{ readonly afterMillis: number; readonly receivers: ReadonlyArray<string> }>
}

/** Repetition, grouping, conditions and heartbeat. */
export interface AlertingConfig {
  /** Undefined: a lasting alert is sent once. */
  readonly repeatMillis: number | undefined
  readonly grouping: { readonly waitMillis: number; readonly intervalMillis: number }
  /** Milliseconds that a condition must hold before people are alerted; undefined: they are not. */
  readonly conditions: ReadonlyMap<AlertedName, number | undefined>
  readonly heartbeat: ReturnType<typeof resolveHeartbeat> | undefined
}

/** Conditions of health, and an alert that is not a condition. */
type AlertedName = ConditionName | "limit_used"

const defaults = { repeatInterval: "12h", group: "0s", heartbeat: "1m" }

/** Receivers with absolute paths of their files, which are checked on disk, and the routes to them. */
export const resolveAlerts = (raw: TreasuryFile, report: Reporter) => {
  const receivers = Object.entries(raw.alerts?.receivers ?? { log: { log: {} } }).map(
    ([name, written]): ReceiverConfig => {
      const path = ["alerts", "receivers", name]
      checkEncrypted(written, path, report)
      const secrets = mapSecrets(written, (file, at) => ({ file: secretFile(file, at, report) }), path)
      const { command } = secrets
      return { name, ...secrets, ...(command === undefined ? {} : { command: runnable(command, path, report) }) }
    },
  )
  const names = receivers.map((r) => r.name)
  const all: ReadonlyArray<Severity> = ["page", "ticket", "info"]
  const routes = (raw.alerts?.routes ?? [{ severity: all, to: names }]).map((route, i): RouteConfig => {
    const path = ["alerts", "routes", i]
    checkNames(route.to, names, [...path, "to"], report)
    const escalate = (route.escalate ?? []).map(({ after, to }, k) => {
      checkNames(to, names, [...path, "escalate", k, "to"], report)
      return { afterMillis: durationMillis(after), receivers: to }
    })
    return { severities: new Set(route.severity), receivers: route.to, ...(escalate.length > 0 ? { escalate } : {}) }
  })
  return { receivers, routes, alerting: resolveAlerting(raw.alerts, report) }
}

const checkNames = (
  used: ReadonlyArray<string>,
  names: ReadonlyArray<string>,
  path: ReadonlyArray<string | number>,
  report: Reporter,
): void => {
  for (const [j, to] of used.entries()) {
    if (names.includes(to)) continue
    report.add([...path, j], `"${to}" is not a receiver`, nameRemedy(to, names, "add it under alerts.receivers"))
  }
}

const resolveAlerting = (raw: TreasuryFile["alerts"], report: Reporter): AlertingConfig => {
  const {
    repeatInterval = defaults.repeatInterval,
    groupWait = defaults.group,
    groupInterval = defaults.group,
  } = raw ?? {}
  const alerted = [...conditionNames.filter((name) => alertAfterMillis(name) !== undefined), "limit_used"] as const
  const conditions = Object.entries(raw?.conditions ?? {}).flatMap(
    ([name, { after, alert }]): ReadonlyArray<readonly [AlertedName, number | undefined]> => {
      const condition = alerted.find((one) => one === name)
      if (condition === undefined) {
        const remedy = nameRemedy(name, alerted, "docs/operations.md lists them")
        report.add(["alerts", "conditions", name], `"${name}" is not a condition with an alert of its own`, remedy)
        return []
      }
      if (condition === "limit_used") return alert === "false" ? [[condition, undefined]] : []
      const millis = after === undefined ? alertAfterMillis(condition) : durationMillis(after)
      return [[condition, alert === "false" ? undefined : millis]]
    },
  )
  const repeatMillis = durationMillis(repeatInterval)
  return {
    repeatMillis: repeatMillis === 0 ? undefined : repeatMillis,
    grouping: { waitMillis: durationMillis(groupWait), intervalMillis: durationMillis(groupInterval) },
    conditions: new Map(conditions),
    heartbeat: raw?.heartbeat && resolveHeartbeat(raw.heartbeat, report),
  }
}

type HeartbeatText = NonNullable<NonNullable<TreasuryFile["alerts"]>["heartbeat"]>

const resolveHeartbeat = (written: HeartbeatText, report: Reporter) => {
  checkEncrypted({ heartbeat: written }, ["alerts"], report)
  const { url, every = defaults.heartbeat, allowPrivate } = written
  return {
    url: typeof url === "string" ? url : { file: secretFile(url.file, ["alerts", "heartbeat", "url", "file"], report) },
    everyMillis: durationMillis(every),
    allowPrivate: allowPrivate === "true",
  }
}

/** Reports receivers whose alerts and secrets would cross a public network unencrypted. */
const checkEncrypted = (written: object, path: ReadonlyArray<string>, report: Reporter): void => {
  for (const [kind, options] of Object.entries(written)) {
    if (typeof options !== "object") continue
    const { url, tls, host, allowPrivate } = options as Readonly<Record<string, unknown>>
    const at = url === undefined ? "tls" : "url"
    const parsed = typeof url === "string" ? URL.parse(url) : undefined
    const name = parsed?.protocol === "http:" ? parsed.hostname : tls === "none" ? String(host) : undefined
    if (name === undefined || allowPrivate === "true" || isLoopback(name) || isIP(name) !== 0) continue
    const message = `it is not encrypted on the way to ${name}`
    report.add([...path, kind, at], message, "encrypt it, or write allowPrivate: true where it stays in your network")
  }
}

const runnable = (
  command: NonNullable<ReceiverConfig["command"]>,
  path: ReadonlyArray<string>,
  report: Reporter,
): NonNullable<ReceiverConfig["command"]> => {
  const at = [...path, "command", "program"]
  const program = report.path(command.program, at)
  try {
    if (report.checksFiles) accessSync(program, constants.X_OK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const message = code === "ENOENT" ? `no such file: ${program}` : `${program} cannot be run (${code})`
    report.add(at, message, "name a program that this process may run")
  }
  return { ...command, program }
}
