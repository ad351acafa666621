import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { Effect, Schema } from "effect"
import { readUtf8 } from "../../config/yaml/readBytes.ts"
import type { Settings } from "../database/Settings.ts"
import { StoreError } from "../database/StoreError.ts"

const Stored = Schema.fromJsonString(
  Schema.Struct({ installation: Schema.String, seq: Schema.Int, hash: Schema.String }),
)

const bytesMax = 10_000

/** Setting with the path of the file that was written last. If it is missing, it was lost or its disk is away. */
const writtenKey = "watermarkFile"

const writeFile = (file: string, text: string): void => {
  const fresh = `${file}.new`
  // A file there was left by a killed process, or put there by somebody else: it is not reused.
  rmSync(fresh, { force: true })
  const handle = openSync(fresh, "wx", 0o600)
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(fresh, file)
  // The name is durable once the folder is.
  const folder = openSync(dirname(file), "r")
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/**
 * A small file outside the data directory with the head of the journal at the last signature that was sent. A restored
 * backup of the data directory does not restore it. Without such a file in the configuration, nothing is checked.
 */
interface WatermarkFile {
  /** Writes the journal's head, durable when it returns. If this fails, nothing may be sent. */
  readonly noteHead: Effect.Effect<void, StoreError>
  /** A problem if the store is older than the file, or another one, or the file is gone; undefined without one. */
  readonly headProblem: Effect.Effect<string | undefined, StoreError>
}

/** The part of the journal that the file needs. */
interface Chain {
  /** Processes of several machines write the journal, in turn, and each has a file of its own. */
  readonly isShared: boolean
  readonly head: Effect.Effect<{ readonly seq: number; readonly hash: string }, StoreError>
  readonly hashAt: (seq: number) => Effect.Effect<string | undefined, StoreError>
}

export const makeWatermarkFile = (
  file: string | undefined,
  settings: Settings["Service"],
  journal: Chain,
): WatermarkFile => {
  if (file === undefined) return { noteHead: Effect.void, headProblem: Effect.undefined }
  const note = Effect.gen(function* () {
    const installation = yield* settings.get("installation")
    const head = yield* journal.head
    const text = `${JSON.stringify({ installation, ...head })}\n`
    yield* Effect.try({
      try: () => writeFile(file, text),
      catch: (cause) => new StoreError({ operation: "Journal.noteHead", cause }),
    })
    if ((yield* settings.get(writtenKey)) !== file) yield* settings.set(writtenKey, file)
  })
  const problem = Effect.gen(function* () {
    const text = readUtf8(file, bytesMax)
    if (typeof text !== "string") {
      if (text.code !== "ENOENT") return `the watermark ${file} ${text.problem}`
      const isWritten = !journal.isShared && (yield* settings.get(writtenKey)) === file
      return isWritten ? `the watermark ${file} is missing, and this store has written it` : undefined
    }
    const read = yield* Effect.option(Schema.decodeEffect(Stored)(text))
    if (read._tag === "None") return `the watermark ${file} cannot be understood`
    const { installation, seq, hash } = read.value
    if (installation !== (yield* settings.get("installation"))) {
      return `the watermark ${file} was written by another installation: is this its data directory?`
    }
    const head = yield* journal.head
    if (seq > head.seq) return `the watermark stands at entry ${seq}, the journal ends at ${head.seq}`
    if ((yield* journal.hashAt(seq)) === hash) return undefined
    return `entry ${seq} of the journal is another one than the watermark knows`
  })
  return {
    noteHead: note.pipe(Effect.withSpan("Journal.noteHead")),
    headProblem: problem.pipe(Effect.withSpan("Journal.headProblem")),
  }
}
