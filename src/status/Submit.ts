import { Context, type Effect, Schema } from "effect"
import type { StoreError } from "../store/StoreError.ts"

/** A payment that a person asked for was not taken. */
export class SubmitRejected extends Schema.TaggedError<SubmitRejected>()("SubmitRejected", {
  message: Schema.String,
  remedy: Schema.String,
  /** Whether the policy said no; otherwise the request itself is wrong. */
  byPolicy: Schema.Boolean,
}) {}

/** Takes payments of people into the outbox, under the same policy as the rules'. */
export class Submit extends Context.Service<
  Submit,
  {
    readonly submit: (
      body: unknown,
    ) => Effect.Effect<
      { readonly intentId: string; readonly created: boolean; readonly state: string },
      SubmitRejected | StoreError
    >
  }
>()("cofferer/status/Submit") {}
