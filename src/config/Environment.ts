import type { Writable } from "node:stream"
import type { WriteStream } from "node:tty"
import { Context, Effect } from "effect"
import { listenForm } from "./schema/Fields.ts"
import type { Mode } from "./Treasury.ts"
import { type ConfigError, configProblem } from "./yaml/ConfigError.ts"
import { nameRemedy } from "./yaml/decodeAll.ts"

const modes: ReadonlyArray<Mode> = ["observe", "shadow", "live"]

/** All variables, with the forms of their texts. */
const forms: ReadonlyArray<readonly [name: string, form: RegExp, remedy: string]> = [
  ["COFFERER_DATA_DIR", /./, "name a folder, or unset it"],
  ["COFFERER_LISTEN", listenForm, 'write host:port, such as "127.0.0.1:9464"'],
  ["COFFERER_METRICS", listenForm, 'write host:port, such as "127.0.0.1:9465"'],
  ["COFFERER_LOG_LEVEL", /^(debug|info|warning|error)$/, "write debug, info, warning or error"],
  ["COFFERER_MODE", /^(observe|shadow|live)$/, "write observe, shadow or live"],
]

/** Those of tests, and what a container platform sets for a service whose name begins with cofferer. */
const ignored = (name: string, value: string): boolean =>
  name.startsWith("COFFERER_TEST_") ||
  /_SERVICE_(HOST|PORT)(_|$)/.test(name) ||
  /_PORT_[0-9]+_[A-Z]+_(PROTO|PORT|ADDR)$/.test(name) ||
  // An address, as a person writes none: a bare port would be meant for COFFERER_LISTEN.
  (/_PORT(_[0-9]+_[A-Z]+)?$/.test(name) && /^[a-z]+:\/\//.test(value))

/**
 * Reads the COFFERER_ variables: where to run, and how cautiously. Never what may be paid. An unknown one is an error
 * that names the nearest: a typo must not pass unseen.
 */
export const readEnvironment = (env: Readonly<Record<string, string | undefined>>) =>
  Effect.suspend(() => {
    for (const [name, value] of Object.entries(env)) {
      if (!name.startsWith("COFFERER_") || value === undefined || ignored(name, value)) continue
      const [, form, remedy = ""] = forms.find(([known]) => known === name) ?? []
      if (form?.test(value) === true) continue
      const known = forms.map(([one]) => one)
      return form === undefined
        ? configProblem("environment", `unknown variable ${name}`, nameRemedy(name, known, ""))
        : configProblem("environment", `${name} is "${value}"`, remedy)
    }
    return Effect.succeed({
      dataDir: env["COFFERER_DATA_DIR"],
      listen: env["COFFERER_LISTEN"],
      metrics: env["COFFERER_METRICS"],
      logLevel: env["COFFERER_LOG_LEVEL"],
    })
  })

/** In mode live a gateway must prove its identity: variables that accept any certificate are refused. */
export const needCertificates = (
  env: Readonly<Record<string, string | undefined>>,
  mode: Mode,
): Effect.Effect<void, ConfigError> =>
  mode === "live" && env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0"
    ? Effect.fail(
        configProblem(
          "environment",
          "NODE_TLS_REJECT_UNAUTHORIZED is 0: any certificate would be taken for that of a gateway",
          "unset it, and name a certificate authority of your own in NODE_EXTRA_CA_CERTS; mode shadow runs with it",
        ),
      )
    : Effect.void

/** The mode of a start: that of the file, or a more cautious one of the environment, which can make it safer only. */
export const modeAtStart = (file: Mode): Effect.Effect<Mode> =>
  Effect.map(ProcessContext, ({ env }) => {
    const lower = modes.find((mode) => mode === env["COFFERER_MODE"])
    return lower !== undefined && modes.indexOf(lower) < modes.indexOf(file) ? lower : file
  })

/** Surroundings of the process. Tests that run a command within their own process replace them. */
export interface ProcessContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly output: Writable
  /** True if a person can be asked: standard input and output are terminals. */
  readonly isInteractive: boolean
  /** Standard error, if it is a terminal: long work shows its progress there. */
  readonly progress: Writable | undefined
}

/** Columns of a terminal, 80 if it reports none; undefined if it is no terminal. */
export const terminalColumns = (output: Writable): number | undefined => {
  const { isTTY, columns } = output as Partial<WriteStream>
  return isTTY === true ? columns || 80 : undefined
}

export const ProcessContext = Context.Reference<ProcessContext>("cofferer/config/ProcessContext", {
  defaultValue: () => ({
    // A copy: listing the live one asks the system for each variable.
    env: { ...process.env },
    output: process.stdout,
    isInteractive: process.stdin.isTTY && process.stdout.isTTY,
    progress: process.stderr.isTTY ? process.stderr : undefined,
  }),
})
