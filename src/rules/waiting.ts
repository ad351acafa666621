import type { Intent } from "../domain/Intent.ts"
import { instantText } from "../domain/Time.ts"

/** Source that still backs a payment that is decided and not signed. */
export type Backing =
  /** Submitted by a person: no rule decides it again. */
  | { readonly _tag: "Submitted" }
  /** Decided for a planned time, which is concluded. Times are Unix milliseconds. */
  | {
      readonly _tag: "Planned"
      readonly at: number
      readonly missed: "once" | "skip"
      readonly lateMillis: number
    }
  /** A part of a decision with another part signed or paid. */
  | { readonly _tag: "Part" }
  /** Its rule reads balances and decides again if it is not paid; `together`: all parts of a decision, or none. */
  | { readonly _tag: "Level"; readonly together: boolean }
  /** No rule in force pays it any more. */
  | { readonly _tag: "Gone" }

/** A payment whose rule decides again waits this long for its signature, and is then dropped. */
export const decisionValidMillis = 300_000

/** A payment that waits without an expiry of its own is alerted after this time. */
export const waitAlertMillis = 3_600_000

/** A payment that was decided late is alerted after this time, if it still waits. */
const freshMillis = 60_000

/** Result of judging the wait of an unsigned payment. */
type Wait =
  /** If it still waits at `alertAt` (Unix milliseconds), an alert is raised; undefined: its end raises one. */
  | { readonly _tag: "Waits"; readonly alertAt: number | undefined }
  | { readonly _tag: "DecidedAnew" }
  | { readonly _tag: "Over"; readonly why: string }

const silentWait: Wait = { _tag: "Waits", alertAt: undefined }

export interface WaitFacts {
  readonly now: number
  /** When it was decided, or its last attempt proven dead. Unix milliseconds. */
  readonly since: number
  readonly needsApproval: boolean
}

/** Judges whether an unsigned payment waits on: until its approval lapses, or as its source says. */
export const judgeWait = (backing: Backing, { now, since, needsApproval }: WaitFacts): Wait => {
  // For a part whose others are paid approval is asked again; without a rule nobody needs it any more.
  if (needsApproval && backing._tag !== "Part" && backing._tag !== "Gone") return silentWait
  const isStale = now - since > decisionValidMillis
  switch (backing._tag) {
    case "Planned": {
      const { at, missed, lateMillis } = backing
      if (missed === "once") return { _tag: "Waits", alertAt: Math.max(at + lateMillis, since + freshMillis) }
      if (now - at <= lateMillis) return silentWait
      return { _tag: "Over", why: `planned for ${instantText(at)} and not paid in time (missed: skip)` }
    }
    case "Submitted":
    case "Part":
      return { _tag: "Waits", alertAt: since + waitAlertMillis }
    case "Level":
      return isStale ? { _tag: "DecidedAnew" } : silentWait
    case "Gone":
      return isStale ? { _tag: "Over", why: "no rule in force pays it any more" } : silentWait
  }
}

/** Consequence of a planned time that is dropped, as text. */
export const neverPaid = "nothing pays it any more"

/** Consequence of a payment that ends unpaid, as text. */
export const afterUnpaid = ({ _tag }: Backing): string =>
  _tag === "Level" ? "the rule decides again" : `${neverPaid}; if it is still owed, pay it with "cofferer submit"`

/** True if a payment was decided before another: it goes first where both wait for the same money. */
export const isEarlier = (a: Pick<Intent, "createdAt" | "id">, b: Pick<Intent, "createdAt" | "id">): boolean =>
  a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.id < b.id)
