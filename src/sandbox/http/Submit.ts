import { create } from "@bufbuild/protobuf"
import { Effect } from "effect"
import { type Transaction, TransactionSchema } from "../../tx/proto/transaction_pb.ts"
import { reencodeTransaction, txVersions } from "../../tx/Transaction.ts"
import { invalidArgument, nodeError, ok, type RefusedRequest, type Route } from "./Answer.ts"

const internal = (message: string) => nodeError("Internal", { code: 10_000, message, inner: "" })

/** Submits a transaction to the mempool and returns its answer. The type of submission has no effect. */
export const submit: Route = {
  operation: "submit",
  method: "POST",
  path: "/transaction",
  answer: Effect.fnUntraced(function* (world, ask) {
    const bytes = yield* readTransaction(yield* ask.body)
    if (bytes === undefined) return internal("proto: Marshal called with nil")
    const said = yield* world.node.submit(bytes)
    if (said._tag === "Turned") return internal(said.text)
    const success = said.code === 0
    const txHash = said.hash.toUpperCase()
    return { ...ok({ success, txHash, code: said.code, data: said.text, log: "", height: "0" }), accepted: success }
  }),
}

type Fields = Readonly<Record<string, unknown>>

const cannotRead = (type: string) => invalidArgument(`json: cannot unmarshal value into Go value of type ${type}`)

/**
 * Reads the body of a submission as the network's gateway does: unknown names ignored, numbers quoted or not, bytes as
 * padded base64. Returns the transaction as the node serialises it; undefined where the body holds none.
 */
export const readTransaction = Effect.fnUntraced(function* (body: string) {
  const request = yield* parseBody(body)
  if (!isFields(request)) return undefined
  const tx = request["tx"]
  if (tx === undefined || tx === null) return undefined
  if (!isFields(tx)) return yield* cannotRead("map[string]json.RawMessage")
  const inputData = pick(tx, "inputData")
  const signature = pick(tx, "signature")
  const pow = pick(tx, "pow")
  const pubKey = yield* text(pick(tx, "pubKey"))
  const address = yield* text(pick(tx, "address"))
  const wire = create(TransactionSchema, {
    inputData: yield* bytes(inputData),
    version: yield* versionOf(pick(tx, "version")),
    ...(isFields(signature)
      ? {
          signature: {
            value: (yield* text(pick(signature, "value"))) ?? "",
            algo: (yield* text(pick(signature, "algo"))) ?? "",
            version: Number(yield* unsigned(pick(signature, "version"), 32)),
          },
        }
      : {}),
    ...(isFields(pow)
      ? { pow: { tid: (yield* text(pick(pow, "tid"))) ?? "", nonce: yield* unsigned(pick(pow, "nonce"), 64) } }
      : {}),
  })
  wire.from = sender(pubKey, address)
  return reencodeTransaction(wire)
})

const sender = (pubKey: string | undefined, address: string | undefined): Transaction["from"] => {
  if (pubKey !== undefined) return { case: "pubKey", value: pubKey }
  return address === undefined ? { case: undefined } : { case: "address", value: address }
}

/** The JSON value, whole numbers as bigint so that 64 bits survive. An empty body is no value. */
const parseBody = (body: string): Effect.Effect<unknown, RefusedRequest> => {
  if (body.trim() === "") return Effect.undefined
  try {
    return Effect.succeed(JSON.parse(body, wholeNumbers))
  } catch (error) {
    const message = error instanceof Error ? error.message : ""
    const at = /position (\d+)/.exec(message)
    const broken = at === null || Number(at[1]) >= body.length || /^Untermin|end of JSON/.test(message)
    const why = broken ? "unexpected EOF" : `invalid character '${body[Number(at[1])]}' looking for beginning of value`
    return Effect.fail(invalidArgument(why))
  }
}

function wholeNumbers(this: unknown, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number") return value
  const source = context?.source ?? String(value)
  return /^-?[0-9]+$/.test(source) && source.length < 30 ? BigInt(source) : value
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Value under a name; undefined if it is null or absent. */
const pick = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined

const text = (value: unknown): Effect.Effect<string | undefined, RefusedRequest> =>
  value === undefined || typeof value === "string" ? Effect.succeed(value) : Effect.fail(cannotRead("string"))

const bytes = (value: unknown): Effect.Effect<Uint8Array<ArrayBuffer>, RefusedRequest> => {
  if (value === undefined) return Effect.succeed(new Uint8Array(0))
  if (typeof value !== "string") return Effect.fail(cannotRead("[]uint8"))
  if (value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) {
    const at = /[^A-Za-z0-9+/=]/.exec(value)?.index ?? value.length - (value.length % 4)
    return Effect.fail(invalidArgument(`illegal base64 data at input byte ${at}`))
  }
  return Effect.succeed(Uint8Array.from(Buffer.from(value, "base64")))
}

const unsigned = (value: unknown, bits: 32 | 64): Effect.Effect<bigint, RefusedRequest> => {
  if (value === undefined) return Effect.succeed(0n)
  const digits = typeof value === "bigint" ? value.toString() : value
  if (typeof digits === "string" && /^[0-9]{1,25}$/.test(digits)) {
    const n = BigInt(digits)
    if (n < 2n ** BigInt(bits)) return Effect.succeed(n)
  }
  return Effect.fail(cannotRead(`uint${bits}`))
}

/** A name, or a number that is not quoted: numbers pass here whether they mean something or not. */
const versionOf = (value: unknown): Effect.Effect<number, RefusedRequest> => {
  if (value === undefined) return Effect.succeed(0)
  if (typeof value === "bigint" && value >= 0n && value < 2n ** 31n) return Effect.succeed(Number(value))
  const found = Object.entries(txVersions).find(([name]) => name === value)
  return found === undefined
    ? Effect.fail(invalidArgument(`unknown value "${String(value)}" for enum vega.commands.v1.TxVersion`))
    : Effect.succeed(found[1])
}
