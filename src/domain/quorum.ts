/** How many of so many gateways are a majority; of one, that one. */
export const majorityOf = (gateways: number): number => Math.floor(gateways / 2) + 1

/** The newest block that so many gateways have begun; undefined where too few told. One ahead of all proves nothing. */
export const quorumTip = (tips: ReadonlyArray<bigint>, quorum: number): bigint | undefined =>
  tips.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))[quorum - 1]
