import { type Asset, type AssetStatusWord, statusWord } from "../domain/Asset.ts"

/** A field of an asset that was listed with another value before. */
export interface AssetChange {
  readonly field: string
  readonly before: string
  readonly after: string
}

/** What happened to an asset between two listings. */
type AssetEventKind = "status" | "changed" | "vanished" | "returned"

export interface AssetEvent {
  readonly kind: AssetEventKind
  readonly asset: string
  readonly symbol: string
  /** Undefined: the asset was not listed before. */
  readonly from: AssetStatusWord | undefined
  readonly to: AssetStatusWord
  /** Of kind "changed": what changed. */
  readonly changes: ReadonlyArray<AssetChange>
}

/** An asset as stored. */
export interface StoredAsset {
  readonly id: string
  readonly symbol: string
  readonly status: AssetStatusWord
  /** Its fields but the status, by name; undefined where an earlier version stored fewer. */
  readonly fields: Readonly<Record<string, string>> | undefined
  /** Complete listings in a row without it. */
  readonly missed: number
}

/** Complete listings in a row without an asset after which it counts as gone: one alone may be cut short. */
export const missedMax = 2

/** Longest text of a field that is kept and compared; names and symbols are free text of whoever proposes an asset. */
const textMax = 256

/** All that is told of an asset but its status, as text. */
export const fieldsOf = ({ name, symbol, decimals, quantum, source }: Asset): Readonly<Record<string, string>> => {
  const { kind, ...more } = source
  const fields = { name, symbol, decimals: String(decimals), quantum: String(quantum), source: kind, ...more }
  return Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, text.slice(0, textMax)]))
}

const changesOf = (before: StoredAsset["fields"], after: Readonly<Record<string, string>>): Array<AssetChange> => {
  if (before === undefined) return []
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .map((field) => ({ field, before: before[field] ?? "", after: after[field] ?? "" }))
    .filter((change) => change.before !== change.after)
}

/**
 * What a complete listing, without an id twice, tells beside what is stored. `missing` are stored assets that it does
 * not name. Where nothing is stored the listing is the baseline: its assets were there before, so nothing happened.
 */
export const compareListing = (
  stored: ReadonlyMap<string, StoredAsset>,
  listed: ReadonlyArray<Asset>,
): { readonly events: ReadonlyArray<AssetEvent>; readonly missing: ReadonlyArray<StoredAsset> } => {
  const events: Array<AssetEvent> = []
  const ids = new Set(listed.map(({ id }) => id))
  for (const asset of listed) {
    const before = stored.get(asset.id)
    const to = statusWord(asset.status)
    const event = { asset: asset.id, symbol: asset.symbol.slice(0, textMax), from: before?.status, to, changes: [] }
    if (before === undefined) {
      if (stored.size > 0) events.push({ ...event, kind: "status" })
      continue
    }
    if (before.missed >= missedMax) events.push({ ...event, kind: "returned" })
    const changes = changesOf(before.fields, fieldsOf(asset))
    if (changes.length > 0) events.push({ ...event, kind: "changed", changes })
    if (before.status !== to) events.push({ ...event, kind: "status" })
  }
  const missing = [...stored.values()].filter(({ id }) => !ids.has(id))
  for (const { id, symbol, status, missed } of missing) {
    if (missed + 1 !== missedMax) continue
    events.push({ kind: "vanished", asset: id, symbol, from: status, to: status, changes: [] })
  }
  return { events, missing }
}
