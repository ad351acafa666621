import type { Planted } from "./planted.ts"

/** A mistake that other guards keep from the ledger, or that takes other people than the simulation has. */
export interface PlantedGuard extends Planted {
  /** The test file that must fail with it. */
  readonly test: string
  /** Part of the title of the tests that are run: one of them must fail. */
  readonly title: string
}

/** The tests are worth what they notice: each of these must make its test fail. */
export const guards: ReadonlyArray<PlantedGuard> = [
  {
    name: "signs as many attempts of an intent as it is asked for",
    test: "test/signer/signer.test.ts",
    title: "attempt",
    edits: [
      {
        file: "signer/Signer.ts",
        source: '              if (another !== undefined) return yield* refuse("attempts", another)\n',
        instead: "",
      },
    ],
  },
]
