import type { Reminders } from "../../src/store/alerts/LiveAlerts.ts"

/** Sends no alert again, and takes every rule for configured. */
export const noReminders = (): Reminders => ({
  repeatMillis: undefined,
  steps: [],
  forgetful: new Set(),
  hasRule: () => true,
})
