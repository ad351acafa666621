/** A guard that no test needs to notice, since another one makes it harmless. */
export interface Explained {
  /** File below src/ and words as `--list` has them: "store/controls/Controls.ts: if (stored === undefined)". */
  readonly guard: string
  /** Which other guard makes it harmless, in one sentence. */
  readonly why: string
  /** The test that shows it: its file below test/, and its title. */
  readonly shownBy: string
}

/** Mechanical mutants that may survive. One that is caught, or whose guard is gone, must leave this list. */
export const explained: ReadonlyArray<Explained> = []
