import { Effect } from "effect"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Signals } from "../store/Signals.ts"
import type { WindowAnswer } from "./askWindow.ts"
import { logAhead } from "./readBase.ts"

/** Says why a window gave no rows; silent where nothing is wrong. Rows are stored up to the block time `known`. */
export const explainAnswer = (
  answer: Exclude<WindowAnswer, { readonly _tag: "Rows" }>,
  { known, now }: { readonly known: bigint; readonly now: bigint },
) => {
  switch (answer._tag) {
    case "Ahead":
      return logAhead(answer.mark, now)
    case "Unwindowed":
      return Effect.logError("the gateway does not read by time", { remedy: "set reads: cursor for this gateway" })
    case "Overflow":
      return tellOverflow(answer)
    case "Nothing":
      return answer.mark === undefined || answer.mark.timestamp >= known
        ? Effect.void
        : Effect.logWarning("the gateway went backwards", { height: String(answer.mark.height) })
  }
}

/** Rows stand still until a person does something, so people are told once. */
const tellOverflow = Effect.fnUntraced(function* (answer: WindowAnswer & { readonly _tag: "Overflow" }) {
  const at = new Date(Number(answer.at / 1_000_000n)).toISOString()
  const remedy = "name a gateway with larger pages, or watch fewer parties"
  yield* Effect.logError("balance changes do not fit", { at, detail: answer.detail, remedy })
  const isNew = yield* (yield* AlertQueue).raise({
    dedup: `overflow/${answer.at}`,
    severity: "ticket",
    kind: "balances",
    subject: "balances",
    detail: `nothing behind ${at} can be read: ${answer.detail}; ${remedy}`,
    fields: { at: String(answer.at) },
  })
  if (isNew) yield* (yield* Signals).wake("alerts")
})
