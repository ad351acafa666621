import { accessSync, constants } from "node:fs"
import { isIP } from "node:net"
import { isLoopback } from "../schema/Fields.ts"
import { mapSecrets, type ReceiverConfig } from "../schema/Receivers.ts"
import type { TreasuryFile } from "../schema/TreasuryFile.ts"
import { nameRemedy } from "../yaml/decodeAll.ts"
import { needFile, type Reporter } from "../yaml/Reporter.ts"

type Severity = "page" | "ticket" | "info"

/** Which severities go to whom. */
export interface RouteConfig {
  readonly severities: ReadonlySet<Severity>
  readonly receivers: ReadonlyArray<string>
}

/** Receivers with absolute paths of their files, which are checked on disk, and the routes to them. */
export const resolveAlerts = (
  raw: TreasuryFile,
  report: Reporter,
): { readonly receivers: ReadonlyArray<ReceiverConfig>; readonly routes: ReadonlyArray<RouteConfig> } => {
  const receivers = Object.entries(raw.alerts?.receivers ?? { log: { log: {} } }).map(
    ([name, written]): ReceiverConfig => {
      const path = ["alerts", "receivers", name]
      checkEncrypted(written, path, report)
      const secrets = mapSecrets(
        written,
        (file, at) => {
          const full = report.path(file, at)
          needFile(full, at, report)
          return { file: full }
        },
        path,
      )
      const { command } = secrets
      return { name, ...secrets, ...(command === undefined ? {} : { command: runnable(command, path, report) }) }
    },
  )
  const names = receivers.map((r) => r.name)
  const all: ReadonlyArray<Severity> = ["page", "ticket", "info"]
  const routes = (raw.alerts?.routes ?? [{ severity: all, to: names }]).map((route, i): RouteConfig => {
    for (const [j, to] of route.to.entries()) {
      if (!names.includes(to)) {
        const remedy = nameRemedy(to, names, "add it under alerts.receivers")
        report.add(["alerts", "routes", i, "to", j], `"${to}" is no receiver`, remedy)
      }
    }
    return { severities: new Set(route.severity), receivers: route.to }
  })
  return { receivers, routes }
}

/** Alerts, and the secrets that go with them, cross no public network in the clear. */
const checkEncrypted = (written: Omit<ReceiverConfig, "name">, path: ReadonlyArray<string>, report: Reporter): void => {
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
    accessSync(program, constants.X_OK)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const message = code === "ENOENT" ? `no such file: ${program}` : `${program} cannot be run (${code})`
    report.add(at, message, "name a program that this process may run")
  }
  return { ...command, program }
}
