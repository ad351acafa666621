import type { FaultSpec } from "../../src/sandbox/Faults.ts"
import type { Dice } from "../support/Dice.ts"
import type { Circumstance } from "./failpoints.ts"

type Fault = Omit<FaultSpec, "rate"> & { readonly rate?: number }

const submit = { operation: "submit" } as const

/** What may go wrong with a submission. */
const ofSubmissions: ReadonlyArray<(dice: Dice) => Fault> = [
  () => ({ ...submit, kind: "accept_drop_answer" }),
  () => ({ ...submit, kind: "drop_before" }),
  (dice) => ({ ...submit, kind: "delay", delayMillis: 100 + dice.below(1_400) }),
  () => ({ ...submit, kind: "duplicate_delivery" }),
  (dice) => ({
    ...submit,
    kind: "http_status",
    status: dice.pick([429, 500, 502, 503, 504] as const) ?? 500,
    effect: dice.next() < 0.5,
  }),
  () => ({ ...submit, kind: "html_body" }),
  () => ({ ...submit, kind: "truncated_body" }),
  () => ({ ...submit, kind: "wrong_content_length" }),
  () => ({ ...submit, kind: "lost_mempool" }),
  () => ({ ...submit, kind: "lying_success" }),
  (dice) => ({ ...submit, kind: "lying_failure", code: dice.pick([51, 60, 70, 80, 89] as const) ?? 70 }),
  (dice) => ({
    ...submit,
    kind: "late_broadcast",
    code: dice.pick([60, 70, 89] as const) ?? 70,
    blocks: 1 + dice.below(6),
  }),
  () => ({ ...submit, kind: "wrong_hash" }),
  () => ({ ...submit, kind: "execution_failure" }),
]

const read = (dice: Dice) => ({
  operation: dice.pick(["transfer", "transfers", "balanceChanges", "height", "assets"] as const) ?? "transfer",
})

/** What may go wrong with a read. No lie about height or listing: one gateway alone is believed in those. */
const ofReads: ReadonlyArray<(dice: Dice) => Fault> = [
  (dice) => ({ ...read(dice), kind: "drop_before" }),
  (dice) => ({ ...read(dice), kind: "accept_drop_answer" }),
  (dice) => ({ ...read(dice), kind: "delay", delayMillis: 100 + dice.below(900) }),
  (dice) => ({ ...read(dice), kind: "http_status", status: dice.pick([500, 503] as const) ?? 500 }),
  (dice) => ({ ...read(dice), kind: "truncated_body" }),
]

/** One to three faults, each for a few requests. */
export const someFaults = (dice: Dice): ReadonlyArray<Fault> =>
  Array.from({ length: 1 + dice.below(3) }, () => {
    const make = dice.pick(dice.next() < 0.75 ? ofSubmissions : ofReads) ?? (() => ({ ...submit, kind: "drop_before" }))
    return { ...make(dice), count: 1 + dice.below(3), rate: dice.next() < 0.5 ? 1 : 0.3 + dice.next() * 0.7 }
  })

/** What leads to a step that does not come by otherwise. */
export const faultsFor = (circumstance: Circumstance | undefined): ReadonlyArray<Fault> | undefined => {
  switch (circumstance) {
    case "expiry":
      return [{ ...submit, kind: "lying_success" }]
    case "lostAnswer":
      return [{ ...submit, kind: "accept_drop_answer", count: 3 }]
    case "refusedWork":
      return [{ ...submit, kind: "lying_failure", code: 89, count: 3 }]
    case undefined:
      return undefined
    default:
      return []
  }
}
