import { closeSync, constants, lstatSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted, Result, Schema } from "effect"
import { mapSecrets, secretFilesIn } from "./schema/Receivers.ts"
import { type ConfigError, configProblem } from "./yaml/ConfigError.ts"
import { readUtf8 } from "./yaml/readBytes.ts"

/** Tokens and headers are shorter. */
const secretBytesMax = 64_000

/** A secret from its file, without the line end. It stays Redacted until it is used. */
export const readSecret = (file: string): Effect.Effect<Redacted.Redacted, ConfigError> =>
  Effect.suspend(() => {
    const secret = readUtf8(file, secretBytesMax)
    return typeof secret === "string"
      ? Effect.succeed(Redacted.make(secret.replace(/[\r\n]+$/, "")))
      : Effect.fail(configProblem(file, `the secret is not available: ${secret.problem}`, "put it there"))
  })

/** Reads the secrets that a value of the configuration names by their files. */
export const readSecrets = Effect.fnUntraced(function* <T>(value: T) {
  const secrets = new Map<string, Redacted.Redacted>()
  for (const file of secretFilesIn(value)) secrets.set(file, yield* readSecret(file))
  return mapSecrets(value, (file) => secrets.get(file) as Redacted.Redacted)
})

/** The file whose presence stops all signing. */
export const haltFile = (dataDir: string): string => join(dataDir, "HALT")

const haltBytesMax = 64_000

/** True also for a link to nothing, and where this cannot be known: a stop in doubt counts. */
export const isThere = (file: string): boolean =>
  Result.getOrElse(
    Result.try(() => lstatSync(file, { throwIfNoEntry: false }) !== undefined),
    () => true,
  )

/** Content of the HALT file; undefined if there is none. */
export const readHaltFile = (dataDir: string): Effect.Effect<string | undefined> =>
  Effect.sync(() => {
    const file = haltFile(dataDir)
    if (!isThere(file)) return undefined
    const text = readUtf8(file, haltBytesMax)
    return typeof text === "string" ? text.trim().slice(0, 256) || "no reason given" : "it cannot be read"
  })

/** The same for a daemon, whose directory was there: if it is moved away, nobody at the old place could stop it. */
export const readLiveHalt = (dataDir: string): Effect.Effect<string | undefined> =>
  Effect.map(readHaltFile(dataDir), (halt) =>
    halt === undefined && !isThere(dataDir) ? `${dataDir} is gone; move it back, or restart at its new place` : halt,
  )

const haltProblem = (dataDir: string, act: "written" | "removed", remedy: string) => (error: unknown) =>
  configProblem(haltFile(dataDir), `cannot be ${act} (${(error as NodeJS.ErrnoException).code})`, remedy)

export const writeHaltFile = (dataDir: string, reason: string): Effect.Effect<void, ConfigError> =>
  Effect.try({
    try: () => {
      try {
        const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
        const fd = openSync(haltFile(dataDir), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
        try {
          writeFileSync(fd, `${reason}\n`)
        } finally {
          closeSync(fd)
        }
      } catch (error) {
        // A full disk takes the name and not the reason: the name alone halts.
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC" || !isThere(haltFile(dataDir))) throw error
      }
    },
    catch: haltProblem(dataDir, "written", "write it by hand"),
  })

/** Removes the HALT file; false if there was none. */
export const removeHaltFile = (dataDir: string): Effect.Effect<boolean, ConfigError> =>
  Effect.try({
    try: () => {
      const file = haltFile(dataDir)
      if (!isThere(file)) return false
      rmSync(file)
      return true
    },
    catch: haltProblem(dataDir, "removed", "remove it by hand"),
  })

const Package = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** Version of this program, from its package.json. */
export const version: string = Schema.decodeSync(Package)(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
).version
