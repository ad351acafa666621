import type { Profile } from "../Profiles.ts"
import { accounts } from "./Accounts.ts"
import { asset, assets } from "./Assets.ts"
import { balanceChanges } from "./BalanceChanges.ts"
import { controls } from "./Control.ts"
import { deposits, withdrawal, withdrawals } from "./Custody.ts"
import { estimateFee, feeDiscount } from "./Fees.ts"
import { ledgerEntries } from "./LedgerEntries.ts"
import { parameter, parameters } from "./Parameters.ts"
import { check, checkRaw, submitRaw } from "./Raw.ts"
import type { Route } from "./Route.ts"
import { spamStatistics } from "./Spam.ts"
import { coreTime, epoch, health, height, info, nodeTime, statistics } from "./Status.ts"
import { submit } from "./Submit.ts"
import { transfer, transfers } from "./Transfers.ts"

const routes: ReadonlyArray<Route> = [
  submit,
  submitRaw,
  check,
  checkRaw,
  balanceChanges,
  assets,
  asset,
  height,
  statistics,
  accounts,
  transfers,
  transfer,
  withdrawals,
  withdrawal,
  deposits,
  ledgerEntries,
  estimateFee,
  feeDiscount,
  spamStatistics,
  parameters,
  parameter,
  coreTime,
  nodeTime,
  info,
  epoch,
  health,
  ...controls,
]

/** What a profile serves: all of it, or the operations of the specification alone. */
export const routesOf = (profile: Profile): ReadonlyArray<Route> => routes.filter((route) => isServed(profile, route))

const isServed = (profile: Profile, route: Route): boolean => route.specified || profile.surface === "full"

const patternOf = (route: Pick<Route, "path">): RegExp =>
  new RegExp(`^${route.path.replace(/:([a-z]+)/g, "(?<$1>[^/]+)")}$`)

const patterns: ReadonlyArray<readonly [Route, RegExp]> = routes.map((route) => [route, patternOf(route)])

/** Whether one of the routes has the path, whatever its method. */
export const knowsPath = (known: ReadonlyArray<Pick<Route, "path">>): ((path: string) => boolean) => {
  const all = known.map(patternOf)
  return (path) => all.some((pattern) => pattern.test(path))
}

/** The route of a request and the parameters in its path, for those who bring requests without a server. */
export const findRoute = (
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
