const gap = "@gap@"

/** The document as JSON, with the given text, JSON or not, in the place of one value. */
export const withText = (document: object, path: string, text: string): string => {
  const copy = structuredClone(document) as Record<string, unknown>
  const [last, parent] = walk(copy, path)
  parent[last] = gap
  return JSON.stringify(copy).replace(`"${gap}"`, () => text)
}

/** The document without one key. */
export const without = (document: object, path: string): string => {
  const copy = structuredClone(document) as Record<string, unknown>
  const [last, parent] = walk(copy, path)
  delete parent[last]
  return JSON.stringify(copy)
}

/** The document with more text at the front of one of its objects. */
export const inFront = (document: object, path: string, text: string): string =>
  withText(
    document,
    path,
    JSON.stringify(valueAt(document, path)).replace("{", () => `{${text},`),
  )

export const valueAt = (document: object, path: string): unknown => {
  const [last, parent] = walk(document as Record<string, unknown>, path)
  return parent[last]
}

const walk = (document: Record<string, unknown>, path: string): readonly [string, Record<string, unknown>] => {
  const keys = path.split(".")
  let at = document
  for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>
  return [keys.at(-1) ?? "", at]
}

/** The paths of all objects and lists in it, itself left out. */
export const containersOf = (document: object): ReadonlyArray<string> =>
  Object.entries(document).flatMap(([key, value]) =>
    typeof value === "object" && value !== null ? [key, ...containersOf(value).map((path) => `${key}.${path}`)] : [],
  )
