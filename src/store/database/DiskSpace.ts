import { statfsSync } from "node:fs"
import { Context, Effect, Layer } from "effect"
import { logEvent } from "../../telemetry/Logging.ts"
import { Controls, haltSigning } from "../controls/Controls.ts"
import { Signals } from "./Signals.ts"

const mebibyte = 1_048_576

/**
 * Below this nothing new is decided or signed: room for what is under way to be confirmed and journalled, and for hours
 * of balance rows while people come. A small file system keeps a twentieth of itself instead.
 */
const neededBytesMax = 256 * mebibyte
const neededShare = 0.05

/** Room of the file system that holds the store, in bytes. */
interface Room {
  /** Bytes that this user may still write; undefined if the file system does not report them. */
  readonly free: number | undefined
  /** Below this nothing new is decided. */
  readonly needed: number
}

/** Bytes in MiB, or from one GiB on in GiB, for people. */
export const bytesText = (bytes: number): string => {
  const whole = Math.floor(bytes / mebibyte)
  return whole < 1_024 ? `${whole} MiB` : `${(whole / 1_024).toFixed(1)} GiB`
}

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
    // Without an answer, a failing write will show it.
    return { free: undefined, needed: neededBytesMax }
  }
}

const reason = "disk_full"

/** Space that ends the halt. Twice the bound, or a file system near it would halt, page and resume again and again. */
export const enoughSpace = ({ needed }: Room): number => 2 * needed

const isFull = Effect.map(
  Effect.flatMap(Controls, ({ halts }) => halts),
  (halts) => halts.some((halt) => halt.reason === reason),
)

/** Before anything new is decided: halts where the disk that holds the store has little room left. */
export const checkDiskSpace = Effect.fnUntraced(function* () {
  const { dir, room } = yield* DiskSpace
  const found = yield* room
  if (found.free === undefined || found.free >= found.needed || (yield* isFull)) return
  const [free, needed] = [found.free, enoughSpace(found)].map(bytesText)
  yield* haltSigning(reason, `free space under ${dir}: ${free} left, ${needed} needed`)
})

/** Halts on a disk with little room, and ends that halt by itself once there is enough. */
export const watchDiskSpace = Effect.fnUntraced(function* () {
  if (!(yield* isFull)) return yield* checkDiskSpace()
  const room = yield* (yield* DiskSpace).room
  if (room.free !== undefined && room.free < enoughSpace(room)) return
  const detail = room.free === undefined ? "the disk takes writes" : `${bytesText(room.free)} are free again`
  yield* (yield* Controls).release(reason, detail)
  yield* logEvent("payments resumed", { scope: reason, author: "disk space", reason: detail })
  yield* (yield* Signals).wake("engine", "submitter")
})
