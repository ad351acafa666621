import type { Attempt } from "../domain/Attempt.ts"
import { type Framing, frame, type Transaction, transactionBytes, txHash, txVersions } from "../tx/Transaction.ts"

type Work = NonNullable<Attempt["work"]>

/** The transaction of a stored attempt in one of the two wire forms. */
export const transactionOf = (attempt: Attempt, work: Work, framing: Framing): Transaction => ({
  inputData: frame(framing, attempt.chainId, attempt.inputData),
  signature: attempt.signature,
  pubKey: attempt.party,
  version: txVersions.TX_VERSION_V3,
  pow: work,
})

/** Its hashes in both. */
export const hashesOf = (attempt: Attempt, work: Work) => ({
  hashBare: txHash(transactionBytes(transactionOf(attempt, work, "bare"))),
  hashPrefixed: txHash(transactionBytes(transactionOf(attempt, work, "prefixed"))),
})
