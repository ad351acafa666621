import { fromBinary } from "@bufbuild/protobuf"
import { Effect } from "effect"
import { InputDataSchema } from "../../tx/proto/transaction_pb.ts"
import { decodeTransaction, txVersions } from "../../tx/Transaction.ts"
import type { Chain, Included } from "../Chain.ts"
import { formatTime } from "../Time.ts"
import { nodeError, ok, type Refusal, refuse } from "./Answer.ts"
import { commandJson } from "./commandJson.ts"
import { full } from "./Printer.ts"
import { list, type Query, scalar, uint32 } from "./Query.ts"
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

type Meant = (entry: Included) => boolean

/** "filters[tx.submitter]=pk" reaches us as two values of one name. */
const filtersOf = (query: Query): ReadonlyMap<string, string> => {
  const values = list(query, "filters")
  return new Map(values.flatMap((name, n) => (n % 2 === 0 ? [[name, values[n + 1] ?? ""] as const] : [])))
}

/** What a filter looks at; of another name nothing holds. */
const looked: Readonly<Record<string, (entry: Included) => string>> = {
  "tx.submitter": (entry) => entry.party,
  "cmd.type": (entry) => entry.command,
  "command.type": (entry) => entry.command,
  "block.height": (entry) => String(entry.height),
}

const meaningOf = (query: Query): Meant => {
  const filters = [...filtersOf(query)]
  const types = new Set(list(query, "cmd_types"))
  const others = new Set(list(query, "exclude_cmd_types"))
  const parties = new Set(list(query, "parties"))
  return (entry) =>
    filters.every(([name, value]) => looked[name]?.(entry) === value) &&
    (types.size === 0 || types.has(entry.command)) &&
    !others.has(entry.command) &&
    (parties.size === 0 || parties.has(entry.party))
}

/** A place in the chain as one number: blocks hold fewer transactions than this. */
const blockSize = 2n ** 32n
const placeOf = (entry: Included): bigint => BigInt(entry.height) * blockSize + BigInt(entry.index)

const refusal = (message: string): Refusal => refuse(nodeError("InvalidArgument", { code: 10_000, message, inner: "" }))

/** The place that "block.index" names. */
const placeAt = (query: Query, name: string): Effect.Effect<bigint | undefined, Refusal> =>
  Effect.gen(function* () {
    const text = yield* scalar(query, name)
    if (text === undefined) return undefined
    const parts = text.split(".")
    if (parts.length !== 2) return yield* refusal(`invalid cursor string: ${text}`)
    for (const [n, what] of ["block number", "transaction index"].entries()) {
      if (/^[0-9]{1,18}$/.test(parts[n]!)) continue
      return yield* refusal(`invalid ${what}: strconv.ParseUint: parsing "${parts[n]}": invalid syntax`)
    }
    return BigInt(parts[0]!) * blockSize + BigInt(parts[1]!)
  })

/** Which part of the list is asked for. Before a place lie the older transactions, after it the newer ones. */
interface Part {
  readonly before: bigint | undefined
  readonly after: bigint | undefined
  /** Infinity between two cursors. */
  readonly limit: number
  /** Whether those at the old end are taken where there are more than the limit. */
  readonly oldest: boolean
}

/** A limit of 0 is none. A cursor decides by itself from which end the limit counts: the nearest are taken. */
const partOf = (query: Query): Effect.Effect<Part, Refusal> =>
  Effect.gen(function* () {
    const first = (yield* uint32(query, "first")) ?? 0
    const last = (yield* uint32(query, "last")) ?? 0
    const both = query.has("before") && query.has("after")
    if (both && (first > 0 || last > 0)) {
      return yield* refusal(
        "cannot use neither limits `first`, nor `last` when both cursors `before` and `after` are set",
      )
    }
    if (first > 0 && last > 0) {
      return yield* refusal("cannot use both limits `first` and `last` within the same query")
    }
    const before = yield* placeAt(query, "before")
    const after = yield* placeAt(query, "after")
    if (before !== undefined && after !== undefined && after >= before) {
      return yield* refusal("cursors `before` and `after` do not create a valid window")
    }
    if (first > 0 && before !== undefined) {
      return yield* refusal("cannot use cursor `before` when using limit `first`")
    }
    if (last > 0 && after !== undefined) return yield* refusal("cannot use cursor `after` when using limit `last`")
    const limit = both ? Number.POSITIVE_INFINITY : first || last || pageDefault
    return { before, after, limit, oldest: before === undefined && (after !== undefined || last > 0) }
  })

/** Transactions of blocks, newest first. */
export const explorerTransactions: Route = {
  operation: "explorer",
  server: "explorer",
  method: "GET",
  path: "/rest/transactions",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const { before, after, limit, oldest } = yield* partOf(ask.query)
      const isMeant = meaningOf(ask.query)
      const rows = yield* world.node.read((chain: Chain) => {
        const meant = chain.included.filter((entry) => {
          const place = placeOf(entry)
          return isMeant(entry) && (after === undefined || place > after) && (before === undefined || place < before)
        })
        const newestFirst = meant.sort((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1))
        return oldest ? newestFirst.slice(-limit) : newestFirst.slice(0, limit)
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
