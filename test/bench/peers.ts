// @ts-expect-error: the package brings no types.
import { KeyPair } from "@vegaprotocol/crypto/keypair.js"
// @ts-expect-error: the package brings no types.
import * as pow from "@vegaprotocol/crypto/pow.js"
import inputData from "@vegaprotocol/protos/vega/commands/v1/InputData/encode.js"
import { accountTypeNumbers } from "../../src/domain/Balance.ts"

const general = accountTypeNumbers.ACCOUNT_TYPE_GENERAL

interface Transfer {
  readonly nonce: bigint
  readonly height: bigint
  readonly to: string
  readonly asset: string
  readonly amount: bigint
}

interface WalletKey {
  readonly sign: (message: Uint8Array, chainId: string) => Promise<Uint8Array>
  readonly verify: (signature: Uint8Array, message: Uint8Array, chainId: string) => Promise<boolean>
}

/** What a client of the network can use instead of ours: @vegaprotocol/crypto and @vegaprotocol/protos. */
export const wallet = {
  /** A key pair of its 32 bytes. */
  key: (seed: Uint8Array): Promise<WalletKey> => KeyPair.fromSeed(0, seed),
  /** The lowest nonce from one on and below another that solves the work. */
  solve: pow.solve as (
    difficulty: number,
    blockHash: string,
    tid: string,
    from?: bigint,
    until?: bigint,
  ) => Promise<{ readonly nonce: bigint }>,
  /** The bytes of a one-off transfer between general accounts. */
  encode: ({ nonce, height, to, asset, amount }: Transfer): Uint8Array =>
    inputData.encode({
      nonce,
      blockHeight: height,
      command: {
        transfer: {
          fromAccountType: general,
          to,
          toAccountType: general,
          asset,
          amount: String(amount),
          kind: { oneOff: { deliverOn: 0n } },
        },
      },
    }),
}
