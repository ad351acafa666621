import { fromBinary } from "@bufbuild/protobuf"
import { Effect } from "effect"
import { InputDataSchema } from "../../tx/proto/transaction_pb.ts"
import { decodeTransaction, txVersions } from "../../tx/Transaction.ts"
import type { Chain, Included } from "../Chain.ts"
import { formatTime } from "../Time.ts"
import { nodeError, ok, refuse } from "./Answer.ts"
import { commandJson } from "./commandJson.ts"
import { full } from "./Printer.ts"
import { int32, list, type Query, scalar } from "./Query.ts"
import type { Route } from "./Route.ts"

const second = 1_000_000_000n

const nodeOf = (entry: Included) => {
  const wire = decodeTransaction(entry.bytes)
  const data = fromBinary(InputDataSchema, wire?.inputData ?? new Uint8Array())
  const version = Object.entries(txVersions).find(([, number]) => number === wire?.version)?.[0]
  return {
    block: String(entry.height),
    index: entry.index,
    hash: entry.hash.toUpperCase(),
    submitter: entry.party,
    type: entry.command,
    code: entry.code,
    cursor: `${entry.height}.${entry.index}`,
    command: {
      nonce: data.nonce.toString(),
      blockHeight: data.blockHeight.toString(),
      ...commandJson(data.command, full),
    },
    signature: {
      value: wire?.signature?.value ?? "",
      algo: wire?.signature?.algo ?? "",
      version: wire?.signature?.version ?? 0,
    },
    ...(entry.code === 0 ? {} : { error: entry.error }),
    // The explorer keeps whole seconds.
    createdAt: formatTime(entry.time - (entry.time % second)),
    version: version ?? "TX_VERSION_UNSPECIFIED",
    pow: wire?.pow === undefined ? null : { tid: wire.pow.tid, nonce: wire.pow.nonce.toString() },
  }
}

/** One transaction of a block by its hash, in either case of letters. Those that only wait are not there. */
export const explorerTransaction: Route = {
  operation: "explorer",
  server: "explorer",
  method: "GET",
  path: "/rest/transactions/:hash",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const hash = (ask.params["hash"] ?? "").toLowerCase()
      const found = yield* world.node.read((chain) => chain.included.findLast((entry) => entry.hash === hash))
      if (found === undefined) {
        return yield* refuse(nodeError("NotFound", { code: 10_001, message: "transaction not found", inner: "" }))
      }
      return ok({ transaction: nodeOf(found) })
    }),
}

const pageDefault = 50
const pageMax = 5_000

type Meant = (entry: Included) => boolean

/** "filters[tx.submitter]=pk" reaches us as two values of one name. */
const filtersOf = (query: Query): ReadonlyMap<string, string> => {
  const values = list(query, "filters")
  return new Map(values.flatMap((name, n) => (n % 2 === 0 ? [[name, values[n + 1] ?? ""] as const] : [])))
}

const meaningOf = (query: Query): Meant => {
  const filters = filtersOf(query)
  const is = (name: string, value: string): boolean => (filters.get(name) ?? value) === value
  const types = new Set(list(query, "cmd_types"))
  const others = new Set(list(query, "exclude_cmd_types"))
  const parties = new Set(list(query, "parties"))
  return (entry) =>
    is("tx.submitter", entry.party) &&
    is("cmd.type", entry.command) &&
    is("block.height", String(entry.height)) &&
    (types.size === 0 || types.has(entry.command)) &&
    !others.has(entry.command) &&
    (parties.size === 0 || parties.has(entry.party))
}

const placeOf = (entry: Included): number => entry.height * 1_000_000 + entry.index

const placeOfCursor = (cursor: string | undefined): number | undefined => {
  const match = /^(\d+)\.(\d+)$/.exec(cursor ?? "")
  return match === null ? undefined : Number(match[1]) * 1_000_000 + Number(match[2])
}

/** Transactions of blocks, newest first. */
export const explorerTransactions: Route = {
  operation: "explorer",
  server: "explorer",
  method: "GET",
  path: "/rest/transactions",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const first = yield* int32(ask.query, "first")
      const last = yield* int32(ask.query, "last")
      const after = placeOfCursor(yield* scalar(ask.query, "after"))
      const before = placeOfCursor(yield* scalar(ask.query, "before"))
      const limit = Math.min(pageMax, Math.max(1, first ?? last ?? pageDefault))
      const isMeant = meaningOf(ask.query)
      const rows = yield* world.node.read((chain: Chain) => {
        const meant = chain.included.filter((entry) => {
          const place = placeOf(entry)
          return isMeant(entry) && (after === undefined || place < after) && (before === undefined || place > before)
        })
        const newestFirst = meant.sort((a, b) => placeOf(b) - placeOf(a))
        return first === undefined && last !== undefined ? newestFirst.slice(-limit) : newestFirst.slice(0, limit)
      })
      return ok({ transactions: rows.map(nodeOf) })
    }),
}

export const explorerInfo: Route = {
  operation: "explorer",
  server: "explorer",
  method: "GET",
  path: "/rest/info",
  specified: false,
  answer: ({ profile }) => Effect.succeed(ok({ version: profile.appVersion, commitHash: "" })),
}
