import { Effect, Option } from "effect"
import type { Profile } from "../Profiles.ts"
import { accounts } from "./Accounts.ts"
import { plainError, type Route, type World } from "./Answer.ts"
import { assets } from "./Assets.ts"
import { balanceChanges } from "./BalanceChanges.ts"
import { controls } from "./Control.ts"
import { ledgerEntries } from "./LedgerEntries.ts"
import { type Incoming, type PerformedRequest, perform } from "./perform.ts"
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

/** Operations that every profile serves: those of the specification, the chain height, our own paths (undefined). */
const specified: ReadonlySet<Route["operation"]> = new Set(["submit", "balanceChanges", "assets", "height", undefined])

const isServed = (profile: Profile, { operation }: Route): boolean =>
  profile.surface === "full" || specified.has(operation)

const patternOf = (route: Pick<Route, "path">): RegExp =>
  new RegExp(`^${route.path.replace(/:([a-z]+)/g, "(?<$1>[^/]+)")}$`)

const patterns: ReadonlyArray<readonly [Route, RegExp]> = routes.map((route) => [route, patternOf(route)])

/** The decoded path of a URL, without its query; none where the percent-encoding is invalid. */
const pathOf = Option.liftThrowable((url: string) => decodeURIComponent(url.split("?")[0] ?? ""))

const notFound: PerformedRequest = {
  _tag: "Answered",
  answer: plainError("NotFound", "Not Found"),
  headers: {},
}

/** A request to the network, independent of its transport. */
export interface NetworkRequest extends Omit<Incoming, "params"> {
  readonly method: string
}

/** Answers a request; with 404 where the profile has no such route. */
export const answerRequest = (
  world: World,
  limiter: RateLimiter | undefined,
  { method, ...incoming }: NetworkRequest,
): Effect.Effect<PerformedRequest> => {
  const path = Option.getOrElse(pathOf(incoming.url), () => "")
  for (const [route, pattern] of patterns) {
    const found = route.method === method && isServed(world.profile, route) ? pattern.exec(path) : null
    if (found !== null) return perform(world, limiter, route, { ...incoming, params: { ...found.groups } })
  }
  return Effect.succeed(notFound)
}
