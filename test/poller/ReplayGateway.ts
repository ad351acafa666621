import type { BalanceChange } from "../../src/domain/Balance.ts"
import { type History, newHistory } from "../support/HistoryServer.ts"
import { recordedTimeline } from "../support/Recordings.ts"

/** A moment of the recording: what a poller was told then. */
interface Moment {
  /** Unix milliseconds of the recorder's clock. */
  readonly atMillis: number
  /** The block that the node named. */
  readonly begun: History["begun"]
  /** The asset listing, where it was asked for. */
  readonly assets: ReadonlyArray<unknown> | undefined
}

interface Replay {
  /** The whole recorded history, of which `show` lets as much be seen as there was. */
  readonly history: History
  readonly moments: ReadonlyArray<Moment>
  /** Public keys of the parties whose balances were watched. */
  readonly watched: ReadonlyArray<string>
  readonly show: (moment: Moment) => void
}

interface Body {
  readonly balances?: { readonly edges: ReadonlyArray<{ readonly node: Readonly<Record<string, string>> }> }
  readonly assets?: { readonly edges: ReadonlyArray<{ readonly node: unknown }> }
}

/**
 * A gateway that answers any window and the asset listing from ten recorded minutes of a real network, as they were at
 * each recorded moment: below the block of its X-Block-Timestamp, and no further.
 */
export const replayOf = (): Replay => {
  const timeline = recordedTimeline()
  const bodyOf = (kind: string) => timeline.findLast((entry) => entry.kind === kind)?.body as Body
  const rows = (bodyOf("history").balances?.edges ?? []).map(
    ({ node }): BalanceChange => ({
      timestamp: BigInt(node["timestamp"]!),
      balance: BigInt(node["balance"]!),
      party: node["partyId"]!,
      asset: node["assetId"]!,
      market: node["marketId"]!,
      type: node["accountType"]!,
    }),
  )
  const moments = timeline.flatMap((entry): ReadonlyArray<Moment> => {
    if (!["balances", "assets", "history"].includes(entry.kind)) return []
    const headers = new Map(Object.entries(entry.headers).map(([name, value]) => [name.toLowerCase(), value]))
    const begun = {
      height: BigInt(headers.get("x-block-height")!),
      timestamp: BigInt(headers.get("x-block-timestamp")!),
    }
    const assets = entry.kind === "assets" ? (entry.body as Body).assets?.edges.map(({ node }) => node) : undefined
    return [{ atMillis: Math.floor(entry.at * 1_000), begun, assets }]
  })
  const first = timeline.find((entry) => entry.kind === "balances")!
  const watched = new URLSearchParams(first.path.split("?")[1]).getAll("filter.partyIds")
  const history: History = { ...newHistory(rows), begun: moments[0]!.begun }
  const show = ({ atMillis, begun, assets }: Moment) => {
    history.begun = begun
    history.now = () => BigInt(atMillis) * 1_000_000n
    if (assets !== undefined) history.assets = assets
  }
  return { history, moments, watched, show }
}
