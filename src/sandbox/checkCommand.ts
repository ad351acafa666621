import { accountTypeName, accountTypeNumbers } from "../domain/AccountType.ts"
import type { InputData, Transfer } from "../tx/proto/transaction_pb.ts"
import { type Complaints, complain, isId } from "./Complaints.ts"
import { parseFactor } from "./Fraction.ts"
import type { Profile } from "./Profiles.ts"
import { commandOf } from "./Tx.ts"

/** The rules that a command must keep whatever the state of the ledger is. */
export const checkCommand = (data: InputData, profile: Profile): Complaints => {
  const complaints: Complaints = new Map()
  if (data.nonce === 0n) complain(complaints, "tx.input_data.nonce", "must be positive")
  const { command } = data
  switch (command.case) {
    case undefined: {
      const known = commandOf(data)
      if (known === undefined) complain(complaints, "tx.input_data.command", "is required")
      else if (known.name === "Update Margin Mode" && !profile.marginMode) {
        complain(complaints, "update_margin_mode", "is duplicated")
      }
      break
    }
    case "transfer":
      checkTransferCommand(command.value, { complaints, profile })
      break
    case "cancelTransfer":
      checkId(command.value.transferId, { complaints, property: "cancel_transfer.transfer_id" })
      break
    case "withdrawSubmission": {
      const { amount, asset, ext } = command.value
      if (!/^\+?0*[1-9][0-9]*$/.test(amount)) {
        complain(complaints, "withdraw_submission.amount", amount === "" ? "is required" : "not a valid integer")
      }
      checkId(asset, { complaints, property: "withdraw_submission.asset" })
      const receiver = ext?.erc20?.receiverAddress
      if (ext !== undefined && receiver === undefined)
        complain(complaints, "withdraw_ext.ext", "unsupported withdraw extended details")
      if (receiver !== undefined && !/^(0x)?[0-9a-fA-F]{40}$/.test(receiver)) {
        complain(complaints, "withdraw_ext.erc20.received_address", "is not a valid ethereum address")
      }
      break
    }
    case "voteSubmission":
      checkId(command.value.proposalId, { complaints, property: "vote_submission.proposal_id" })
      if (command.value.value === 0) complain(complaints, "vote_submission.value", "is required")
      break
    case "updatePartyProfile":
      if (new TextEncoder().encode(command.value.alias).length > 32) {
        complain(complaints, "update_party_profile.alias", "must be less than 32 characters")
      }
      if (command.value.metadata.length > 10) {
        complain(complaints, "update_party_profile.metadata", "must have at most 10 entries")
      }
      break
    case "delegateSubmission":
    case "undelegateSubmission":
    case "orderCancellation":
      break
  }
  return complaints
}

const checkId = (text: string, at: { readonly complaints: Complaints; readonly property: string }): void => {
  if (text === "") complain(at.complaints, at.property, "is required")
  else if (!isId(text)) complain(at.complaints, at.property, "should be a valid Vega ID")
}

const noParty = "0".repeat(64)
/** Rewards that are paid by what happens on markets: 14 to 17 and 24 to 27. */
const dispatchedTypes = new Set([14, 15, 16, 17, 24, 25, 26, 27])
/** From 0.79 on two more kinds of account take one-off transfers. */
const oneOffTypes = new Set(["ACCOUNT_TYPE_GENERAL", "ACCOUNT_TYPE_GLOBAL_REWARD", "ACCOUNT_TYPE_NETWORK_TREASURY"])
const oneOffTypesLater = new Set([...oneOffTypes, "ACCOUNT_TYPE_BUY_BACK_FEES", "ACCOUNT_TYPE_LOCKED_FOR_STAKING"])

const checkTransferCommand = (
  command: Transfer,
  { complaints, profile }: { readonly complaints: Complaints; readonly profile: Profile },
): void => {
  const fail = (property: string, text: string): void => complain(complaints, `transfer.${property}`, text)
  const later = profile.accountTypes.has("ACCOUNT_TYPE_LOCKED_FOR_STAKING")
  if (command.amount === "") fail("amount", "is required")
  else if (!/^[+-]?[0-9]+$/.test(command.amount)) fail("amount", "not a valid integer")
  else if (/^[+-]?0+$/.test(command.amount)) fail("amount", "is required")
  else if (command.amount.startsWith("-")) fail("amount", "must be positive")
  if (command.to === "") fail("to", "is required")
  else if (!isId(command.to)) fail("to", "should be a valid vega public key")
  const to = accountTypeName(command.toAccountType)
  const known = command.toAccountType !== 0 && [...profile.accountTypes].some((name) => name === to)
  if (!known) fail("to_account_type", "is not a valid value")
  if (to === "ACCOUNT_TYPE_GLOBAL_REWARD" && command.to !== noParty) fail("to_account_type", "is not a valid value")
  const from = command.fromAccountType
  const fromTypes = [accountTypeNumbers.ACCOUNT_TYPE_GENERAL, accountTypeNumbers.ACCOUNT_TYPE_VESTED_REWARDS]
  const staking = later && from === accountTypeNumbers.ACCOUNT_TYPE_LOCKED_FOR_STAKING
  if (!fromTypes.some((number) => number === from) && !staking) fail("from_account_type", "is not a valid value")
  if (command.asset === "") fail("asset", "is required")
  else if (!isId(command.asset)) fail("asset", "should be a valid Vega ID")
  if (new TextEncoder().encode(command.reference).length > 100) fail("reference", "must be less than 100 characters")
  switch (command.kind.case) {
    case undefined:
      fail("kind", "is required")
      break
    case "oneOff":
      if (known && !(later ? oneOffTypesLater : oneOffTypes).has(to)) {
        fail("to_account_type", "account type is not valid for one off transfer")
      }
      if (command.kind.value.deliverOn < 0n) fail("kind.deliver_on", "must be positive or zero")
      break
    case "recurring": {
      const { startEpoch, endEpoch, factor, dispatchStrategy } = command.kind.value
      if (from === accountTypeNumbers.ACCOUNT_TYPE_VESTED_REWARDS) {
        fail("from_account_type", "account type is not valid for one recurring transfer")
      }
      if (endEpoch !== undefined && endEpoch <= 0n) fail("kind.end_epoch", "must be positive")
      if (startEpoch === 0n) fail("kind.start_epoch", "must be positive")
      if (endEpoch !== undefined && startEpoch > endEpoch) fail("kind.end_epoch", "must be after start_epoch")
      if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,6})?$/i.test(factor)) {
        fail("kind.factor", "not a valid float")
      } else if (parseFactor(factor) === undefined) fail("kind.factor", "must be positive")
      const needed = dispatchedTypes.has(command.toAccountType)
      if (needed !== (dispatchStrategy !== undefined)) {
        fail("kind.dispatch_strategy", needed ? "is required" : "not allowed for to account type")
      }
      break
    }
  }
}
