import { baseUnits } from "../../src/domain/Amount.ts"
import type { Attempt } from "../../src/domain/Attempt.ts"
import type { IntentId, PublicKey, TransferId } from "../../src/domain/Hex.ts"
import type { Intent } from "../../src/domain/Intent.ts"

const hex = (text: string) => text.repeat(64).slice(0, 64)

/** An intent with all its fields. A test names those that matter to it. */
export const intentOf = (id: string, more: Partial<Intent> = {}): Intent => ({
  id: hex(id) as IntentId,
  treasury: "test",
  rule: "keep",
  subject: `hot/${id}`,
  episode: 1,
  payment: {
    from: "reserve",
    fromKey: hex("a") as PublicKey,
    to: "hot",
    toKey: hex("b") as PublicKey,
    asset: "BIG",
    assetId: hex("c"),
    amount: baseUnits(2n ** 200n + 1n),
  },
  decimals: 18,
  command: "transfer",
  feeMax: 2n ** 190n,
  state: "proposed",
  detail: "below",
  fee: undefined,
  settledAt: undefined,
  createdAt: 1,
  updatedAt: 1,
  ...more,
})

/** An attempt with all its fields, of an intent and with a number. */
export const attemptOf = (intent: Intent, k: number, more: Partial<Attempt> = {}): Attempt => ({
  intentId: intent.id,
  k,
  chainId: "chain",
  party: intent.payment.fromKey,
  nonce: 2n ** 64n - BigInt(k),
  anchorHeight: 100n,
  anchorHash: hex("d"),
  windowBlocks: 100,
  inputData: Uint8Array.of(1, 2, 3),
  signature: "ee".repeat(64),
  transferId: hex(`${intent.id.slice(0, 3)}${k}`) as TransferId,
  difficulty: 15,
  workIndex: 0,
  work: undefined,
  hashBare: undefined,
  hashPrefixed: undefined,
  state: "signed",
  framing: undefined,
  sends: 0,
  nextAt: 0,
  nextHeight: 0n,
  createdAt: 1,
  updatedAt: 1,
  ...more,
})
