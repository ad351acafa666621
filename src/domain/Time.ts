/**
 * True if at least `millis` have passed between two times in Unix milliseconds. A time in the future was noted by a
 * wrong clock: it counts as long ago, and is replaced when the act is repeated.
 */
export const hasElapsed = (since: number, now: number, millis: number): boolean => since > now || now - since >= millis

/** Names of settings that say when something of the network was last read: Unix milliseconds. */
export const parametersReadKey = "parametersReadAt"
export const assetsReadKey = "assetsReadAt"
/** "no" if the gateways report that they have no network parameters, "yes" if they report some. */
export const parametersServedKey = "parametersServed"
/** When a gateway first said that it has no listing of assets (Unix milliseconds): nothing can be compared. */
export const assetsUnlistedKey = "assetsUnlistedAt"
