import type { Treasury } from "../config/Treasury.ts"

/** Names of parties with their keys, and symbols of pinned assets with their ids. */
export interface Names {
  readonly parties: ReadonlyMap<string, string>
  readonly assets: ReadonlyMap<string, string>
}

export const namesOf = ({ parties, assets }: Pick<Treasury, "parties" | "assets">): Names => ({
  parties: new Map([...parties.values()].map(({ name, publicKey }) => [name, publicKey])),
  assets: new Map([...assets.values()].map(({ symbol, id }) => [symbol, id])),
})

const parts = (scope: string): readonly [kind: string, name: string] => {
  const at = scope.indexOf(":")
  return [scope.slice(0, Math.max(0, at)), scope.slice(at + 1)]
}

const named = (kind: string, { parties, assets }: Names): ReadonlyMap<string, string> | undefined =>
  kind === "party" ? parties : kind === "asset" || kind === "pin" ? assets : undefined

/** The scope by what outlives names: a party's key, an asset's id. Rules go by their names. */
export const keptScope = (scope: string, names: Names): string => {
  const [kind, name] = parts(scope)
  const key = named(kind, names)?.get(name)
  return key === undefined ? scope : `${kind}:${key}`
}

/** The scope under today's names; as it is kept where nothing has that key or id any more. */
export const shownScope = (kept: string, names: Names): string => {
  const [kind, key] = parts(kept)
  const found = [...(named(kind, names) ?? [])].find(([, one]) => one === key)
  return found === undefined ? kept : `${kind}:${found[0]}`
}

/** The rule that a scope stops; undefined for one of something else. */
export const ruleOfScope = (scope: string): string | undefined => {
  const [kind, name] = parts(scope)
  return kind === "rule" || kind === "lock" ? name : undefined
}
