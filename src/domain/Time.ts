/**
 * Whether so much time has passed since something was done, Unix milliseconds both. What was done later than now was
 * done while a clock was wrong: it counts as long ago, and whoever does it again notes the time of today.
 */
export const hasElapsed = (since: number, now: number, millis: number): boolean => since > now || now - since >= millis

/** Names of settings that say when something of the network was last read: Unix milliseconds. */
export const parametersReadKey = "parametersReadAt"
export const assetsReadKey = "assetsReadAt"
/** "no" where the gateways say that they have no parameters of the network, "yes" where they tell some. */
export const parametersServedKey = "parametersServed"
/** When a gateway first said that it has no listing of assets (Unix milliseconds): nothing can be compared. */
export const assetsUnlistedKey = "assetsUnlistedAt"
