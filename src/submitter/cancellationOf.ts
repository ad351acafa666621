import { Effect } from "effect"
import type { Attempt } from "../domain/Attempt.ts"
import type { Intent } from "../domain/Intent.ts"
import { Confirmation } from "../gateway/Confirmation.ts"
import { isOver, type SureHeight } from "./evidence.ts"
import { inclusionOf } from "./inclusionOf.ts"

interface By {
  /** It was over by this block; undefined where the gateway names none. */
  readonly height: bigint | undefined
}

/** What became of a cancellation, by the standing order that it was to end. */
export type Cancellation =
  /** The order is cancelled. */
  | ({ readonly _tag: "Cancelled"; readonly gateway: string; readonly settledAt: bigint | undefined } & By)
  /** The order came to an end of its own before: stopped, done or rejected. */
  | ({ readonly _tag: "Ended"; readonly gateway: string; readonly settledAt: bigint; readonly status: string } & By)
  /** In a block, and refused there; the order is not known to have ended. */
  | { readonly _tag: "Failed"; readonly inclusion: Inclusion }
  /** Its window is over, and the order was not ended in it. */
  | { readonly _tag: "Expired"; readonly detail: string }
  | { readonly _tag: "Open" }

type Inclusion = Effect.Success<ReturnType<typeof inclusionOf>>

const over: ReadonlySet<string> = new Set(["stopped", "done", "rejected"])

/**
 * Looks at the standing order itself, which says what the cancellation's own id cannot: the ledger keeps no row of a
 * cancellation. One that ran out of its window moves no money if it executes after all, so the tip alone ends it.
 */
export const cancellationOf = Effect.fn("Confirm.cancellation")(function* (
  { payment }: Intent,
  attempt: Attempt,
  tip: SureHeight,
) {
  const confirmation = yield* Confirmation
  const sighting = yield* confirmation
    .transfer(payment.toKey)
    .pipe(Effect.catchReason("GatewayError", "Unsupported", () => Effect.undefined))
  const found = sighting?.found
  const height = sighting?.mark?.height
  if (sighting !== undefined && found?.status === "cancelled") {
    return { _tag: "Cancelled", gateway: sighting.gateway, settledAt: found.timestamp, height } satisfies Cancellation
  }
  if (sighting !== undefined && found !== undefined && over.has(found.status)) {
    const { status, timestamp } = found
    return { _tag: "Ended", gateway: sighting.gateway, settledAt: timestamp, status, height } satisfies Cancellation
  }
  return yield* byInclusion(attempt, tip, found?.status)
})

const byInclusion = Effect.fnUntraced(function* (attempt: Attempt, height: SureHeight, status: string | undefined) {
  // Where the order is shown, its end is: the explorer is asked only once the window is over.
  if (status !== undefined && !isOver(attempt, height)) return { _tag: "Open" } as Cancellation
  const inclusion = yield* inclusionOf(attempt)
  const { verdict, gateway, height: block } = inclusion
  if (verdict === "executed" && status === undefined) {
    return { _tag: "Cancelled", gateway, settledAt: undefined, height: block } as Cancellation
  }
  if (!isOver(attempt, height)) return { _tag: "Open" } as Cancellation
  if (verdict === "failed") return { _tag: "Failed", inclusion } as Cancellation
  if (verdict !== "unseen") return { _tag: "Open" } as Cancellation
  const detail = status === undefined ? "its standing order is not shown" : `its standing order is still ${status}`
  return { _tag: "Expired", detail: `its window is over, and ${detail}` } as Cancellation
})
