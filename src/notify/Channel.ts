import type { Effect } from "effect"
import type { NotifyError } from "./NotifyError.ts"

/** What a receiver is told. The same notification may come twice, after a crash or a lost answer: `id` tells. */
export interface Notification {
  readonly id: string
  readonly treasury: string
  readonly severity: "page" | "ticket" | "info"
  readonly kind: string
  readonly subject: string
  readonly detail: string
  readonly fields: Readonly<Record<string, string | number | boolean>>
  /** Unix milliseconds at which it was raised. */
  readonly at: number
}

/** One way to reach people. */
export interface Channel {
  readonly name: string
  readonly send: (notification: Notification) => Effect.Effect<void, NotifyError>
}
