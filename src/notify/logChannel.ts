import { say } from "../telemetry/say.ts"
import type { Channel } from "./Channel.ts"

/** Tells the log: the receiver that is always there. */
export const logChannel = (name: string): Channel => ({
  name,
  send: (notification) =>
    say("ALERT", {
      ...notification.fields,
      subject: notification.subject,
      detail: `${notification.detail}   ${notification.severity}, delivered to ${name}`,
      severity: notification.severity,
      kind: notification.kind,
      id: notification.id,
    }),
})
