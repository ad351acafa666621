import type { AssetStatusWord } from "../domain/Asset.ts"

/** Input of an operator's function; frozen. */
export interface CodeSeen {
  /** Base units by account: "maker-1/USDT" is its free balance, "maker-1/USDT total" all of it. */
  readonly balances: Readonly<Record<string, bigint>>
  /** Base units of one unit of the rule's asset. */
  readonly one: bigint
  /** By symbol, of the rule's own asset and of its accounts'. */
  readonly assets: Readonly<Record<string, CodeAsset>>
  /** Start of the current minute, Unix milliseconds. */
  readonly time: number
}

export interface CodeAsset {
  /** Base units of one unit of the asset. */
  readonly one: bigint
  readonly decimals: number
  /** unknown: no listing was read yet. */
  readonly status: AssetStatusWord | "unlisted" | "unknown"
}

/** Result of calling the function. */
export type CodeAnswer = (
  | {
      readonly _tag: "Pays"
      /** Positions in the rule's receivers, each once, and base units above zero; none: nothing is needed. */
      readonly payments: ReadonlyArray<{ readonly to: number; readonly amount: bigint }>
      /** In the operator's words. */
      readonly because: string | undefined
    }
  | { readonly _tag: "Broken"; readonly detail: string }
) & {
  /** True if the function read the time: another minute may then have another answer. */
  readonly timed: boolean
  /** Unix milliseconds until which this answer is used and the function is not called again. */
  readonly until?: number
}

/** An answer and what it answers. */
export interface Answered {
  readonly seen: CodeSeen
  readonly answer: CodeAnswer
}

/** An operator's function, wherever it runs. It never throws and always ends. */
export interface Code {
  /** SHA-256 in hex over its file and all files that it imports. */
  readonly hash: string
  /**
   * Calls it; `now` is the time of the evaluation, Unix milliseconds. One call at a time: while one runs, its promise
   * is returned, with the input of that call.
   */
  readonly ask: (seen: CodeSeen, now: number) => Answered | Promise<Answered>
}

/** Answers collected before a round in one batch, by rule name. A function that has not answered yet is absent. */
export type Answers = ReadonlyMap<string, Answered & Pick<Code, "hash">>
