import type { Schema } from "effect"
import { SubmissionAnswer } from "../../src/gateway/GatewayWriter.ts"
import { AssetsAnswer } from "../../src/gateway/schema/Assets.ts"
import { AccountsAnswer, BalanceChangesAnswer, StrictBalanceChanges } from "../../src/gateway/schema/BalanceChanges.ts"
import {
  ChainHeadAnswer,
  EpochAnswer,
  ParametersAnswer,
  SpamAnswer,
  StatisticsAnswer,
  StatusBody,
} from "../../src/gateway/schema/ChainHead.ts"
import {
  LedgerEntriesAnswer,
  TransferAnswer,
  TransfersAnswer,
  WithdrawalAnswer,
  WithdrawalsAnswer,
} from "../../src/gateway/schema/Transfers.ts"

/** A decoder of answers, and the routes whose answers it reads; none: those of every route that are no success. */
export interface Decoder {
  readonly schema: Schema.ConstraintDecoder<unknown>
  readonly route: RegExp | undefined
}

/** All of them, by the name under which they are exported. */
export const decoders: Readonly<Record<string, Decoder>> = {
  AccountsAnswer: { schema: AccountsAnswer, route: /^GET \/api\/v2\/accounts$/ },
  AssetsAnswer: { schema: AssetsAnswer, route: /^GET \/api\/v2\/assets$/ },
  BalanceChangesAnswer: { schema: BalanceChangesAnswer, route: /^GET \/api\/v2\/balance\/changes$/ },
  StrictBalanceChanges: { schema: StrictBalanceChanges, route: /^GET \/api\/v2\/balance\/changes$/ },
  ChainHeadAnswer: { schema: ChainHeadAnswer, route: /^GET \/blockchain\/height$/ },
  EpochAnswer: { schema: EpochAnswer, route: /^GET \/api\/v2\/epoch$/ },
  SpamAnswer: { schema: SpamAnswer, route: /^GET \/statistics\/spam\/\*$/ },
  StatisticsAnswer: { schema: StatisticsAnswer, route: /^GET \/statistics$/ },
  LedgerEntriesAnswer: { schema: LedgerEntriesAnswer, route: /^GET \/api\/v2\/ledgerentry\/history$/ },
  ParametersAnswer: { schema: ParametersAnswer, route: /^GET \/api\/v2\/network\/parameters$/ },
  SubmissionAnswer: { schema: SubmissionAnswer, route: /^POST \/transaction$/ },
  TransferAnswer: { schema: TransferAnswer, route: /^GET \/api\/v2\/transfer\/\*$/ },
  TransfersAnswer: { schema: TransfersAnswer, route: /^GET \/api\/v2\/transfers$/ },
  WithdrawalAnswer: { schema: WithdrawalAnswer, route: /^GET \/api\/v2\/withdrawal\/\*$/ },
  WithdrawalsAnswer: { schema: WithdrawalsAnswer, route: /^GET \/api\/v2\/withdrawals$/ },
  StatusBody: { schema: StatusBody, route: undefined },
}

/** Exported schemas that are parts of those, or the form of a value that one of them gives. */
export const parts: ReadonlySet<string> = new Set([
  ...["AccountRow", "AssetRow", "AccountTypeText", "BalanceRow", "ChainHead", "Epoch"],
  ...["LedgerEntry", "PageInfo", "ObservedTransfer", "TransferRow", "WithdrawalRow"],
  ...["Int64", "Height", "BlockTime", "Hash", "Uint32", "SafeInt", "SafeUint", "Amount", "Text", "Flag"],
  ...["Id", "OwnId"],
])
