import { baseUnits } from "../../../src/domain/Amount.ts"
import { accountTypeNumbers } from "../../../src/domain/Balance.ts"
import { Command } from "../../../src/domain/Command.ts"
import { encodeInputData } from "../../../src/tx/InputData.ts"
import { type Benchmark, besidePeers } from "../Benchmark.ts"
import { wallet } from "../peers.ts"

const to = "ab".repeat(32)
const asset = "cd".repeat(32)
const amount = 1_000_000_000n
const height = 1_234_567n
const general = accountTypeNumbers.ACCOUNT_TYPE_GENERAL

const own = (nonce: bigint): Uint8Array =>
  encodeInputData({
    nonce,
    blockHeight: height,
    command: Command.cases.Transfer.make({
      fromAccountType: general,
      to,
      toAccountType: general,
      asset,
      amount: baseUnits(amount),
      reference: "",
      kind: { _tag: "OneOff", deliverOn: 0n },
    }),
  })
const peer = (nonce: bigint): Uint8Array => wallet.encode({ nonce, height, to, asset, amount })

const each = (encode: (nonce: bigint) => unknown) => (from: number, count: number) => {
  for (let n = from; n < from + count; n++) encode(BigInt(n + 1))
}

/** The bytes of a transfer, which are the same bytes by both. */
export const encode: Benchmark = {
  name: "encode",
  about: "transfers written as the bytes that are signed",
  limits: "Building the message by @bufbuild/protobuf at run time. It is a thousandth of a payment's time.",
  run: async () => {
    if (!Buffer.from(own(7n)).equals(peer(7n))) throw new Error("the two encode different bytes")
    const variants = [
      { name: "encode transfers", batch: 256, work: each(own) },
      { name: "@vegaprotocol/protos", batch: 256, work: each(peer) },
    ] as const
    return besidePeers(variants, { unit: "per second" })
  },
}
