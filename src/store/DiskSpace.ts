import { randomBytes } from "node:crypto"
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statfsSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import { Clock, Context, Effect, Layer } from "effect"
import { databaseFile } from "./Database.ts"

const mebibyte = 1_048_576

/**
 * Below this nothing new is decided or signed: room for what is under way to be confirmed and journalled, and for hours
 * of balance rows while people come. A small file system keeps a twentieth of itself instead.
 */
const neededBytesMax = 256 * mebibyte
const neededShare = 0.05

/** Name of the file that is given up when the disk is full, so that the halt and its alert can still be written. */
export const reserveFile = "cofferer.reserve"
/** A halt, its journal entry and its alert are 10 pages of 4 KiB; the rest is for the ends of what is under way. */
const reserveBytes = mebibyte
const probeBytes = 65_536
/** A quota may refuse what the file system says is free: writing the reserve shows it, and is not always tried. */
const retryMillis = 10_000

/** Room of the file system that holds the store, in bytes. */
export interface Room {
  /** What this user may still write; undefined where the file system does not say. */
  readonly free: number | undefined
  /** Below this nothing new is decided. */
  readonly needed: number
}

/** Bytes in MiB, for people. */
export const mebibytesText = (bytes: number): string => `${(bytes / mebibyte).toFixed(1)} MiB`

/** The disk that holds the store: how much room it has, and a reserve that can be given up. */
export class DiskSpace extends Context.Service<
  DiskSpace,
  {
    /** The data directory. */
    readonly dir: string
    readonly room: Effect.Effect<Room>
    /** Writes the reserve where it is not whole; false where the disk does not take it. */
    readonly keepReserve: Effect.Effect<boolean>
    readonly giveUpReserve: Effect.Effect<void>
    /** Whether the disk takes a few pages beside the store's own files, and these may still grow by as many. */
    readonly probe: Effect.Effect<boolean>
  }
>()("cofferer/store/DiskSpace") {
  static readonly layer = (dir: string) =>
    Layer.sync(DiskSpace, () => {
      const reserve = join(dir, reserveFile)
      let triedAt = Number.NEGATIVE_INFINITY
      return DiskSpace.of({
        dir,
        room: Effect.sync(() => roomIn(dir)),
        keepReserve: Effect.map(Clock.currentTimeMillis, (now) => {
          if (isWhole(reserve)) return true
          if (now >= triedAt && now - triedAt < retryMillis) return false
          triedAt = now
          return writeBytes(reserve, reserveBytes)
        }),
        giveUpReserve: Effect.sync(() => remove(reserve)),
        probe: Effect.sync(() => {
          const file = join(dir, "cofferer.probe")
          const taken = writeBytes(file, probeBytes)
          remove(file)
          return taken && mayGrow(dir)
        }),
      })
    })
}

const roomIn = (dir: string): Room => {
  try {
    const { bavail, blocks, bsize } = statfsSync(dir)
    if (blocks === 0) return { free: undefined, needed: neededBytesMax }
    return { free: bavail * bsize, needed: Math.min(neededBytesMax, Math.floor(blocks * bsize * neededShare)) }
  } catch {
    // Where it cannot be asked, a write that fails says it.
    return { free: undefined, needed: neededBytesMax }
  }
}

const sizeOf = (file: string): number => {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}

/**
 * Bytes that a file of this process may have. SQLite calls a write beyond it an I/O error where nothing of it was
 * written, and a full disk else. Only Linux tells it; nothing is tried on the store's own files, since closing one
 * would end SQLite's locks.
 */
const fileBytesMax = (): number => {
  try {
    const [, limit] = /^Max file size +([0-9]+) /m.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** The log grows, and the database by at most what is in the log. */
const mayGrow = (dir: string): boolean => {
  const database = join(dir, databaseFile)
  return sizeOf(database) + sizeOf(`${database}-wal`) + probeBytes <= fileBytesMax()
}

const isWhole = (file: string): boolean => sizeOf(file) === reserveBytes

const remove = (file: string): void => {
  try {
    rmSync(file, { force: true })
  } catch {
    // It stays as it is: what it holds is not had, which the next write shows.
  }
}

/** Bytes that no file system stores as a hole or compresses. */
const writeBytes = (file: string, size: number): boolean => {
  try {
    const handle = openSync(file, "w", 0o600)
    try {
      const bytes = randomBytes(size)
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    return true
  } catch {
    remove(file)
    return false
  }
}
