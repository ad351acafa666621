import { haltInForce } from "../../src/domain/Halt.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Party } from "../../src/rules/Account.ts"
import type { RuleBase } from "../../src/rules/Rule.ts"
import type { Snapshot } from "../../src/rules/Snapshot.ts"

/** A rule without any modifier. */
export const plainRule: Omit<RuleBase, "name"> = {
  forMillis: 0,
  cooldownMillis: 0,
  settleMillis: 0,
  maxAgeMillis: undefined,
  min: new Map(),
  floor: new Map(),
  priority: 1,
  onShort: "hold",
  onNoData: "hold",
  during: undefined,
  maintenance: [],
  inhibitedBy: [],
  trial: false,
}

/** The part of a snapshot that keeps no rule from acting. */
export const calmSnapshot: Pick<
  Snapshot,
  | "catchingUp"
  | "drift"
  | "disagreement"
  | "open"
  | "settled"
  | "requests"
  | "halts"
  | "pauses"
  | "chainUnsettled"
  | "firing"
  | "priorities"
  | "quota"
  | "signed"
> = {
  catchingUp: undefined,
  drift: () => undefined,
  disagreement: undefined,
  open: [],
  settled: [],
  requests: [],
  halts: [],
  pauses: [],
  chainUnsettled: undefined,
  firing: new Set(),
  priorities: new Map(),
  quota: () => undefined,
  signed: () => ({ amount: 0n, count: 0 }),
}

/** A party that signs and keeps nothing. */
export const plainParty = (name: string, more: Partial<Party> = {}): Party => ({
  name,
  publicKey: name.padEnd(64, "0") as PublicKey,
  signer: { sandbox: name },
  floor: new Map(),
  transfersKept: 0,
  ...more,
})

export const halted = haltInForce({ reason: "operator", detail: "ana: audit" })
