import type { InputData } from "../tx/proto/transaction_pb.ts"

/** The command as decoded from the wire; `case` undefined where the network knows it and this sandbox does not. */
type WireCommand = InputData["command"]

/** A transaction that passed the static check: its own bytes, and what they say. */
export interface Tx {
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes, lower case. */
  readonly hash: string
  /** The sender's key exactly as written: in upper case it is another party. */
  readonly party: string
  readonly nonce: bigint
  /** Height in the signed data; the work uses the hash of that block. */
  readonly height: number
  readonly tid: string
  readonly powNonce: bigint
  readonly command: WireCommand
  readonly commandName: string
  /** Id of the transfer, withdrawal or order that the signature makes. */
  readonly id: string
}

/** Names that the network's texts use for the commands that the sandbox executes. */
const commandNames: Readonly<Partial<Record<NonNullable<WireCommand["case"]>, string>>> = {
  transfer: "Transfer Funds",
  cancelTransfer: "Cancel Transfer Funds",
  withdrawSubmission: "Withdraw",
}

/** The first field number of the commands in an input data message. */
const firstCommand = 1001

/** Name of the command of an input data message; undefined where there is none in it. */
export const commandNameOf = (data: InputData): string | undefined => {
  if (data.command.case !== undefined) return commandNames[data.command.case] ?? "Other"
  return data.$unknown?.some(({ no }) => no >= firstCommand) === true ? "Other" : undefined
}
