import { Schema } from "effect"

/** A receiver did not take a notification. It is tried again; an alert is never dropped for it. */
export class NotifyError extends Schema.TaggedError<NotifyError>()("NotifyError", {
  receiver: Schema.String,
  detail: Schema.String,
}) {
  override get message() {
    return `${this.receiver}: ${this.detail}`
  }
}
