import { Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { clockGap } from "../rules/clockGap.ts"
import type { WrongClock } from "../rules/wrongClock.ts"
import type { Pending } from "../store/AlertQueue.ts"
import { DiskSpace } from "../store/DiskSpace.ts"
import { enoughSpace } from "../store/fullDisk.ts"
import type { Settings } from "../store/Settings.ts"
import type { Facts } from "./Facts.ts"
import { readOutOfBand } from "./outOfBand.ts"
import { refusedReload } from "./refusedReload.ts"
import type { View } from "./View.ts"

export type FactNeeds = DiskSpace | Settings

/** What the view does not show. */
interface More extends Pick<Facts, "blockAgeSeconds" | "wrongClock" | "fromStore"> {
  readonly wrongClock: WrongClock | undefined
  readonly pending: ReadonlyArray<Pending>
}

/** Reads what decides whether the treasury is healthy, beside what its view shows. */
export const readFacts = Effect.fnUntraced(function* (
  treasury: Treasury,
  view: Omit<View, "sentence" | "conditions">,
  { pending, ...more }: More,
) {
  const { maxAgeMillis } = treasury.network
  const now = Date.parse(view.at)
  const { dir, room } = yield* DiskSpace
  const space = yield* room
  const refused = yield* (yield* refusedReload).now
  const { blockAgeSeconds } = more
  return {
    ...view,
    ...more,
    maxAgeSeconds: maxAgeMillis / 1_000,
    gap: clockGap(now, blockAgeSeconds === null ? undefined : now - blockAgeSeconds * 1_000, maxAgeMillis),
    disk: { dir, free: space.free, low: enoughSpace(space) },
    refusedReload: refused?.detail,
    // One from later than now was raised while the clock was wrong, and waits since then at least.
    undelivered: pending.map(({ oldest, ...one }) => ({ ...one, seconds: Math.abs(now - oldest) / 1_000 })),
    outOfBand: yield* readOutOfBand(treasury, view, now),
  } satisfies Facts
})
