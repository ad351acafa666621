import { Context } from "effect"

/**
 * How urgent a request is where several wait for their turn. urgent: what became of a payment, and the head that one
 * needs. normal: what is polled. backfill: history that nobody waits for. A submission goes before all of them.
 */
export type Priority = "urgent" | "normal" | "backfill"

/** The priority of requests that name none themselves: a loop sets it around what it reads. */
export const RequestPriority = Context.Reference<Priority>("cofferer/gateway/RequestPriority", {
  defaultValue: () => "normal",
})
