import { Schema } from "effect"
import { baseUnits } from "../../domain/Amount.ts"
import { type Attempt, attemptStates, type EvidenceKind, evidenceKinds } from "../../domain/Attempt.ts"
import { ExternalAddress, IntentId, PublicKey, TransferId } from "../../domain/Hex.ts"
import { type Intent, intentCommands, intentStates } from "../../domain/Intent.ts"
import type { Framing } from "../../tx/Transaction.ts"
import { Big, Bytes, Digits } from "../database/columns.ts"

/** Columns of an intent, by the names of IntentRow. */
export const intentColumns = `id, treasury, rule, subject, episode, command, submitted_by AS "submittedBy",
  from_party AS "from", from_key AS "fromKey",
  to_party AS "to", to_key AS "toKey", asset, asset_id AS "assetId", decimals, amount, fee_max AS "feeMax", state,
  detail, fee, settled_at AS "settledAt", created_at AS "createdAt", updated_at AS "updatedAt",
  asked_at AS "askedAt"`

export const IntentRow = Schema.Struct({
  id: IntentId,
  treasury: Schema.String,
  rule: Schema.String,
  subject: Schema.String,
  episode: Schema.Int,
  submittedBy: Schema.NullOr(Schema.String),
  command: Schema.Literals(intentCommands),
  from: Schema.String,
  fromKey: PublicKey,
  to: Schema.String,
  toKey: Schema.Union([PublicKey, ExternalAddress]),
  asset: Schema.String,
  assetId: Schema.String,
  decimals: Schema.Int,
  amount: Digits,
  feeMax: Digits,
  state: Schema.Literals(intentStates),
  detail: Schema.String,
  fee: Schema.NullOr(Digits),
  settledAt: Schema.NullOr(Big),
  createdAt: Schema.Int,
  updatedAt: Schema.Int,
  askedAt: Schema.NullOr(Schema.Int),
})

/** Names each field: a rest pattern would copy the row key by key for every intent that is read. */
export const toIntent = (row: typeof IntentRow.Type): Intent => ({
  id: row.id,
  treasury: row.treasury,
  rule: row.rule,
  subject: row.subject,
  episode: row.episode,
  ...(row.submittedBy === null ? {} : { submittedBy: row.submittedBy }),
  command: row.command,
  payment: {
    from: row.from,
    fromKey: row.fromKey,
    to: row.to,
    toKey: row.toKey,
    asset: row.asset,
    assetId: row.assetId,
    amount: baseUnits(row.amount),
  },
  decimals: row.decimals,
  feeMax: row.feeMax,
  state: row.state,
  detail: row.detail,
  fee: row.fee ?? undefined,
  settledAt: row.settledAt ?? undefined,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  ...(row.askedAt === null ? {} : { askedAt: row.askedAt }),
})

export const intentInsert = (intent: Intent) => ({
  id: intent.id,
  treasury: intent.treasury,
  rule: intent.rule,
  subject: intent.subject,
  episode: intent.episode,
  submitted_by: intent.submittedBy ?? null,
  command: intent.command,
  from_party: intent.payment.from,
  from_key: intent.payment.fromKey,
  to_party: intent.payment.to,
  to_key: intent.payment.toKey,
  asset: intent.payment.asset,
  asset_id: intent.payment.assetId,
  decimals: intent.decimals,
  amount: intent.payment.amount.toString(),
  fee_max: intent.feeMax.toString(),
  state: intent.state,
  detail: intent.detail,
  created_at: intent.createdAt,
  updated_at: intent.updatedAt,
})

/** Columns of an attempt, by the names of AttemptRow. */
export const attemptColumns = `intent_id AS "intentId", k, chain_id AS "chainId", party, nonce,
  anchor_height AS "anchorHeight", anchor_hash AS "anchorHash", window_blocks AS "windowBlocks",
  input_data AS "inputData", signature, transfer_id AS "transferId", difficulty, work_index AS "workIndex",
  pow_tid AS "powTid", pow_nonce AS "powNonce", hash_bare AS "hashBare", hash_prefixed AS "hashPrefixed", state,
  framing, sends, next_at AS "nextAt", next_height AS "nextHeight", created_at AS "createdAt",
  updated_at AS "updatedAt", signed_after AS "signedAfter", window_min AS "windowMin", window_max AS "windowMax"`

export const AttemptRow = Schema.Struct({
  intentId: IntentId,
  k: Schema.Int,
  chainId: Schema.String,
  party: Schema.String,
  nonce: Digits,
  anchorHeight: Big,
  anchorHash: Schema.String,
  windowBlocks: Schema.Int,
  inputData: Bytes,
  signature: Schema.String,
  transferId: TransferId,
  difficulty: Schema.Int,
  workIndex: Schema.Int,
  powTid: Schema.NullOr(Schema.String),
  powNonce: Schema.NullOr(Digits),
  hashBare: Schema.NullOr(Schema.String),
  hashPrefixed: Schema.NullOr(Schema.String),
  state: Schema.Literals(attemptStates),
  framing: Schema.NullOr(Schema.Literals(["prefixed", "bare"])),
  sends: Schema.Int,
  nextAt: Schema.Int,
  nextHeight: Big,
  createdAt: Schema.Int,
  updatedAt: Schema.Int,
  signedAfter: Schema.NullOr(Big),
  windowMin: Schema.NullOr(Schema.Int),
  windowMax: Schema.NullOr(Schema.Int),
})

export const toAttempt = ({
  powTid,
  powNonce,
  signedAfter,
  windowMin,
  windowMax,
  ...row
}: typeof AttemptRow.Type): Attempt => ({
  ...row,
  work: powTid === null || powNonce === null ? undefined : { tid: powTid, nonce: powNonce },
  hashBare: row.hashBare ?? undefined,
  hashPrefixed: row.hashPrefixed ?? undefined,
  framing: row.framing ?? undefined,
  ...(signedAfter === null ? {} : { signedAfter }),
  ...(windowMin === null ? {} : { windowMin }),
  ...(windowMax === null ? {} : { windowMax }),
})

export const attemptInsert = (attempt: Attempt) => ({
  intent_id: attempt.intentId,
  k: attempt.k,
  chain_id: attempt.chainId,
  party: attempt.party,
  nonce: attempt.nonce.toString(),
  anchor_height: attempt.anchorHeight,
  anchor_hash: attempt.anchorHash,
  window_blocks: attempt.windowBlocks,
  window_min: attempt.windowMin ?? null,
  window_max: attempt.windowMax ?? null,
  input_data: attempt.inputData,
  signature: attempt.signature,
  transfer_id: attempt.transferId,
  difficulty: attempt.difficulty,
  work_index: attempt.workIndex,
  state: attempt.state,
  sends: attempt.sends,
  next_at: attempt.nextAt,
  next_height: attempt.nextHeight,
  signed_after: attempt.signedAfter ?? null,
  created_at: attempt.createdAt,
  updated_at: attempt.updatedAt,
})

export const SendRow = Schema.Struct({
  seq: Schema.Int,
  intentId: IntentId,
  k: Schema.Int,
  n: Schema.Int,
  gateway: Schema.String,
  framing: Schema.Literals(["prefixed", "bare"]),
  first: Schema.Int,
  txHash: Schema.String,
  startedAt: Schema.Int,
  endedAt: Schema.NullOr(Schema.Int),
  outcome: Schema.NullOr(Schema.String),
  code: Schema.NullOr(Schema.Int),
  data: Schema.NullOr(Schema.String),
  log: Schema.NullOr(Schema.String),
})
export const sendColumns = `seq, intent_id AS "intentId", k, n, gateway, framing, first, tx_hash AS "txHash",
  started_at AS "startedAt", ended_at AS "endedAt", outcome, code, data, log`

export const EvidenceRow = Schema.Struct({
  seq: Schema.Int,
  intentId: IntentId,
  k: Schema.Int,
  kind: Schema.Literals(evidenceKinds),
  at: Schema.Int,
  height: Schema.NullOr(Big),
  gateway: Schema.String,
  detail: Schema.String,
})
export const evidenceColumns = `seq, intent_id AS "intentId", k, kind, at, height, gateway, detail`

/** Source of a fact about an attempt, and the block up to which it is known. */
export interface SeenEvidence {
  readonly gateway: string
  readonly height: bigint | undefined
  readonly detail: string
}

/** A person's request, journalled with the change that it causes. */
interface PersonsRequest {
  readonly verb: string
  readonly author: string
  readonly reason: string
}

/** Final result of an intent. */
export interface Settlement {
  readonly detail: string
  /** The person who requested it, if one did. */
  readonly by?: PersonsRequest
  readonly fee?: bigint | undefined
  /** Block time, Unix nanoseconds. */
  readonly settledAt?: bigint | undefined
  /** Start of the approvers' time (Unix milliseconds), where they are asked again. */
  readonly askedAt?: number | undefined
}

/** A proof of work, and the transaction's hash in each wire form with it. */
export interface SolvedWork {
  readonly tid: string
  readonly nonce: bigint
  readonly hashBare: string
  readonly hashPrefixed: string
}

/** A send, stored before its request. */
export interface SendStart {
  readonly attempt: Attempt
  readonly gateway: string
  readonly framing: Framing
  /** True if this is the first send of the attempt, probes of the wire form aside. */
  readonly first: boolean
  readonly txHash: string
}

/** Result of a send, or of the wait for it. */
export interface SendEnd {
  readonly seq: number
  readonly attempt: Attempt
  readonly gateway: string
  readonly outcome: string
  readonly code: number | undefined
  readonly data: string
  readonly log: string
  readonly evidence: EvidenceKind
  readonly state: "accepted" | "refused" | "unknown"
  readonly nextAt: number
  readonly nextHeight: bigint
}
