import { Clock, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { Treasury } from "../config/Treasury.ts"
import { nameRemedy } from "../config/yaml/decodeAll.ts"
import { formatAmount } from "../domain/Amount.ts"
import { accountKind, type BalanceChange, type BlockMark, specifiedAccountTypes } from "../domain/Balance.ts"
import { isHex64 } from "../domain/Hex.ts"
import { isoOf, millisOf, nanosOf } from "../domain/Time.ts"
import { ageText, plural } from "../domain/text.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { rebaseBalances } from "../http/rebaseBalances.ts"
import { Reconciliation } from "../poller/Reconciliation.ts"
import { partyName, pinnedSum } from "../rules/Account.ts"
import { agreementFlags } from "./approve.ts"
import { gatewayOf, paginationOf, pagingFlags, readFromGateway } from "./assets.ts"
import { withLastFiles } from "./common/client.ts"
import { failWith, printResult, table } from "./common/output.ts"
import { commonFlags, optionalOf, optionalText, setup, textArgument } from "./common/setup.ts"
import { reasonFlag } from "./controls.ts"
import { performAgreed } from "./ledger.ts"
import { instantOf } from "./receipt.ts"

const rebase = Command.make(
  "rebase",
  {
    party: textArgument("party", "Name of the party in the treasury file"),
    asset: textArgument("asset", "Symbol of the asset, or its id where it has none"),
    reason: reasonFlag,
    ...agreementFlags,
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const { party, asset, reason } = chosen
    const done = yield* performAgreed(
      chosen,
      { kind: "rebase", path: "balances/rebase", says: { party, asset, reason } },
      (found, asked) =>
        rebaseBalances(found.treasury, { party, asset, ...asked }).pipe(Effect.provide(Reconciliation.layer)),
    )
    const { rebased, rows, symbol, decimals, accounts } = done
    const sum = (units: bigint | string) =>
      decimals === undefined ? `${units} base units` : `${formatAmount(BigInt(units), decimals)} ${symbol}`
    yield* printResult(chosen.output, done, () =>
      [
        `${rebased}: ${plural(rows, "row")} ${rows === 1 ? "is" : "are"} read again; its rules hold until two comparisons agree`,
        ...accounts.map(
          ({ type, stored, reported }) => `  ${accountKind(type)}: ${sum(stored)} before, ${sum(reported)} now`,
        ),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Read an account's history again where it differs from the gateway's"))

const repeated = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.atLeast(0), Flag.withDescription(`${description}; may be repeated`))

/** Unix nanoseconds, or a time such as 2026-11-21T10:00:00Z. */
const Instant = Schema.String.check(
  Schema.makeFilter((text: string) => /^[0-9]{1,19}$/.test(text) || instantOf(text) !== undefined, {
    expected: "Unix nanoseconds, or a time with its zone, such as 2026-11-21T10:00:00Z",
  }),
)
const nanosIn = (text: string): bigint => (/^[0-9]+$/.test(text) ? BigInt(text) : nanosOf(instantOf(text)?.begin ?? 0))

const flags = {
  asset: optionalText("asset-id", "Show only the asset with this symbol or id"),
  party: repeated("party", "Show only accounts of the party with this name or public key"),
  market: repeated("market", "Show only accounts of this market"),
  accountType: Flag.Literals("account-type", specifiedAccountTypes).pipe(
    Flag.atLeast(0),
    Flag.withDescription("Show only accounts of this type; may be repeated"),
  ),
  start: optionalOf(
    "start",
    Instant,
    "From this time on: Unix nanoseconds, or a time such as 2026-11-21T10:00:00Z; default one hour ago",
  ),
  end: optionalOf("end", Instant, "Before this time; default: until now"),
  ...pagingFlags,
}

/** The balance in units of its asset; in base units if the asset is not pinned, since its decimals are unknown. */
const balanceText = ({ assets }: Treasury, { asset, balance }: Pick<BalanceChange, "asset" | "balance">): string =>
  pinnedSum(assets, asset, balance) ?? `${balance} base units of ${asset.slice(0, 8)}`

/** Public keys of parties that are given by name or key. */
const keysOf = ({ file, parties }: Treasury, asked: ReadonlyArray<string>) =>
  Effect.forEach(asked, (name) => {
    const key = parties.get(name)?.publicKey ?? name
    if (isHex64(key) || key === "network") return Effect.succeed(key)
    const remedy = nameRemedy(name, [...parties.keys()], "the file has no parties")
    return failWith("notFound", `${file}  "${name}" is neither a party nor a public key; ${remedy}`)
  })

const hourNanos = 3_600_000_000_000n

const asOf = (mark: BlockMark | undefined, now: number): string =>
  mark === undefined
    ? "of no known block"
    : `as of block ${mark.height}, ${ageText((now - millisOf(mark.timestamp)) / 1_000)}`

/** Lists balance changes, filtered as the specification's request allows. */
export const balances = Command.make(
  "balances",
  flags,
  Effect.fn(function* (asked) {
    const chosen = yield* withLastFiles(asked)
    const now = yield* Clock.currentTimeMillis
    const start = Option.isSome(chosen.start) ? nanosIn(chosen.start.value) : nanosOf(now) - hourNanos
    const { treasury } = yield* setup(chosen)
    const partyIds = yield* keysOf(treasury, chosen.party)
    const gateway = gatewayOf(treasury, chosen.gateway)
    const page = yield* readFromGateway(
      chosen,
      Effect.flatMap(GatewayReader, (reader) =>
        reader.balanceChanges({
          assetId: Option.getOrUndefined(Option.map(chosen.asset, (name) => treasury.assets.get(name)?.id ?? name)),
          partyIds,
          marketIds: chosen.market,
          accountTypes: chosen.accountType,
          startTimestamp: start,
          endTimestamp: Option.getOrUndefined(Option.map(chosen.end, nanosIn)),
          ...paginationOf(chosen),
        }),
      ),
    )
    yield* printResult(chosen.output, page, () =>
      [
        table([
          ["time", "party", "balance", "market", "type"],
          ...page.rows.map(({ node }) => [
            isoOf(node.timestamp),
            partyName(treasury.parties, node.party),
            balanceText(treasury, node),
            node.market.slice(0, 8) || "-",
            accountKind(node.type),
          ]),
        ]),
        `${plural(page.rows.length, "row")} ${asOf(page.mark, now)}, from ${Option.getOrElse(chosen.gateway, () => gateway.name)}${page.pageInfo.hasNextPage ? `; more with --after ${page.pageInfo.endCursor}` : ""}`,
      ].join("\n"),
    )
  }),
).pipe(
  Command.withDescription("List balance changes; --output json prints whole keys and base units"),
  Command.withSubcommands([rebase]),
)
