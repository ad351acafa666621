import { statfsSync } from "node:fs"
import { Context, Effect, Layer } from "effect"

const mebibyte = 1_048_576

/**
 * Below this nothing new is decided or signed: room for what is under way to be confirmed and journalled, and for hours
 * of balance rows while people come. A small file system keeps a twentieth of itself instead.
 */
const neededBytesMax = 256 * mebibyte
const neededShare = 0.05

/** Room of the file system that holds the store, in bytes. */
export interface Room {
  /** What this user may still write; undefined where the file system does not say. */
  readonly free: number | undefined
  /** Below this nothing new is decided. */
  readonly needed: number
}

/** Bytes in MiB, for people. */
export const mebibytesText = (bytes: number): string => `${(bytes / mebibyte).toFixed(1)} MiB`

/** The disk that holds the store. */
export class DiskSpace extends Context.Service<
  DiskSpace,
  {
    /** The data directory. */
    readonly dir: string
    readonly room: Effect.Effect<Room>
  }
>()("cofferer/store/DiskSpace") {
  static readonly layer = (dir: string) => Layer.succeed(DiskSpace, { dir, room: Effect.sync(() => roomIn(dir)) })
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
