import { type Book, coldAddress, funded, keyIn, payoutSum, plainBook, unit } from "./Book.ts"

/** Who may pay whom how much, in base units. */
export interface Line {
  readonly from: string
  /** Keys, or addresses outside of the network. */
  readonly to: ReadonlySet<string>
  readonly perTransfer: bigint
  readonly perDay: bigint
}

/** What bounds all outflow of a run, whatever was in force when. */
export interface Bounds {
  /** Keys that pay for us. */
  readonly payers: ReadonlySet<string>
  readonly lines: ReadonlyArray<Line>
}

const most = (books: ReadonlyArray<Book>, of: (book: Book) => number): bigint =>
  BigInt(Math.max(...books.map(of))) * unit

/** The bounds of a run in which each of these books may have been in force. */
export const boundsOf = (books: ReadonlyArray<Book>): Bounds => {
  const [{ who, funds } = plainBook] = books
  const key = (name: string) => keyIn({ who }, name)
  const line = (from: string, to: ReadonlyArray<string>, perTransfer: bigint, perDay: bigint): Line => ({
    from: key(from),
    to: new Set(to),
    perTransfer,
    perDay,
  })
  const [hot, warm, ops, aux] = [key("hot"), key("warm"), key("ops"), key("aux")]
  const maker = books.find((book) => book.maker !== undefined)?.maker
  return {
    payers: new Set([key("reserve"), ...(maker === undefined ? [] : [key("maker")])]),
    lines: [
      line(
        "reserve",
        [hot, warm],
        most(books, ({ perTransfer }) => perTransfer),
        most(books, ({ per24h }) => per24h),
      ),
      ...(books.some(({ payouts }) => payouts.length > 0)
        ? [line("reserve", [ops], 500n * unit, BigInt(Math.max(...books.map((book) => payoutSum(book).most))) * unit)]
        : []),
      ...(funds === undefined
        ? []
        : [
            line(
              "reserve",
              [keyIn({ who: funds }, "reserve")],
              BigInt(funded.target) * unit,
              BigInt(funded.per24h) * unit,
            ),
          ]),
      ...(maker === "split" ? [line("maker", [ops, aux], 20_000n * unit, 60_000n * unit)] : []),
      ...(maker === "withdraw" ? [line("maker", [coldAddress], 20_000n * unit, 60_000n * unit)] : []),
    ],
  }
}
