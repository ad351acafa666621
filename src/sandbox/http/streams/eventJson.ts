import { fromBinary } from "@bufbuild/protobuf"
import { accountTypeNumbers } from "../../../domain/AccountType.ts"
import { assetStatusNumbers } from "../../../domain/Asset.ts"
import { InputDataSchema } from "../../../tx/proto/transaction_pb.ts"
import { decodeTransaction } from "../../../tx/Transaction.ts"
import type { News, ToldEvent } from "../../Bus.ts"
import {
  type AssetState,
  type Included,
  type Transfer,
  transferStatuses,
  type Withdrawal,
  withdrawalStatuses,
} from "../../Chain.ts"
import { formatFraction, parseFactor } from "../../Fraction.ts"
import { type Account, type AccountEvent, type Movement, movementTypes, network } from "../../Ledger.ts"
import { noParty } from "../../Payments.ts"
import type { Profile } from "../../Profiles.ts"
import type { WireCommand } from "../../Tx.ts"
import { commandJson } from "../commandJson.ts"
import type { Printer } from "../Printer.ts"

/** How a stream writes: the form of the path, and what differs between networks. */
export interface Hand {
  readonly print: Printer
  readonly profile: Profile
}

type Json = Readonly<Record<string, unknown>>

/** The core's own words for an owner that is no party, and for an account of no market. */
export const coreOwner = (party: string): string => (party === network ? "*" : party)
const coreMarket = (market: string): string => (market === "" ? "!" : market)

export const accountJson = ({ account, balance }: Omit<AccountEvent, "_tag">, { print }: Hand): Json => {
  const number = accountTypeNumbers[account.type]
  const owner = coreOwner(account.party)
  const marketId = coreMarket(account.market)
  return {
    id: `${marketId}${owner}${account.asset}${String.fromCharCode(48 + number)}`,
    owner,
    balance: balance.toString(),
    asset: account.asset,
    marketId,
    type: print.choice(account.type, number),
  }
}

/** `asked`: the block time (Unix nanoseconds) in which it was asked for; later versions keep it. */
export const transferJson = (transfer: Transfer, asked: bigint, { print }: Hand): Json => ({
  id: transfer.id,
  from: coreOwner(transfer.from),
  fromAccountType: print.choice(transfer.fromAccountType, accountTypeNumbers[transfer.fromAccountType]),
  to: transfer.to === network ? noParty : transfer.to,
  toAccountType: print.choice(transfer.toAccountType, accountTypeNumbers[transfer.toAccountType]),
  asset: print.text(transfer.asset),
  amount: transfer.amount.toString(),
  reference: print.text(transfer.reference),
  status: print.choice(transfer.status, transferStatuses[transfer.status]),
  timestamp: print.whole(asked),
  ...(transfer.reason === "" ? {} : { reason: transfer.reason }),
  ...kindJson(transfer.kind, print),
})

const kindJson = (kind: Transfer["kind"], print: Printer): Json => {
  if (kind._tag === "oneOff") return { oneOff: { deliverOn: print.whole(kind.deliverOn) } }
  const factor = parseFactor(kind.factor)
  return {
    recurring: {
      startEpoch: print.whole(kind.startEpoch),
      ...(kind.endEpoch === undefined ? {} : { endEpoch: String(kind.endEpoch) }),
      factor: factor === undefined ? kind.factor : formatFraction(factor),
      dispatchStrategy: kind.dispatched ? {} : print.absent,
    },
  }
}

export const withdrawalJson = (withdrawal: Withdrawal, { print }: Hand): Json => ({
  id: withdrawal.id,
  partyId: withdrawal.party,
  amount: withdrawal.amount.toString(),
  asset: withdrawal.asset,
  status: print.choice(withdrawal.status, withdrawalStatuses[withdrawal.status]),
  ref: String(withdrawal.time / 1_000_000_000n),
  txHash: print.text(""),
  createdTimestamp: print.whole(withdrawal.time),
  withdrawnTimestamp: print.whole(0),
  ext: withdrawal.receiver === "" ? print.absent : { erc20: { receiverAddress: withdrawal.receiver } },
})

export const assetJson = (asset: AssetState, { print, profile }: Hand): Json => ({
  id: asset.id,
  details: {
    name: print.text(asset.name),
    symbol: print.text(asset.symbol),
    decimals: print.whole(asset.decimals),
    quantum: asset.quantum.toString(),
    ...sourceJson(asset, print, profile),
  },
  status: print.choice(asset.status, assetStatusNumbers[asset.status]),
})

const sourceJson = ({ source }: AssetState, print: Printer, profile: Profile): Json => {
  if (source.kind === "builtin") {
    return source.maxFaucetAmountMint === ""
      ? {}
      : { builtinAsset: { maxFaucetAmountMint: source.maxFaucetAmountMint } }
  }
  const erc20 = {
    contractAddress: print.text(source.contractAddress),
    lifetimeLimit: print.text(source.lifetimeLimit),
    withdrawThreshold: print.text(source.withdrawThreshold),
  }
  return { erc20: profile.erc20ChainId ? { ...erc20, chainId: print.text(source.chainId) } : erc20 }
}

/** Owner and market are named only where there is one. */
const placeJson = (account: Account, print: Printer): Json => ({
  assetId: account.asset,
  type: print.choice(account.type, accountTypeNumbers[account.type]),
  ...(account.party === network ? {} : { owner: account.party }),
  ...(account.market === "" ? {} : { marketId: account.market }),
})

/** `time`: the block's, Unix nanoseconds. */
export const movementJson = (movement: Movement, time: bigint, { print }: Hand): Json => ({
  entries: [
    {
      fromAccount: placeJson(movement.from, print),
      toAccount: placeJson(movement.to, print),
      amount: movement.amount.toString(),
      type: print.choice(movement.type, movementTypes[movement.type]),
      timestamp: print.whole(time),
      fromAccountBalance: movement.fromBalance.toString(),
      toAccountBalance: movement.toBalance.toString(),
      ...(movement.transferId === "" ? {} : { transferId: movement.transferId }),
    },
  ],
  balances: [{ account: placeJson(movement.to, print), balance: movement.toBalance.toString() }],
})

/** A transaction with its command, and whether that was done. Success says no more than that. */
export const resultJson = (result: Included, { print, profile }: Hand): Json => {
  const done = result.code === 0
  const detail = print.choice(done ? "STATUS_SUCCESS" : "STATUS_FAILURE", done ? 1 : 3)
  return {
    partyId: result.party,
    status: print.flag(done),
    hash: result.hash,
    ...(profile.resultDetail ? { statusDetail: detail } : {}),
    ...commandJson(commandIn(result.bytes), print),
    ...(done ? {} : { failure: { error: result.error } }),
  }
}

/** What was included was read before: bytes that cannot be read are none of ours. Streams know bare framing alone. */
const commandIn = (bytes: Uint8Array): WireCommand => {
  const wire = decodeTransaction(bytes)
  try {
    return wire === undefined ? { case: undefined } : fromBinary(InputDataSchema, wire.inputData).command
  } catch {
    return { case: undefined }
  }
}

interface Kind {
  readonly number: number
  readonly name: string
  /** Key under which the payload stands. */
  readonly key: string
}

/** The kinds of events that happen here, by the network's numbers and names. */
export const kinds: Readonly<Record<ToldEvent["_tag"], Kind>> = {
  time: { number: 2, name: "BUS_EVENT_TYPE_TIME_UPDATE", key: "timeUpdate" },
  movements: { number: 3, name: "BUS_EVENT_TYPE_LEDGER_MOVEMENTS", key: "ledgerMovements" },
  account: { number: 6, name: "BUS_EVENT_TYPE_ACCOUNT", key: "account" },
  asset: { number: 18, name: "BUS_EVENT_TYPE_ASSET", key: "asset" },
  withdrawal: { number: 20, name: "BUS_EVENT_TYPE_WITHDRAWAL", key: "withdrawal" },
  transfer: { number: 40, name: "BUS_EVENT_TYPE_TRANSFER", key: "transfer" },
  begin: { number: 49, name: "BUS_EVENT_TYPE_BEGIN_BLOCK", key: "beginBlock" },
  end: { number: 50, name: "BUS_EVENT_TYPE_END_BLOCK", key: "endBlock" },
  result: { number: 53, name: "BUS_EVENT_TYPE_TRANSACTION_RESULT", key: "transactionResult" },
  fee: { number: 83, name: "BUS_EVENT_TYPE_TRANSFER_FEES_PAID", key: "transferFees" },
}

export const payloadJson = (event: ToldEvent, news: News, hand: Hand): Json => {
  const { print } = hand
  switch (event._tag) {
    case "begin":
      return { height: print.whole(news.height), timestamp: print.whole(news.time), hash: news.hash }
    case "time":
      return { timestamp: print.whole(news.time) }
    case "end":
      return { height: print.whole(news.height) }
    case "account":
      return accountJson(event, hand)
    case "movements":
      return { ledgerMovements: event.movements.map((movement) => movementJson(movement, news.time, hand)) }
    case "transfer":
      return transferJson(event.transfer, news.asked.get(event.transfer.id) ?? event.transfer.time, hand)
    case "fee": {
      const { transferId, amount, epoch } = event
      return { transferId, amount: amount.toString(), epoch: print.whole(epoch), discountApplied: "0" }
    }
    case "withdrawal":
      return withdrawalJson(event.withdrawal, hand)
    case "asset":
      return assetJson(event.asset, hand)
    case "result":
      return resultJson(event.result, hand)
  }
}
