import type { Place } from "../config/Placed.ts"
import type { HoldReason } from "../domain/Decision.ts"
import type { WorldEvent, WorldSettings } from "./World.ts"

/** What a test expects at a moment, in base units and names of the treasury; what is undefined may be anything. */
export type Expectation =
  | {
      readonly kind: "pays" | "asks" | "waits" | "expires"
      readonly amount: bigint
      readonly asset: string
      readonly decimals: number
      readonly from: string
      readonly to: string
      readonly rule: string | undefined
      /** Of what waits: the operators who have signed, and no others. */
      readonly by: ReadonlyArray<string> | undefined
    }
  | {
      readonly kind: "holds"
      readonly rule: string
      readonly subject: string
      readonly reason: HoldReason
      readonly because: string | undefined
    }
  | {
      readonly kind: "alert"
      readonly alert: string
      readonly rule: string | undefined
      readonly subject: string | undefined
      readonly because: string | undefined
    }
  | {
      readonly kind: "balance"
      /** An accountKey. */
      readonly account: string
      readonly name: string
      readonly balance: "free" | "total"
      readonly units: bigint
      readonly decimals: number
    }

export interface PlannedExpectation {
  readonly at: Place
  readonly expectation: Expectation
}

/** A moment of a test, in milliseconds since its start. */
export interface Moment {
  readonly after: number
  readonly events: ReadonlyArray<WorldEvent>
  readonly expected: ReadonlyArray<PlannedExpectation>
}

/** One test, ready to run. */
export interface Plan {
  readonly name: string
  readonly at: Place
  readonly settings: WorldSettings
  /** In the order of time. */
  readonly moments: ReadonlyArray<Moment>
  /** Payments that no expectation names are no fault. */
  readonly anyPayments: boolean
  readonly payments: { readonly at: Place; readonly count: number } | undefined
  readonly alerts: { readonly at: Place; readonly count: number } | undefined
}
