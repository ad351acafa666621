export const profileNames = ["specification", "0.74", "0.75", "0.79"] as const
export type ProfileName = (typeof profileNames)[number]

/** Differences between the networks that the sandbox can simulate. Everything else is equal. */
export interface Profile {
  /** Reported by the info and statistics answers. */
  readonly appVersion: string
  readonly chainVersion: string
  /** How `inputData` must stand on the wire: with the chain id in front, or alone. The signature is the same. */
  readonly framing: "prefixed" | "bare"
  /** `operations`: submit, balance changes, assets and /blockchain/height alone. `full`: all paths of a real node. */
  readonly surface: "operations" | "full"
  /** X-Block-Height and X-Block-Timestamp on every answer of the node. */
  readonly blockHeaders: boolean
  /** "nested" if name, symbol, decimals and quantum of an asset are inside `details`, "flat" if beside it. */
  readonly assetShape: "nested" | "flat"
  /** From 0.76 on an ERC-20 source names its chain. */
  readonly erc20ChainId: boolean
  /** Undefined: any range passes, none is needed. Else the HTTP status and the text of a missing one. */
  readonly dateRange: { readonly status: 400 | 500; readonly missing: string } | undefined
  /** Cursors of balance changes name no account, so that pages lose rows. */
  readonly lossyCursor: boolean
  /** Before 0.76.3 what was seen for height H is forgotten at H+N-1, while H is still open for one block. */
  readonly replayHole: boolean
  /** Requests a second and burst of one caller; the second bucket, of the same size, leads to the ban. */
  readonly rateLimit: { readonly perSecond: number; readonly burst: number; readonly banMillis: number } | undefined
}

const rateLimit = { perSecond: 20, burst: 100, banMillis: 600_000 }

const real = {
  framing: "bare",
  surface: "full",
  blockHeaders: true,
  assetShape: "nested",
  lossyCursor: true,
  rateLimit,
} as const

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  specification: {
    appVersion: "v0.75.0",
    chainVersion: "0.38.6",
    framing: "prefixed",
    surface: "operations",
    blockHeaders: false,
    assetShape: "flat",
    erc20ChainId: false,
    dateRange: undefined,
    lossyCursor: false,
    replayHole: false,
    rateLimit: undefined,
  },
  "0.74": {
    ...real,
    appVersion: "v0.74.10",
    chainVersion: "0.38.5",
    erc20ChainId: false,
    dateRange: undefined,
    replayHole: true,
  },
  "0.75": {
    ...real,
    appVersion: "v0.75.8",
    chainVersion: "0.38.6",
    erc20ChainId: false,
    dateRange: { status: 500, missing: "invalid date range, date range is required" },
    replayHole: true,
  },
  "0.79": {
    ...real,
    appVersion: "v0.79.0",
    chainVersion: "0.38.8",
    erc20ChainId: true,
    dateRange: { status: 400, missing: "date range is required" },
    replayHole: false,
  },
}
