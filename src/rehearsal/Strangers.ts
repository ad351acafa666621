import { nearest } from "../config/nearest.ts"
import { isHex64 } from "../domain/Hex.ts"

/** What the file of a treasury calls parties and assets, with their keys and ids. */
export interface HistoryNames {
  readonly party: ReadonlyMap<string, string>
  readonly asset: ReadonlyMap<string, string>
}

/** A party or an asset of a history that the treasury does not have. */
export interface Stranger {
  readonly what: keyof HistoryNames
  readonly text: string
  readonly rows: number
  /** Of its first row. */
  readonly place: string
  /** Whose key, or id, was most likely meant; undefined where none is near. */
  readonly meant: { readonly name: string; readonly key: string } | undefined
}

/** Gathers them while a history is read. */
interface Strangers {
  /** The key or id that a cell names, which is counted where the treasury has no such. */
  readonly keyOf: (what: keyof HistoryNames, text: string, place: () => string) => string
  readonly all: () => ReadonlyArray<Stranger>
}

export const makeStrangers = (names: HistoryNames): Strangers => {
  const keys = { party: new Set(names.party.values()), asset: new Set(names.asset.values()) }
  const seen = new Map<string, Stranger>()
  const meantBy = (what: keyof HistoryNames, text: string): Stranger["meant"] => {
    const key = nearest(
      text,
      [...keys[what]].filter((one) => isHex64(one)),
    )
    const name = [...names[what]].find(([, known]) => known === key)?.[0]
    return key === undefined || name === undefined ? undefined : { name, key }
  }
  return {
    keyOf: (what, text, place) => {
      const key = names[what].get(text)
      if (key !== undefined) return key
      if (keys[what].has(text)) return text
      const known = seen.get(`${what} ${text}`)
      const stranger = known ?? { what, text, rows: 0, place: place(), meant: meantBy(what, text) }
      seen.set(`${what} ${text}`, { ...stranger, rows: stranger.rows + 1 })
      return text
    },
    all: () => [...seen.values()],
  }
}

/** Whether rows of it cannot have been meant so. A key of somebody else and an asset that nobody pinned may be. */
export const isMistaken = ({ what, text, meant }: Stranger): boolean =>
  meant !== undefined || (what === "party" && !isHex64(text))
