import { Effect, Option } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { clockGap } from "../rules/clockGap.ts"
import type { WrongClock } from "../rules/wrongClock.ts"
import type { Pending } from "../store/AlertQueue.ts"
import { DiskSpace } from "../store/DiskSpace.ts"
import { enoughSpace } from "../store/fullDisk.ts"
import { makeTrouble } from "../store/makeTrouble.ts"
import { Settings } from "../store/Settings.ts"
import { BlockPace, blockMillis } from "../submitter/BlockPace.ts"
import { quarantinedUntil } from "../submitter/quarantine.ts"
import { troubleKey } from "./conditions.ts"
import type { Facts } from "./Facts.ts"
import { readOutOfBand } from "./outOfBand.ts"
import { refusedReload } from "./refusedReload.ts"
import type { View } from "./View.ts"

export type FactNeeds = DiskSpace | Settings

/** A disk at its bound would be low and not low in turn: this much more room ends it. */
const endShare = 1.25

/** What the view does not show. */
interface More extends Pick<Facts, "blockAgeSeconds" | "wrongClock"> {
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
  const isLow = (yield* makeTrouble(yield* Settings, troubleKey("low_disk")).now) !== undefined
  const refused = yield* (yield* refusedReload).now
  const { blockAgeSeconds } = more
  return {
    ...view,
    ...more,
    maxAgeSeconds: maxAgeMillis / 1_000,
    gap: clockGap(now, blockAgeSeconds === null ? undefined : now - blockAgeSeconds * 1_000, maxAgeMillis),
    disk: { dir, free: space.free, low: enoughSpace(space) * (isLow ? endShare : 1) },
    refusedReload: refused?.detail,
    quarantine: yield* readQuarantine(view),
    // One from later than now was raised while the clock was wrong, and waits since then at least.
    undelivered: pending.map(({ oldest, ...one }) => ({ ...one, seconds: Math.abs(now - oldest) / 1_000 })),
    outOfBand: yield* readOutOfBand(treasury, view, now),
  } satisfies Facts
})

/** Until when nothing is signed for another life of the store; without a daemon a block takes what it mostly does. */
const readQuarantine = Effect.fnUntraced(function* ({ mode, height }: Pick<View, "mode" | "height">) {
  const until = mode === "live" ? yield* quarantinedUntil : undefined
  if (until === undefined) return undefined
  const pace = Option.getOrUndefined(yield* Effect.serviceOption(BlockPace))
  const millis = pace === undefined ? blockMillis : yield* pace.millis
  const seconds = until === null ? null : Math.max(0, (Number(until - BigInt(height)) * millis) / 1_000)
  return { until: until === null ? null : String(until), seconds }
})
