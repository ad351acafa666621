import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { submissionRequest } from "../../src/gateway/GatewayWriter.ts"
import { decodeInputData, encodeInputData } from "../../src/tx/InputData.ts"
import { isSolved } from "../../src/tx/ProofOfWork.ts"
import {
  decodeTransaction,
  reencodeTransaction,
  signingDigest,
  transactionBytes,
  transferId,
  txHash,
  verifySignature,
} from "../../src/tx/Transaction.ts"
import { recordedAnswers, recordedTimeline, recordedTransactions } from "../support/Recordings.ts"

const chainId = "vega-ref-tm"

/** Bytes that are no transaction of a command known here, and why. */
const strangers: Readonly<Record<string, string>> = {
  "garbage bytes": "no message at all",
  "empty bytes": "a message without anything in it",
  "order on unknown market": "an order submission, which no treasury sends",
  "vote on unknown proposal": "a vote, which no treasury sends",
  "party profile": "a profile, which no treasury sends",
}
const badSignatures = ["bad signature", "wrong chain id", "JSON bad signature", "JSON wrong chain id"]

const all = recordedTransactions()
const known = all.filter(({ name }) => strangers[name] === undefined)

interface Posted {
  readonly tx: {
    readonly inputData: string
    readonly signature: { readonly value: string }
    readonly pubKey: string
    readonly pow: { readonly tid: string; readonly nonce: string }
  }
}
const isPosted = (request: unknown): request is Posted =>
  typeof request === "object" &&
  request !== null &&
  "tx" in request &&
  typeof request.tx === "object" &&
  request.tx !== null &&
  "inputData" in request.tx &&
  "pow" in request.tx

describe("recorded transactions", () => {
  it("are there", () => {
    assert.strictEqual(all.length, 46)
    assert.strictEqual(known.length, 40)
  })

  it.each(all)("$file, $name: hashes to the stored value", ({ bytes, sha256 }) => {
    assert.strictEqual(txHash(bytes), sha256)
  })

  it.each(known)("$file, $name: decodes and encodes to itself", (recorded) => {
    const wire = decodeTransaction(recorded.bytes)!
    assert.deepStrictEqual(reencodeTransaction(wire), recorded.bytes)
    const input = Result.getOrThrow(decodeInputData(wire.inputData))
    assert.deepStrictEqual(encodeInputData(input), wire.inputData)
    assert.strictEqual(wire.from.case, "pubKey")
    if (recorded.transferId !== undefined) {
      assert.strictEqual(transferId(wire.signature!.value), recorded.transferId)
    }
    const valid = verifySignature(
      wire.from.value ?? "",
      signingDigest(wire.inputData, chainId),
      wire.signature?.value ?? "",
    )
    assert.strictEqual(valid, !badSignatures.includes(recorded.name))
  })

  it.each(all.filter(({ name }) => strangers[name] !== undefined))(
    "$file, $name: is no command that is known here",
    ({ bytes }) => {
      const wire = decodeTransaction(bytes)
      assert.isTrue(wire === undefined || Result.isFailure(decodeInputData(wire.inputData)))
    },
  )

  it("are rebuilt from their parts, 534 times in the timeline and 22 elsewhere", () => {
    const heads = new Map<string, string>()
    for (const { kind, body } of recordedTimeline()) {
      if (kind !== "height" || typeof body !== "object" || body === null) continue
      if ("height" in body && "hash" in body) heads.set(String(body.height), String(body.hash))
    }
    let count = 0
    let solved = 0
    for (const { file, name, request, body } of recordedAnswers()) {
      if (!isPosted(request)) continue
      const { tx } = request
      const rebuilt = {
        inputData: Uint8Array.from(Buffer.from(tx.inputData, "base64")),
        signature: tx.signature.value,
        pubKey: tx.pubKey,
        version: 3,
        pow: { tid: tx.pow.tid, nonce: BigInt(tx.pow.nonce) },
      }
      assert.deepEqual(submissionRequest(rebuilt).tx, request.tx, `${file}, ${name}`)
      if (typeof body === "object" && body !== null && "txHash" in body) {
        assert.strictEqual(txHash(transactionBytes(rebuilt)).toUpperCase(), body.txHash)
      }
      count++
      if (strangers[name] !== undefined) continue
      const input = Result.getOrThrow(decodeInputData(rebuilt.inputData))
      assert.deepStrictEqual(encodeInputData(input), rebuilt.inputData)
      const blockHash = heads.get(input.blockHeight.toString())
      if (file === "timeline" && blockHash !== undefined) {
        assert.isTrue(isSolved({ blockHash, tid: tx.pow.tid }, rebuilt.pow.nonce, 15))
        solved++
      }
    }
    assert.strictEqual(count, 534 + 22)
    assert.strictEqual(solved, 298)
  })
})
