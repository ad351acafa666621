import { accountTypeName } from "../../domain/AccountType.ts"
import type { Transfer } from "../../tx/proto/transaction_pb.ts"
import type { WireCommand } from "../Tx.ts"
import type { Printer } from "./Printer.ts"

type Fields = Readonly<Record<string, unknown>>

const voteValues = ["VALUE_UNSPECIFIED", "VALUE_NO", "VALUE_YES"]
const undelegateMethods = ["METHOD_UNSPECIFIED", "METHOD_NOW", "METHOD_AT_END_OF_EPOCH", "METHOD_IN_ANGER"]

const memberOf = (print: Printer, names: ReadonlyArray<string>, number: number): unknown =>
  print.choice(names[number] ?? String(number), number)

/** A command under its own name, as explorer and streams show it; no key where the sandbox cannot read it. */
export const commandJson = (command: WireCommand, print: Printer): Fields => {
  switch (command.case) {
    case "transfer":
      return { transfer: transferJson(command.value, print) }
    case "cancelTransfer":
      return { cancelTransfer: { transferId: print.text(command.value.transferId) } }
    case "withdrawSubmission": {
      const { amount, asset, ext } = command.value
      const erc20 =
        ext?.erc20 === undefined ? {} : { erc20: { receiverAddress: print.text(ext.erc20.receiverAddress) } }
      return {
        withdrawSubmission: {
          amount: print.text(amount),
          asset: print.text(asset),
          ext: ext === undefined ? print.absent : erc20,
        },
      }
    }
    case "voteSubmission": {
      const { proposalId, value } = command.value
      return { voteSubmission: { proposalId: print.text(proposalId), value: memberOf(print, voteValues, value) } }
    }
    case "delegateSubmission": {
      const { nodeId, amount } = command.value
      return { delegateSubmission: { nodeId: print.text(nodeId), amount: print.text(amount) } }
    }
    case "undelegateSubmission": {
      const { nodeId, amount, method } = command.value
      const about = { nodeId: print.text(nodeId), amount: print.text(amount) }
      return { undelegateSubmission: { ...about, method: memberOf(print, undelegateMethods, method) } }
    }
    case "orderCancellation": {
      const { orderId, marketId } = command.value
      return { orderCancellation: { orderId: print.text(orderId), marketId: print.text(marketId) } }
    }
    case "updatePartyProfile": {
      const { alias, metadata } = command.value
      const entries = metadata.map(({ key, value }) => ({ key: print.text(key), value: print.text(value) }))
      return { updatePartyProfile: { alias: print.text(alias), metadata: print.list(entries) } }
    }
    case undefined:
      return {}
  }
}

/** Amounts and factors as they were written, not as they were understood. */
const transferJson = (transfer: Transfer, print: Printer): Fields => ({
  fromAccountType: print.choice(accountTypeName(transfer.fromAccountType), transfer.fromAccountType),
  to: print.text(transfer.to),
  toAccountType: print.choice(accountTypeName(transfer.toAccountType), transfer.toAccountType),
  asset: print.text(transfer.asset),
  amount: print.text(transfer.amount),
  reference: print.text(transfer.reference),
  ...kindJson(transfer.kind, print),
})

const kindJson = (kind: Transfer["kind"], print: Printer): Fields => {
  switch (kind.case) {
    case "oneOff":
      return { oneOff: { deliverOn: print.whole(kind.value.deliverOn) } }
    case "recurring": {
      const { startEpoch, endEpoch, factor, dispatchStrategy } = kind.value
      return {
        recurring: {
          startEpoch: print.whole(startEpoch),
          ...(endEpoch === undefined ? {} : { endEpoch: endEpoch.toString() }),
          factor: print.text(factor),
          dispatchStrategy: dispatchStrategy === undefined ? print.absent : {},
        },
      }
    }
    case undefined:
      return {}
  }
}
