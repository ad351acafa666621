import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { statusText, statusWord } from "../domain/Asset.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { failWith } from "./CliFailure.ts"
import { printResult, table } from "./output.ts"
import { given, paginationOf, pagingFlags, reading } from "./paging.ts"
import { pinAssets } from "./pinAssets.ts"
import { fileArgument, fileOf } from "./setup.ts"

/** The specification's asset listing by hand. */
export const assets = Command.make(
  "assets",
  {
    file: fileArgument,
    assetId: Flag.String("asset-id").pipe(Flag.withDescription("This asset alone"), Flag.optional),
    pin: Flag.Boolean("pin").pipe(
      Flag.withDescription("Show the pins for a treasury file, to be put into it by hand"),
      Flag.withDefault(false),
    ),
    symbol: Flag.String("symbol").pipe(
      Flag.withDescription("With --pin: this asset, instead of all that the file uses; may be repeated"),
      Flag.atLeast(0),
    ),
    ...pagingFlags,
  },
  Effect.fn(function* (chosen) {
    if (chosen.pin) {
      const { pins, text } = yield* pinAssets({
        file: fileOf(chosen),
        symbols: chosen.symbol,
        ids: Option.toArray(chosen.assetId),
        gateway: chosen.gateway,
      }).pipe(Effect.catchTag("GatewayError", (error) => failWith("failure", error.message)))
      const assets = Object.fromEntries(pins.map(({ symbol, ...pin }) => [symbol, pin]))
      return yield* printResult(chosen.output, { assets }, () => text)
    }
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
