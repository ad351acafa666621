import { Context } from "effect"

/** What payments are called on the ledger. */
export class Tags extends Context.Service<
  Tags,
  {
    /** 16 hex characters, equal for every store of the paying key; undefined where that key is not held here. */
    readonly of: (party: string, intentId: string) => string | undefined
  }
>()("cofferer/engine/Tags") {}
