import { say } from "../telemetry/say.ts"
import type { Channel } from "./Channel.ts"

/** Writes to the log, the receiver that is always there: pages as errors, tickets as warnings. */
export const logChannel = (name: string): Channel => ({
  name,
  send: (notification) =>
    say(
      "ALERT",
      {
        ...notification.fields,
        subject: notification.subject,
        detail: `${notification.detail}   ${notification.severity}, delivered to ${name}`,
        severity: notification.severity,
        kind: notification.kind,
        id: notification.id,
      },
      notification.severity,
    ),
})
