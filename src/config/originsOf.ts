import type { Place, Placed } from "./Placed.ts"

/** One value of a treasury, with the place that it comes from. */
interface Origin {
  readonly path: string
  readonly value: string
  readonly at: Place
}

/** Addresses of receivers often hold a token; all else that is secret lies in files. */
const isSecret = (path: string): boolean => /^alerts\.receivers\.[^.]+\.[^.]+\.(url|headers\.[^.]+)$/.test(path)

const masked = "***"

/** Every value in the order in which it stands, secrets masked. */
export const originsOf = (placed: Placed, path = ""): ReadonlyArray<Origin> => {
  const under = (name: string) => (path === "" ? name : `${path}.${name}`)
  if (placed.kind === "text") return [{ path, value: isSecret(path) ? masked : placed.text, at: placed.at }]
  const parts =
    placed.kind === "list"
      ? placed.items.flatMap((item, i) => originsOf(item, under(String(i))))
      : [...placed.entries].flatMap(([name, { value }]) => originsOf(value, under(name)))
  return parts.length > 0 ? parts : [{ path, value: placed.kind === "list" ? "[]" : "{}", at: placed.at }]
}
