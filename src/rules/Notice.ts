import type { LetGo } from "./Need.ts"
import type { Asked } from "./Snapshot.ts"

/** What people are told because of a round. */
export interface Notice {
  readonly topic: "locked" | "request" | "received" | "firing" | "cleared" | "payout"
  readonly rule: string
  /** The subject, or the rule again. */
  readonly subject: string
  /** What happened, without what the alert adds to it. */
  readonly brief: string
  /** What people are asked for, or were. */
  readonly asked?: Pick<Asked, "episode" | "from" | "to" | "asset" | "amount" | "decimals">
  /** Planned times that are let go: another life of the store may have paid them. */
  readonly letGo?: LetGo
  /** `dedup` of what is over with this, or its beginning up to a "/": told only where people heard of that. */
  readonly over?: string
  readonly alert: {
    /** A second alert with the same text here is the same, and is told once. */
    readonly dedup: string
    readonly severity: "page" | "ticket" | "info"
    readonly kind: "rule" | "request" | "payout"
    readonly subject: string
    readonly detail: string
    readonly fields: Readonly<Record<string, string | number | boolean>>
    readonly resolves?: ReadonlyArray<string>
  }
}
