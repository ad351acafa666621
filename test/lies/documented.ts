import { Effect } from "effect"
import type { HaltReason } from "../../src/domain/Halt.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { adopt, recover } from "../../src/submitter/audit/adopt.ts"
import type { Services } from "../simulation/Replica.ts"
import { payer } from "./LieTreasury.ts"

const words = { author: "tester", reason: "the gateway lied" }

/** A halt that a lie may bring about, and how people end it. */
export interface Documented {
  /** Why it is demanded. */
  readonly source: string
  /** What src names as its end. */
  readonly verb: "resume" | "adopt" | "recover"
  /** Given the path of the database. */
  readonly perform: (file: string) => Effect.Effect<unknown, unknown, Services>
}

const resume = () => Effect.flatMap(Controls, (controls) => controls.resume({ scope: "all", ...words }))

/** The only halts that a lie may bring about, each with what demands it. Any other one is an error. */
export const documentedHalts: Readonly<Partial<Record<HaltReason, Documented>>> = {
  duplicate_execution: { source: "decision 11, a payment that executed twice", verb: "resume", perform: resume },
  payment_missing: {
    source: "decision 38, a payment that was told as executed and is not",
    verb: "resume",
    perform: resume,
  },
  foreign_payment: {
    source: "decision 11, a payment or a debit that the journal does not know",
    verb: "adopt",
    perform: () => adopt([payer], words, () => Effect.void),
  },
  restored_store: {
    source: "decisions 11 and 13, a payment under this installation's own reference that the journal does not know",
    verb: "recover",
    perform: (file) => recover([payer], file, words, () => Effect.void),
  },
  chain_changed: { source: "decision 27, a gateway on another chain", verb: "resume", perform: resume },
}

export const documentedOf = (reason: string): Documented | undefined =>
  Object.hasOwn(documentedHalts, reason) ? documentedHalts[reason as HaltReason] : undefined
