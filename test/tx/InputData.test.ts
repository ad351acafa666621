import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { Command, InputData } from "../../src/domain/Command.ts"
import { decodeInputData, encodeInputData } from "../../src/tx/InputData.ts"
import { withChainPrefix } from "../../src/tx/Transaction.ts"
import { fromHex, toHex, vectors } from "./Vectors.ts"

const uint = (bits: bigint) => Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: 2n ** bits - 1n }))
const Text = Schema.String.check(Schema.isPattern(/^[ -~éß€]{0,40}$/))
const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 }))
const Parts = Schema.Struct({
  nonce: uint(64n),
  blockHeight: uint(64n),
  amount: uint(256n),
  time: uint(63n),
  epochs: Schema.Struct({ start: uint(64n), end: uint(64n), withEnd: Schema.Boolean }),
  from: Small,
  to: Small,
  a: Text,
  b: Text,
  c: Text,
})

/** One command of each kind out of the same random parts. */
const commandsOf = (p: typeof Parts.Type): ReadonlyArray<Command> => {
  const amount = baseUnits(p.amount)
  const transfer = { fromAccountType: p.from, to: p.a, toAccountType: p.to, asset: p.b, amount, reference: p.c }
  const { start, end, withEnd } = p.epochs
  return [
    { _tag: "Transfer", ...transfer, kind: { _tag: "OneOff", deliverOn: p.time } },
    {
      _tag: "Transfer",
      ...transfer,
      kind: { _tag: "Recurring", startEpoch: start, factor: p.c, ...(withEnd ? { endEpoch: end } : {}) },
    },
    { _tag: "CancelTransfer", transferId: p.a },
    { _tag: "Withdraw", amount, asset: p.b },
    { _tag: "Withdraw", amount, asset: p.b, receiverAddress: p.c },
  ]
}

const same = (a: Result.Result<InputData, string>, b: InputData) => assert.deepStrictEqual(a, Result.succeed(b))

const sample = fromHex(vectors.computed.cases.transfer_oneoff.inputDataHex)

describe("InputData", () => {
  it.prop(
    "decodes what it encodes, for every command",
    { parts: Parts },
    ({ parts }) => {
      for (const command of commandsOf(parts)) {
        const data = { nonce: parts.nonce, blockHeight: parts.blockHeight, command }
        same(decodeInputData(encodeInputData(data)), data)
      }
    },
    { arbitrary: { runs: 300 } },
  )

  it("tells a withdrawal with an empty receiver from one without", () => {
    const withdraw = { _tag: "Withdraw", amount: baseUnits(1n), asset: "x" } as const
    const bare = encodeInputData({ nonce: 1n, blockHeight: 1n, command: withdraw })
    const empty = encodeInputData({ nonce: 1n, blockHeight: 1n, command: { ...withdraw, receiverAddress: "" } })
    assert.notStrictEqual(toHex(bare), toHex(empty))
    same(decodeInputData(bare), { nonce: 1n, blockHeight: 1n, command: withdraw })
    same(decodeInputData(empty), { nonce: 1n, blockHeight: 1n, command: { ...withdraw, receiverAddress: "" } })
  })

  it("never reads an altered byte as the same command", () => {
    const original = decodeInputData(sample)
    let refused = 0
    for (let at = 0; at < sample.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const altered = Uint8Array.from(sample)
        altered[at] = sample[at]! ^ (1 << bit)
        const decoded = decodeInputData(altered)
        if (Result.isFailure(decoded)) refused++
        else assert.notDeepEqual(decoded, original, `byte ${at} bit ${bit}`)
      }
    }
    assert.isAbove(refused, 0)
  })

  it("refuses every shortened message", () => {
    for (let size = 0; size < sample.length; size++) {
      assert.isTrue(Result.isFailure(decodeInputData(sample.subarray(0, size))), `${size} bytes`)
    }
  })

  it.each([
    ["nothing", ""],
    ["no message at all", "ffffffff"],
    ["no command", "080110fd0d"],
    ["a command that is not known here (1001)", "080110fd0dca3e00"],
    ["a field that is not known here (3)", `${toHex(sample)}1801`],
    ["the bytes with the chain id in front", toHex(withChainPrefix("vega-sandbox-1", sample))],
    ["a nonce spelled in two bytes", toHex(sample).replace(/^08c5ffffffffffffffff01/, "088100")],
    ["a nonce that stands twice", `0801${toHex(sample)}`],
    ["two commands", `${toHex(sample)}aa3f020a00`],
    ["a transfer without a kind", "080110fd0da23f0708041a002a0131"],
    ["an amount with a zero in front", "080110fd0de23e070a03303037120178"],
    ["an amount with a sign", "080110fd0de23e060a022b37120178"],
    ["an amount in hexadecimal", "080110fd0de23e080a0430783130120178"],
    ["no amount", "080110fd0de23e03120178"],
    ["text that is no UTF-8", "080110fd0daa3f040a02c328"],
  ])("refuses %s", (_name, hex) => {
    const result = decodeInputData(fromHex(hex))
    assert.isTrue(Result.isFailure(result))
    if (Result.isFailure(result)) assert.isAbove(result.failure.length, 10)
  })
})
