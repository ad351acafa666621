import { sign } from "node:crypto"
import { sha3_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Data, Effect } from "effect"
import { baseUnits } from "../../src/domain/Amount.ts"
import { accountTypeNumbers } from "../../src/domain/Balance.ts"
import { Command } from "../../src/domain/Command.ts"
import { privateKeyOf, publicKeyOf } from "../../src/sandbox/Keys.ts"
import { encodeInputData } from "../../src/tx/InputData.ts"
import { isSolved, leadingZeroBits, powHash } from "../../src/tx/ProofOfWork.ts"
import {
  type Framing,
  frame,
  signatureAlgorithm,
  signatureVersion,
  signingDigest,
  transactionBytes,
  transferId,
  txHash,
} from "../../src/tx/Transaction.ts"
import { askHere } from "./InProcess.ts"
import { signingKey } from "./signingKey.ts"
import { waitMillisMax } from "./until.ts"
import type { Arrived } from "./wire.ts"

/** A client of the network that shares no code with the daemon's gateway and signer: it tells what the wire says. */
export interface TestClient {
  readonly url: string
  readonly chainId: string
  /** Seed of the sandbox's keys. */
  readonly seed: string
  /** Requests stay within the process: for tests of what the network says, not of how it travels. */
  readonly isHere?: boolean
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined where the text is not JSON. */
  readonly json: unknown
}

/** What lies at a path such as "assets.edges.0.node.id" of an answer; undefined where nothing does. */
export const at = (reply: Reply, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
      reply.json,
    )

/** No answer came: the connection ended, or patience did. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly cause: unknown }> {}

interface RequestOptions {
  readonly method?: string
  readonly body?: string
  /** Milliseconds of real time for which an answer is waited for; default 30 s. */
  readonly patience?: number
}

/** One request. */
export const request = (
  client: Pick<TestClient, "url" | "isHere">,
  path: string,
  init: RequestOptions = {},
): Effect.Effect<Reply, NoAnswer> =>
  Effect.tryPromise({
    try: async (signal) => {
      const method = init.method ?? (init.body === undefined ? "GET" : "POST")
      const here = client.isHere === true ? askHere(client.url, { method, path, body: init.body ?? "" }) : undefined
      if (here !== undefined) return replyOf(await here)
      const patience = AbortSignal.timeout(init.patience ?? waitMillisMax)
      const response = await fetch(client.url + path, {
        method,
        ...(init.body === undefined ? {} : { body: init.body }),
        signal: AbortSignal.any([signal, patience]),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: jsonOf(text) }
    },
    catch: (cause) => new NoAnswer({ cause }),
  })

const replyOf = ({ told, broken }: Arrived): Reply => {
  if (told === undefined || broken !== undefined) throw new Error(broken ?? "the connection ended")
  return { status: told.status, headers: new Headers(told.headers), text: told.body, json: jsonOf(told.body) }
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface Head {
  readonly height: number
  readonly hash: string
  readonly difficulty: number
}

/** The newest block, and what work it asks for. */
export const head = (client: TestClient): Effect.Effect<Head, NoAnswer> =>
  Effect.map(request(client, "/blockchain/height"), (reply) => ({
    height: Number(at(reply, "height")),
    hash: String(at(reply, "hash")),
    difficulty: Number(at(reply, "spamPowDifficulty")),
  }))

/** Makes blocks and returns the height after them. */
export const step = (client: TestClient, count = 1): Effect.Effect<number, NoAnswer> =>
  Effect.map(request(client, "/sandbox/blocks", { body: JSON.stringify({ count }) }), (reply) =>
    Number(at(reply, "height")),
  )

let unique = 0

/** What is signed and how: each part can be spoilt. */
export interface Draft {
  readonly from: string
  readonly command: Command
  readonly nonce?: bigint
  /** Height and hash that the work belongs to. */
  readonly height: number
  readonly hash: string
  readonly difficulty: number
  /** Exactly this many zero bits instead of at least `difficulty`. */
  readonly zeros?: number
  readonly tid?: string
  readonly framing?: Framing
  readonly chainId?: string
  readonly version?: 2 | 3
}

export interface Signed {
  readonly body: string
  /** The serialised transaction in base64, as the raw operations take it. */
  readonly raw: string
  /** Lower case. */
  readonly hash: string
  readonly transferId: string
  readonly tid: string
  readonly nonce: bigint
  readonly signature: string
}

/** Signs and solves. The same draft gives the same signature. */
export const signed = (client: TestClient, draft: Draft): Signed => {
  const nonce = draft.nonce ?? BigInt(++unique)
  const chainId = draft.chainId ?? client.chainId
  const version = draft.version ?? 3
  const data = encodeInputData({ nonce, blockHeight: BigInt(draft.height), command: draft.command })
  const key = signingKey(privateKeyOf(client.seed, draft.from))
  const signature = sign(null, signingDigest(data, version === 3 ? chainId : undefined), key).toString("hex")
  const tid = draft.tid ?? bytesToHex(sha3_256(utf8ToBytes(`tid ${++unique}`)))
  const pow = { tid, nonce: solve(draft, tid) }
  const pubKey = publicKeyOf(client.seed, draft.from)
  const inputData = draft.framing === "prefixed" ? frame("prefixed", chainId, data) : data
  const tx = {
    inputData: Buffer.from(inputData).toString("base64"),
    signature: { value: signature, algo: signatureAlgorithm, version: signatureVersion },
    pubKey,
    version: `TX_VERSION_V${version}`,
    pow: { tid, nonce: String(pow.nonce) },
  }
  const bytes = transactionBytes({ inputData, signature, pubKey, version, pow })
  return {
    body: JSON.stringify({ tx, type: "TYPE_SYNC" }),
    raw: Buffer.from(bytes).toString("base64"),
    hash: txHash(bytes),
    transferId: transferId(signature),
    tid,
    nonce,
    signature,
  }
}

const solve = (draft: Draft, tid: string): bigint => {
  const work = { blockHash: draft.hash, tid }
  for (let n = 0n; ; n++) {
    if (draft.zeros === undefined) {
      if (isSolved(work, n, draft.difficulty)) return n
    } else if (leadingZeroBits(powHash(work, n)) === draft.zeros) return n
  }
}

/** A one-off transfer from general account to general account; amounts in base units. */
export const payment = (
  client: TestClient,
  to: string,
  amount: bigint,
  options: { readonly asset: string; readonly reference?: string; readonly deliverOn?: bigint },
): Command =>
  Command.cases.Transfer.make({
    fromAccountType: accountTypeNumbers.ACCOUNT_TYPE_GENERAL,
    to: publicKeyOf(client.seed, to),
    toAccountType: accountTypeNumbers.ACCOUNT_TYPE_GENERAL,
    asset: options.asset,
    amount: baseUnits(amount),
    reference: options.reference ?? "",
    kind: { _tag: "OneOff", deliverOn: options.deliverOn ?? 0n },
  })

export const submit = (client: TestClient, tx: Signed, patience?: number): Effect.Effect<Reply, NoAnswer> =>
  request(client, "/transaction", { body: tx.body, ...(patience === undefined ? {} : { patience }) })
