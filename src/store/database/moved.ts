/** Setting of a store that was moved, and that no process may run: "ID TEXT", the migration's id and the reason. */
export const movedKey = "moved"

export const movedQuery = `SELECT value FROM settings WHERE key = '${movedKey}'`

/** The setting's value. Only the migration with this id may go on. */
export interface Mark {
  readonly id: string
  readonly text: string
}

export const markOf = ([row]: ReadonlyArray<ReadonlyArray<unknown>>): Mark | undefined => {
  if (row === undefined) return undefined
  const [id = "", ...words] = String(row[0]).split(" ")
  return { id, text: words.join(" ") }
}
