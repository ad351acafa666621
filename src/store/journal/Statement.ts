/** Value in a journal body: plain JSON, large numbers as digits. */
export type Plain = string | number | null

export type EntryBody = Readonly<Record<string, unknown>>

export interface ReceiptSend {
  readonly n: Plain
  readonly at: string
  readonly gateway: Plain
  readonly framing: Plain
  readonly txHash: Plain
  /** Null where the process ended before an answer came. */
  readonly answer: {
    readonly at: string
    readonly outcome: Plain
    readonly code: Plain
    readonly data: Plain
  } | null
}

export interface ReceiptAttempt {
  readonly k: Plain
  readonly state: Plain
  readonly signedAt: string
  readonly chainId: Plain
  /** Public key of the signer. */
  readonly party: Plain
  readonly nonce: Plain
  readonly anchorHeight: Plain
  readonly anchorHash: Plain
  readonly windowBlocks: Plain
  readonly difficulty: Plain
  /** Hex of the bytes that were signed, behind the chain id and a zero byte. */
  readonly inputData: Plain
  readonly signature: Plain
  readonly transferId: Plain
  /** Hex of what was signed, and the policy line under which it was. */
  readonly permit: {
    readonly digest: Plain
    readonly policy: Plain
    readonly line: Plain
    /** The operators on whom the signer relied; absent if the line needed none. */
    readonly approval?: ReliedApproval
  } | null
  readonly works: ReadonlyArray<Readonly<Record<"tid" | "nonce" | "hashBare" | "hashPrefixed", Plain>>>
  readonly sends: ReadonlyArray<ReceiptSend>
  readonly evidence: ReadonlyArray<
    { readonly at: string } & Readonly<Record<"kind" | "gateway" | "height" | "detail", Plain>>
  >
}

/** Approval that the signer relied on. */
export interface ReliedApproval {
  readonly group: string
  readonly need: number
  readonly by: ReadonlyArray<string>
}

/** One operator's signature, and the text that they signed. */
export type ReceiptApproval = { readonly at: string } & Readonly<
  Record<"operator" | "key" | "text" | "signature", Plain>
>

/** Everything about one payment that its journal entries say. */
export interface Statement {
  readonly treasury: string
  readonly payment: Readonly<
    Record<"id" | "rule" | "subject" | "from" | "fromKey" | "to" | "toKey" | "asset" | "assetId" | "amount", Plain>
  > &
    Readonly<Record<"episode" | "decimals" | "units" | "feeMax", Plain>> & {
      /** The person who handed it in; absent where a rule decided it. */
      readonly submittedBy?: string
      /** Network command; absent for a transfer. */
      readonly command?: Plain
      /** Warning against a wrong reading of the statement. */
      readonly note?: string
    }
  readonly decision:
    | ({ readonly at: string } & Readonly<
        Record<"sentence" | "policy" | "line" | "perTransfer" | "per24h" | "transfersPer24h", Plain>
      > & {
          /** The group that had to approve it. */
          readonly approval?: string
        })
    | null
  readonly states: ReadonlyArray<
    { readonly at: string } & Readonly<
      Record<"state" | "detail" | "fee" | "settledAt" | "verb" | "author" | "reason", Plain>
    >
  >
  readonly attempts: ReadonlyArray<ReceiptAttempt>
  /** Absent where nobody signed anything. */
  readonly approvals?: ReadonlyArray<ReceiptApproval>
  /** Other entries about it, such as refusals of the signer. */
  readonly remarks: ReadonlyArray<{ readonly at: string; readonly kind: string; readonly body: EntryBody }>
}
