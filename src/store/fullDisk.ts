import { Effect } from "effect"
import { say } from "../telemetry/say.ts"
import { Brake } from "./Brake.ts"
import { DiskSpace, mebibytesText, type Room } from "./DiskSpace.ts"
import { Signals } from "./Signals.ts"
import { trip } from "./trip.ts"

const reason = "disk_full"

/** A file system at its bound would halt and go on in turn, and page people each time: twice the bound ends it. */
export const enoughSpace = ({ needed }: Room): number => 2 * needed

const isFull = Effect.map(
  Effect.flatMap(Brake, ({ halts }) => halts),
  (halts) => halts.some((halt) => halt.reason === reason),
)

/** Before anything new is decided: halts where the disk that holds the store has little room left. */
export const checkDiskSpace = Effect.fn("DiskSpace.check")(function* () {
  const { dir, room } = yield* DiskSpace
  const found = yield* room
  if (found.free === undefined || found.free >= found.needed || (yield* isFull)) return
  const [free, needed] = [found.free, enoughSpace(found)].map(mebibytesText)
  yield* trip(reason, `free space under ${dir}: ${free} left, ${needed} needed`)
})

/** Halts on a disk with little room, and ends that halt by itself once there is enough. */
export const watchDiskSpace = Effect.fn("DiskSpace.watch")(function* () {
  if (!(yield* isFull)) return yield* checkDiskSpace()
  const room = yield* (yield* DiskSpace).room
  if (room.free !== undefined && room.free < enoughSpace(room)) return
  const detail = room.free === undefined ? "the disk takes writes" : `${mebibytesText(room.free)} are free again`
  yield* (yield* Brake).release(reason, detail)
  yield* say("resumed", { subject: reason, detail: `by itself: ${detail}` })
  const signals = yield* Signals
  yield* signals.wake("engine")
  yield* signals.wake("submitter")
})
