/** Setting of a store that no process may run: `ID TEXT`, the migration and why. */
export const movedKey = "moved"

/** Where a row of it is found. */
export const movedQuery = `SELECT value FROM settings WHERE key = '${movedKey}'`

/** A mark names its migration, so that only that one goes on. */
export interface Mark {
  readonly id: string
  readonly text: string
}

export const markOf = ([row]: ReadonlyArray<ReadonlyArray<unknown>>): Mark | undefined => {
  if (row === undefined) return undefined
  const [id = "", ...words] = String(row[0]).split(" ")
  return { id, text: words.join(" ") }
}
