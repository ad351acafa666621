import { Effect, Result } from "effect"
import { loadTreasury } from "../config/Treasury.ts"
import { visible } from "../domain/visible.ts"

/**
 * A treasury whose files somebody names to the daemon. Where it cannot be used, nothing of what the files hold is told:
 * the daemon may read more than who asks. The command line reads them itself first, and tells what is wrong in them.
 */
export const loadAsked = Effect.fnUntraced(function* (files: readonly [string, ...ReadonlyArray<string>]) {
  const loaded = yield* Effect.result(loadTreasury(...files))
  if (Result.isSuccess(loaded)) return { treasury: loaded.success }
  return {
    problem: `${files.map(visible).join(", ")}: no treasury that the daemon can use`,
    remedy: '"cofferer check" says what is wrong in it; the daemon reads the files itself',
  }
})
