import { readFileSync } from "node:fs"
import type { Schema } from "./schemata.ts"

/** What one process of the test runner is to do. */
export interface Plan {
  readonly schemata: ReadonlyArray<Schema>
  /** Test files, as paths from the root. */
  readonly files: ReadonlyArray<string>
  /**
   * Mutants that each test tries, by the test's id. Without it every test runs twice with no mutant, and what it
   * reaches is noted.
   */
  readonly tries?: Readonly<Record<string, ReadonlyArray<number>>>
  /** A file that gets a line for each event, as it happens. */
  readonly journal: string
  readonly workers: number
}

/** What a worker says, one line each. */
export type Event =
  /** A test run with no mutant. What it reaches outside of its own run is said of the id of its file. */
  | {
      readonly _tag: "Recorded"
      readonly test: string
      readonly millis: number
      readonly passed: boolean
      /** Whether it passed twice in one process. */
      readonly repeats: boolean
      /** Guards, each with what it has been: 1 true, 2 false, 3 both. */
      readonly reached: ReadonlyArray<readonly [number: number, was: number]>
    }
  | (OfTry & { readonly _tag: "Begun" })
  /** The test failed with it, passed without it and failed with it again. */
  | (OfTry & { readonly _tag: "Caught"; readonly words: string })
  | (OfTry & { readonly _tag: "Passed" })
  /** The test fails without the mutant too once it was there: this process proves nothing any more. */
  | (OfTry & { readonly _tag: "Spoiled" })

interface OfTry {
  readonly test: string
  readonly mutant: number
  readonly pid: number
  /** Since the try began. */
  readonly millis: number
}

/** The plan of this process, which MUTANT_PLAN names. */
export const readPlan = (): Plan => JSON.parse(readFileSync(process.env["MUTANT_PLAN"] ?? "", "utf8")) as Plan
