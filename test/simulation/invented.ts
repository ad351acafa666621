import { Result } from "effect"
import { accountTypeName } from "../../src/domain/Balance.ts"
import { decodeInputData } from "../../src/tx/InputData.ts"
import { decodeTransaction, transferId } from "../../src/tx/Transaction.ts"
import { chainId } from "./Network.ts"

/** What a liar makes of public bytes: payments that are said to have executed, whether or not they did. */
export interface Invented {
  readonly hear: (bytes: Uint8Array) => void
  /** The answer about a transfer, as the network would give it once it executed; undefined where nobody heard of it. */
  readonly answerOf: (id: string, nowMillis: number) => unknown
}

const commandOf = (data: Uint8Array) => {
  for (const bare of [data, data.subarray(chainId.length + 1)]) {
    const read = decodeInputData(bare)
    if (Result.isSuccess(read)) return read.success.command
  }
  return undefined
}

export const makeInvented = (): Invented => {
  const known = new Map<string, Readonly<Record<string, unknown>>>()
  return {
    hear: (bytes) => {
      const wire = decodeTransaction(bytes)
      const command = wire === undefined ? undefined : commandOf(wire.inputData)
      if (wire?.signature === undefined || wire.from.case !== "pubKey" || command?._tag !== "Transfer") return
      const { to, asset, amount, reference, fromAccountType, toAccountType } = command
      known.set(transferId(wire.signature.value), {
        from: wire.from.value,
        fromAccountType: accountTypeName(fromAccountType),
        to,
        toAccountType: accountTypeName(toAccountType),
        asset,
        amount: String(amount),
        reference,
        status: "STATUS_DONE",
        oneOff: { deliverOn: "0" },
      })
    },
    answerOf: (id, nowMillis) => {
      const transfer = known.get(id)
      if (transfer === undefined) return undefined
      const timestamp = String(BigInt(nowMillis) * 1_000_000n)
      return { transferNode: { transfer: { id, ...transfer, timestamp }, fees: [] } }
    },
  }
}
