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

/** Commands of the network by field number, with the names that its texts use. */
const commandNames = new Map<number, string>([
  [1001, "Submit Order"],
  [1002, "Cancel Order"],
  [1003, "Amend Order"],
  [1004, "Withdraw"],
  [1005, "Proposal"],
  [1006, "Vote on Proposal"],
  [1007, "Liquidity Provision Order"],
  [1008, "Delegate"],
  [1009, "Undelegate"],
  [1010, "Cancel LiquidityProvision Order"],
  [1011, "Amend LiquidityProvision Order"],
  [1012, "Transfer Funds"],
  [1013, "Cancel Transfer Funds"],
  [1015, "Batch Market Instructions"],
  [1016, "Stop Orders Submission"],
  [1017, "Stop Orders Cancellation"],
  [1018, "Create Referral Set"],
  [1019, "Update Referral Set"],
  [1020, "Apply Referral Code"],
  [1021, "Update Margin Mode"],
  [1022, "Join Team"],
  [1023, "Batch Proposal"],
  [1024, "Update Party Profile"],
])

const caseNumbers: Readonly<Record<NonNullable<WireCommand["case"]>, number>> = {
  orderCancellation: 1002,
  withdrawSubmission: 1004,
  voteSubmission: 1006,
  delegateSubmission: 1008,
  undelegateSubmission: 1009,
  transfer: 1012,
  cancelTransfer: 1013,
  updatePartyProfile: 1024,
}

/** Field number and name of the command of an input data message; undefined where the network knows none in it. */
export const commandOf = (data: InputData): { readonly number: number; readonly name: string } | undefined => {
  const number =
    data.command.case === undefined
      ? (data.$unknown ?? []).map((field) => field.no).find((no) => commandNames.has(no))
      : caseNumbers[data.command.case]
  const name = number === undefined ? undefined : commandNames.get(number)
  return number === undefined || name === undefined ? undefined : { number, name }
}
