/**
 * Upper bounds of a chain's values. Heights and times are int64 on the wire (CometBFT's `Header`, the gateway's
 * `timestamp`) and in our columns. The last fortieth of that range, 7 years of nanoseconds, is left out: values
 * computed from them, such as the end of a window of 2^32 blocks, must fit into a column as well. No time is negative:
 * there was no chain before 1970.
 */
export const chainBounds = {
  heightMax: 9n * 10n ** 18n,
  /** Unix nanoseconds: July 2255. */
  timeMax: 9n * 10n ** 18n,
  /** MaxChainIDLen of CometBFT's types/genesis.go, which starts no chain of a longer name. */
  chainIdLengthMax: 50,
} as const

const printable = /^[\x20-\x7e]+$/

/** True if a chain may have this id: printable, so that it can be shown and, with a zero byte behind it, be signed. */
export const isChainId = (text: string): boolean => text.length <= chainBounds.chainIdLengthMax && printable.test(text)

/** True if it can be the time of a block, in Unix nanoseconds. */
export const isBlockTime = (nanos: bigint): boolean => nanos >= 0n && nanos <= chainBounds.timeMax

/** The only hash function that networks name for the proof of work; it is SHA3-256. */
export const powHashFunction = "sha3_24_rounds"

/** The smallest number of gateways that is a majority of all of them. */
export const majorityOf = (gateways: number): number => Math.floor(gateways / 2) + 1

/** The highest of the gateways' newest blocks that a quorum has reached; undefined if fewer than a quorum answered. */
export const quorumTip = (tips: ReadonlyArray<bigint>, quorum: number): bigint | undefined =>
  tips.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))[quorum - 1]
