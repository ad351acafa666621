/** "2026-12-24 12:00:05Z", of Unix milliseconds. */
export const stampText = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19).replace("T", " ")}Z`
