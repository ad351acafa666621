import { Schema } from "effect"
import type { BlockMark } from "../../domain/Balance.ts"
import { Flag, orDefault, Text } from "./Numbers.ts"

/** Where a page stands among all rows. `hasPreviousPage` is unreliable on real networks, `hasNextPage` is not. */
export const PageInfo = Schema.Struct({
  startCursor: Text,
  endCursor: Text,
  hasNextPage: Flag,
  hasPreviousPage: Flag,
})
export type PageInfo = typeof PageInfo.Type

/** One page of rows as a gateway gave it, with the block that it claims to stand behind. */
export interface Page<A> {
  readonly rows: ReadonlyArray<{ readonly cursor: string; readonly node: A }>
  readonly pageInfo: PageInfo
  /** Undefined where the gateway sends no block headers. */
  readonly mark: BlockMark | undefined
}

/**
 * The envelope of all listings. Rows may be left out where there are none; `pageInfo` may not, since its absence would
 * read as "no further page".
 */
export const Connection = <S extends Schema.Constraint>(node: S) =>
  Schema.Struct({
    edges: orDefault(Schema.Array(Schema.Struct({ cursor: Text, node })), []),
    pageInfo: PageInfo,
  })

/** The page of a listing as a walk or a reader takes it. */
export const pageOf = <A>(
  { edges, pageInfo }: { readonly edges: Page<A>["rows"]; readonly pageInfo: PageInfo },
  mark: Page<A>["mark"],
): Page<A> => ({ rows: edges, pageInfo, mark })
