import { cursorField, type Listing, toCursor } from "./Paging.ts"

/** Times have up to nine places; padded they sort as text. */
const sortKey = (time: string, id: string): string => {
  const [whole = "", fraction = ""] = time.replace("Z", "").split(".")
  return `${whole}.${fraction.padEnd(9, "0")} ${id}`
}

/** A listing whose rows are ordered by the time of their latest version, then by id; its cursors hold both. */
export const byTimeAndId = <Row>(keyOf: (row: Row) => { readonly time: string; readonly id: string }) => {
  const listing: Listing<Row> = {
    cursorOf: (row) => {
      const { time, id } = keyOf(row)
      return toCursor({ vegaTime: time, id })
    },
    keyOf: (row) => {
      const { time, id } = keyOf(row)
      return sortKey(time, id)
    },
    keyOfCursor: (decoded) => {
      const time = cursorField(decoded, "vegaTime")
      const id = cursorField(decoded, "id")
      return time === undefined || id === undefined ? undefined : sortKey(time, id)
    },
  }
  const sorted = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
    rows
      .map((row) => ({ row, key: listing.keyOf(row) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ row }) => row)
  return { listing, sorted }
}
