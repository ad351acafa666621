export const dayMillis = 86_400_000

/** Unix milliseconds of Unix nanoseconds; the rest is cut off. */
export const millisOf = (nanos: bigint): number => Number(nanos / 1_000_000n)

/** Unix nanoseconds of whole Unix milliseconds. */
export const nanosOf = (millis: number): bigint => BigInt(millis) * 1_000_000n

/** Unix nanoseconds as "2026-12-24T12:00:00.000Z". */
export const isoOf = (nanos: bigint): string => new Date(millisOf(nanos)).toISOString()

/**
 * True if at least `millis` have passed between two times in Unix milliseconds. A time in the future was noted by a
 * wrong clock: it counts as long ago, and is replaced when the act is repeated.
 */
export const hasElapsed = (since: number, now: number, millis: number): boolean => since > now || now - since >= millis

/** The first of the times after `now`; infinite if there is none. */
export const earliestAfter = (now: number, times: Iterable<number>): number => {
  let earliest = Number.POSITIVE_INFINITY
  for (const at of times) if (at > now && at < earliest) earliest = at
  return earliest
}

/** Names of settings that say when something of the network was last read: Unix milliseconds. */
export const parametersReadKey = "parametersReadAt"
export const assetsReadKey = "assetsReadAt"
/** "no" if the gateways report that they have no network parameters, "yes" if they report some. */
export const parametersServedKey = "parametersServed"

/** "30 s", "4 min", "2.5 h", "3 d": a length of time for people. */
export const timeText = (millis: number): string => {
  const seconds = Math.max(0, Math.ceil(millis / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`
  if (seconds < 172_800) return `${Number((seconds / 3_600).toFixed(1))} h`
  return `${Number((seconds / 86_400).toFixed(1))} d`
}

/** "2026-12-24 12:00Z" */
export const instantText = (millis: number): string =>
  `${new Date(millis).toISOString().slice(0, 16).replace("T", " ")}Z`

/** "2026-12-24 12:00:05Z", of an ISO time. */
export const secondText = (iso: string): string => `${iso.slice(0, 19).replace("T", " ")}Z`

/** "until 2026-12-24 12:00 UTC" */
export const endText = (millis: number): string =>
  `until ${new Date(millis).toISOString().slice(0, 16).replace("T", " ")} UTC`
