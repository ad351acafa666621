import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { statusText, statusWord } from "../domain/Asset.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { printResult, table } from "./output.ts"
import { given, paginationOf, pagingFlags, reading } from "./paging.ts"

/** The specification's asset listing by hand. */
export const assets = Command.make(
  "assets",
  {
    assetId: Flag.String("asset-id").pipe(Flag.withDescription("This asset alone"), Flag.optional),
    ...pagingFlags,
  },
  Effect.fn(function* (chosen) {
    const page = yield* reading(
      chosen,
      Effect.flatMap(GatewayReader, (reader) =>
        reader.assets({ ...given("assetId", chosen.assetId), ...paginationOf(chosen) }),
      ),
    )
    yield* printResult(chosen.output, page, () =>
      [
        table([
          ["symbol", "status", "decimals", "quantum", "source", "id"],
          ...page.rows.map(({ node }) => [
            node.symbol,
            statusText(statusWord(node.status)),
            String(node.decimals),
            String(node.quantum),
            node.source.kind,
            node.id,
          ]),
        ]),
        `${page.rows.length} assets${page.pageInfo.hasNextPage ? `; more with --after ${page.pageInfo.endCursor}` : ""}`,
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("List the assets of the network"))
