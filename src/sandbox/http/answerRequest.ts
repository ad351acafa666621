import { Effect } from "effect"
import { plainError, type Refusal } from "./Answer.ts"
import { type Outcome, perform } from "./perform.ts"
import type { RateLimiter } from "./RateLimiter.ts"
import type { World } from "./Route.ts"
import { findRoute } from "./routes.ts"

/** A request that no server received. */
export interface Request {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** IP address of the caller, for the rate limiter. */
  readonly address: string
  readonly body: Effect.Effect<string, Refusal>
}

/** Answers as the server does, without a socket. */
export const answerRequest = (
  world: World,
  limiter: RateLimiter | undefined,
  { method, path, address, body }: Request,
): Effect.Effect<Outcome> => {
  const found = findRoute(world.profile, method, path.split("?")[0]!)
  if (found === undefined) {
    return Effect.succeed({ _tag: "Answered", answer: plainError("NotFound", "Not Found", false), headers: {} })
  }
  const params = { ...found.params }
  for (const key of Object.keys(params)) params[key] = decodeURIComponent(params[key]!)
  return perform(world, limiter, found.route, { url: path, params, address, body })
}
