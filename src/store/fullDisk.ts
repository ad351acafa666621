import { Effect } from "effect"
import { say } from "../telemetry/say.ts"
import { Brake } from "./Brake.ts"
import { DiskSpace, mebibytesText, type Room } from "./DiskSpace.ts"
import { Signals } from "./Signals.ts"
import { holdOn, trip, tripWith } from "./trip.ts"

const reason = "disk_full"

/** A file system at its bound would halt and go on in turn, and page people each time: twice the bound ends it. */
export const enoughSpace = ({ needed }: Room): number => 2 * needed

const isFull = Effect.map(
  Effect.flatMap(Brake, ({ halts }) => halts),
  (halts) => halts.some((halt) => halt.reason === reason),
)

/** Halts because the disk that holds the store took no write, or will soon take none. Once, while it is in force. */
export const haltOnFullDisk = Effect.fn("DiskSpace.halt")(function* (room: Room) {
  if (yield* isFull) return
  const { dir, giveUpReserve } = yield* DiskSpace
  const detail =
    room.free === undefined || room.free >= enoughSpace(room)
      ? `free space under ${dir}: it takes no more (a quota, or a limit of this process)`
      : `free space under ${dir}: ${mebibytesText(room.free)} left, ${mebibytesText(enoughSpace(room))} needed`
  yield* tripWith(reason, Effect.succeed(detail)).pipe(
    Effect.catchTag("StoreError", () => Effect.andThen(giveUpReserve, trip(reason, detail))),
  )
})

/** Before anything new is decided: halts where the disk that holds the store has little room left. */
export const checkDiskSpace = Effect.fn("DiskSpace.check")(function* () {
  const room = yield* (yield* DiskSpace).room
  if (room.free !== undefined && room.free < room.needed) yield* haltOnFullDisk(room)
})

/**
 * Halts on a disk with little room, and ends that halt by itself once there is enough, the reserve included, and files
 * may grow.
 */
export const watchDiskSpace = Effect.fn("DiskSpace.watch")(function* () {
  const space = yield* DiskSpace
  const room = yield* space.room
  if (!(yield* isFull)) return yield* checkDiskSpace()
  if (room.free !== undefined && room.free < enoughSpace(room)) return
  if (!(yield* space.keepReserve) || !(yield* space.probe)) return
  yield* holdOn()
  const detail = room.free === undefined ? "the disk takes writes again" : `${mebibytesText(room.free)} are free again`
  yield* (yield* Brake).release(reason, detail)
  yield* say("resumed", { subject: reason, detail: `by itself: ${detail}` })
  const signals = yield* Signals
  yield* signals.wake("engine")
  yield* signals.wake("submitter")
})
