import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { Result } from "effect"
import { type BaseUnits, parseBaseUnits } from "../domain/Amount.ts"
import { Command, type InputData } from "../domain/Command.ts"
import { InputDataSchema, type InputData as Wire } from "./proto/transaction_pb.ts"

type WireInit = MessageInitShape<typeof InputDataSchema>
type CommandInit = NonNullable<WireInit["command"]>

/**
 * Serialises one command with its nonce and block height: the bytes that are signed (behind the chain prefix) and sent.
 * Fields are written in order of number with defaults omitted, as the network's own encoder does.
 */
export const encodeInputData = (data: InputData): Uint8Array<ArrayBuffer> =>
  toBinary(
    InputDataSchema,
    create(InputDataSchema, { nonce: data.nonce, blockHeight: data.blockHeight, command: toWire(data.command) }),
  )

/**
 * Reads the bytes back. Fails with a reason on anything that this program would not write itself: an unknown command or
 * field, another spelling of an amount. The signer must understand every byte that it signs.
 */
export const decodeInputData = (bytes: Uint8Array): Result.Result<InputData, string> => {
  let wire: Wire
  try {
    wire = fromBinary(InputDataSchema, bytes)
  } catch (error) {
    return Result.fail(`not an input data message: ${error instanceof Error ? error.message : String(error)}`)
  }
  const command = fromWire(wire.command)
  if (typeof command === "string") return Result.fail(command)
  const data = { nonce: wire.nonce, blockHeight: wire.blockHeight, command }
  const again = encodeInputData(data)
  if (again.length !== bytes.length || again.some((byte, i) => byte !== bytes[i])) {
    return Result.fail("the input data has a field, or a spelling of a field, that is not known here")
  }
  return Result.succeed(data)
}

const toWire = (command: Command): CommandInit =>
  Command.match(command, {
    Transfer: (c): CommandInit => ({ case: "transfer", value: { ...c, amount: c.amount.toString(), kind: kind(c) } }),
    CancelTransfer: (c): CommandInit => ({ case: "cancelTransfer", value: { transferId: c.transferId } }),
    Withdraw: (c): CommandInit => ({
      case: "withdrawSubmission",
      value: {
        amount: c.amount.toString(),
        asset: c.asset,
        ...(c.receiverAddress === undefined ? {} : { ext: { erc20: { receiverAddress: c.receiverAddress } } }),
      },
    }),
  })

const kind = ({ kind }: Extract<Command, { _tag: "Transfer" }>) =>
  kind._tag === "OneOff"
    ? { case: "oneOff" as const, value: { deliverOn: kind.deliverOn } }
    : {
        case: "recurring" as const,
        value: {
          startEpoch: kind.startEpoch,
          factor: kind.factor,
          ...(kind.endEpoch === undefined ? {} : { endEpoch: kind.endEpoch }),
        },
      }

/** The command, or why it is none that is known here. */
const fromWire = (wire: Wire["command"]): Command | string => {
  switch (wire.case) {
    case "transfer": {
      const { fromAccountType, to, toAccountType, asset, reference, kind } = wire.value
      if (kind.case === undefined) return "a transfer without a kind"
      return withAmount(wire.value.amount, (amount) =>
        Command.cases.Transfer.make({
          fromAccountType,
          to,
          toAccountType,
          asset,
          amount,
          reference,
          kind:
            kind.case === "oneOff"
              ? { _tag: "OneOff", deliverOn: kind.value.deliverOn }
              : {
                  _tag: "Recurring",
                  startEpoch: kind.value.startEpoch,
                  factor: kind.value.factor,
                  ...(kind.value.endEpoch === undefined ? {} : { endEpoch: kind.value.endEpoch }),
                },
        }),
      )
    }
    case "cancelTransfer":
      return Command.cases.CancelTransfer.make({ transferId: wire.value.transferId })
    case "withdrawSubmission": {
      const { asset, ext } = wire.value
      const receiver = ext?.erc20?.receiverAddress
      return withAmount(wire.value.amount, (amount) =>
        Command.cases.Withdraw.make({
          amount,
          asset,
          ...(receiver === undefined ? {} : { receiverAddress: receiver }),
        }),
      )
    }
    case undefined:
      return "a command that is not known here, or none"
  }
}

const withAmount = (text: string, make: (amount: BaseUnits) => Command): Command | string => {
  const amount = parseBaseUnits(text)
  return amount === undefined ? `an amount that is not plain digits: "${text.slice(0, 40)}"` : make(amount)
}
