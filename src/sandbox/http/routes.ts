import { Effect } from "effect"
import type { Profile } from "../Profiles.ts"
import { accounts } from "./Accounts.ts"
import { plainError, type RefusedRequest, type Route, type World } from "./Answer.ts"
import { assets } from "./Assets.ts"
import { balanceChanges } from "./BalanceChanges.ts"
import { controls } from "./Control.ts"
import { ledgerEntries } from "./LedgerEntries.ts"
import { type PerformedRequest, perform } from "./perform.ts"
import type { RateLimiter } from "./RateLimiter.ts"
import { epoch, height, parameters, spamStatistics, statistics } from "./Status.ts"
import { submit } from "./Submit.ts"
import { transfer, transfers, withdrawal, withdrawals } from "./Transfers.ts"

const routes: ReadonlyArray<Route> = [
  submit,
  balanceChanges,
  assets,
  height,
  statistics,
  accounts,
  transfers,
  transfer,
  withdrawals,
  withdrawal,
  ledgerEntries,
  spamStatistics,
  parameters,
  epoch,
  ...controls,
]

/** Operations of a profile: all, or those of the specification alone. */
export const routesOf = (profile: Profile): ReadonlyArray<Route> => routes.filter((route) => isServed(profile, route))

const isServed = (profile: Profile, route: Route): boolean => route.specified || profile.surface === "full"

const patternOf = (route: Pick<Route, "path">): RegExp =>
  new RegExp(`^${route.path.replace(/:([a-z]+)/g, "(?<$1>[^/]+)")}$`)

const patterns: ReadonlyArray<readonly [Route, RegExp]> = routes.map((route) => [route, patternOf(route)])

/** The route of a request and the parameters in its path. */
const findRoute = (
  profile: Profile,
  method: string,
  path: string,
): { readonly route: Route; readonly params: Readonly<Record<string, string>> } | undefined => {
  for (const [route, pattern] of patterns) {
    const found = route.method === method && isServed(profile, route) ? pattern.exec(path) : null
    if (found !== null) return { route, params: { ...found.groups } }
  }
  return undefined
}

/** A request that no server received. */
export interface LocalRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** IP address of the caller, for the rate limiter. */
  readonly address: string
  readonly body: Effect.Effect<string, RefusedRequest>
}

/** Answers as the server does, without a socket. */
export const answerRequest = (
  world: World,
  limiter: RateLimiter | undefined,
  { method, path, address, body }: LocalRequest,
): Effect.Effect<PerformedRequest> => {
  const found = findRoute(world.profile, method, path.split("?")[0]!)
  if (found === undefined) {
    return Effect.succeed({ _tag: "Answered", answer: plainError("NotFound", "Not Found", false), headers: {} })
  }
  const params = { ...found.params }
  for (const key of Object.keys(params)) params[key] = decodeURIComponent(params[key]!)
  return perform(world, limiter, found.route, { url: path, params, address, body })
}
