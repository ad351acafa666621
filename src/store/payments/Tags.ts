import { Context, Effect } from "effect"
import type { Intent } from "../../domain/Intent.ts"
import { Findings } from "./Findings.ts"

/** Tags by which payments are recognized on the ledger. */
export class Tags extends Context.Service<
  Tags,
  {
    /** 16 hex characters, equal for every store of the paying key; undefined where that key is not held here. */
    readonly of: (party: string, intentId: string) => string | undefined
  }
>()("cofferer/store/Tags") {}

/**
 * Listed transfers with the payment's tag that are no attempt of this store: another copy of the store paid it, or
 * tried to. Oldest first. A withdrawal has no tag.
 */
export const listedBefore = Effect.fnUntraced(function* ({
  id,
  command,
  payment: { fromKey },
}: Pick<Intent, "id" | "command"> & { readonly payment: Pick<Intent["payment"], "fromKey"> }) {
  const tag = command === "transfer" ? (yield* Tags).of(fromKey, id) : undefined
  return tag === undefined ? [] : yield* (yield* Findings).bearing(fromKey, tag)
})
