/**
 * Whether so much time has passed since something was done, Unix milliseconds both. What was done later than now was
 * done while a clock was wrong: it counts as long ago, and whoever does it again notes the time of today.
 */
export const hasElapsed = (since: number, now: number, millis: number): boolean => since > now || now - since >= millis
