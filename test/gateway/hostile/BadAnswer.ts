import type { GatewayReason } from "../../../src/gateway/GatewayError.ts"
import type { Handler } from "../GatewayServer.ts"
import type { AskName } from "./asks.ts"

export type Reason = GatewayReason["_tag"]

/** What must come of an answer: this value, or an error of one of these reasons. */
export type Outcome = { readonly value: unknown } | { readonly fails: ReadonlyArray<Reason> }

/** An answer that a sound gateway never gives, or one at the edge of what it may give. */
export interface BadAnswer {
  readonly name: string
  readonly ask: AskName
  readonly send: Handler
  readonly gives: Outcome
  readonly requestDeadlineMillis?: number
  readonly bodyBytesMax?: number
}

export const unreadable: Outcome = { fails: ["Unreadable"] }
