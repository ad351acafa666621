import type { Backtest } from "./Backtest.ts"

/** One number of two backtests of one past, side by side. */
export interface Total {
  readonly what: string
  /** amount: base units of `asset`; share: of a limit, 1 where it is used up. */
  readonly unit: "count" | "amount" | "millis" | "share"
  readonly asset: string | null
  /** Of the asset; 0 where there is none. */
  readonly decimals: number
  /** Undefined where this side has no such account, line or rule. */
  readonly here: bigint | number | undefined
  readonly there: bigint | number | undefined
}

/** What was spent of an asset on a day (UTC), in base units. */
export interface DayTotal {
  readonly day: string
  readonly asset: string
  readonly decimals: number
  readonly here: bigint
  readonly there: bigint
}

/** From this share of a limit on it is a near miss. */
const nearShare = 0.9

const dayMillis = 86_400_000

type Sides = readonly [here: Backtest, there: Backtest]

const row = (
  what: string,
  unit: Total["unit"],
  [here, there]: readonly [Total["here"], Total["there"]],
  { asset = null, decimals = 0 }: { readonly asset?: string | null; readonly decimals?: number } = {},
): Total => ({ what, unit, asset, decimals, here, there })

const both = <A>([here, there]: Sides, of: (one: Backtest) => A): readonly [A, A] => [of(here), of(there)]

/** The numbers of two backtests of one past, the one beside the other. */
export const totalsOf = (sides: Sides): ReadonlyArray<Total> => [
  row(
    "transfers",
    "count",
    both(sides, ({ payments }) => payments.length),
  ),
  row(
    "failed",
    "count",
    both(sides, ({ payments }) => payments.filter(({ state }) => state === "failed").length),
  ),
  row(
    "asked for approval",
    "count",
    both(sides, ({ approvals }) => approvals.reduce((sum, one) => sum + one.asked, 0)),
  ),
  ...assetsOf(sides).flatMap((asset) => sumsOf(sides, asset)),
  row(
    "near misses",
    "count",
    both(sides, (one) => usesOf(one).filter(({ share }) => share >= nearShare).length),
  ),
  ...usesBeside(sides),
  row(
    "outside the band",
    "millis",
    both(sides, (one) => one.bands.reduce((sum, band) => sum + band.outsideMillis, 0)),
  ),
  ...bandsBeside(sides),
  row(
    "alerts",
    "count",
    both(sides, ({ told }) => told.length),
  ),
]

interface Asset {
  readonly asset: string
  readonly decimals: number
}

const assetsOf = (sides: Sides): ReadonlyArray<Asset> => {
  const known = new Map<string, Asset>()
  for (const { payments } of sides) {
    for (const { intent } of payments) {
      const { asset } = intent.payment
      if (asset !== "") known.set(asset, { asset, decimals: intent.decimals })
    }
  }
  return [...known.values()]
}

/** Without what is under a hundredth of a unit: nobody paid an average. */
const rounded = (units: bigint, { decimals }: Asset): bigint =>
  units - (units % 10n ** BigInt(Math.max(0, decimals - 2)))

const sumsOf = (sides: Sides, asset: Asset): ReadonlyArray<Total> => {
  const made = ({ payments }: Backtest) =>
    payments.filter(({ state, intent }) => state !== "failed" && intent.payment.asset === asset.asset)
  const paid = (one: Backtest) => made(one).reduce((sum, { intent }) => sum + intent.payment.amount, 0n)
  const fees = (one: Backtest) => made(one).reduce((sum, { intent }) => sum + (intent.fee ?? 0n), 0n)
  const lasted = ({ from, to }: Backtest) => BigInt(Math.max(1, Math.ceil((to - from) / dayMillis)))
  const busiest = (one: Backtest) =>
    [...spentByDay(one, asset.asset).values()].reduce((most, day) => (day > most ? day : most), 0n)
  return [
    row("paid", "amount", both(sides, paid), asset),
    row("fees", "amount", both(sides, fees), asset),
    row(
      "paid on a day, on average",
      "amount",
      both(sides, (one) => rounded(paid(one) / lasted(one), asset)),
      asset,
    ),
    row("paid on the busiest day", "amount", both(sides, busiest), asset),
  ]
}

const spentByDay = ({ days }: Backtest, asset: string): ReadonlyMap<string, bigint> => {
  const spent = new Map<string, bigint>()
  for (const one of days) {
    if (one.asset === asset) spent.set(one.day, (spent.get(one.day) ?? 0n) + one.amount)
  }
  return spent
}

/** What was spent on each day, by asset, oldest first. */
export const dayTotalsOf = (sides: Sides): ReadonlyArray<DayTotal> =>
  assetsOf(sides)
    .flatMap(({ asset, decimals }) => {
      const [here, there] = both(sides, (one) => spentByDay(one, asset))
      const days = new Set([...here.keys(), ...there.keys()])
      return [...days].map((day) => ({ day, asset, decimals, here: here.get(day) ?? 0n, there: there.get(day) ?? 0n }))
    })
    .toSorted((a, b) => (a.day === b.day ? 0 : a.day < b.day ? -1 : 1))

/** Nothing at all is left above the floor, nor of it. */
const most = 10

interface Use {
  readonly what: string
  readonly share: number
}

const shareOf = (part: bigint | number, whole: bigint | number): number =>
  Number(whole) === 0 ? 0 : Number(part) / Number(whole)

/** How much of each limit was used at most: of the policy's windows, of the network's epochs, of balances by floors. */
const usesOf = ({ lines, quota, accounts }: Backtest): ReadonlyArray<Use> => [
  ...lines
    .filter(({ count }) => count > 0)
    .flatMap(({ line, amountMax, countMax }) => [
      { what: `line ${line.line}: amount in 24 h`, share: shareOf(amountMax, line.per24h) },
      { what: `line ${line.line}: transfers in 24 h`, share: shareOf(countMax, line.transfersPer24h) },
    ]),
  ...quota.map(({ party, most, limit }) => ({ what: `${party}: transfers in an epoch`, share: shareOf(most, limit) })),
  ...accounts.flatMap(({ account, floor, lowest }) =>
    floor === undefined ? [] : [{ what: `${account}: floor`, share: lowest <= 0n ? most : shareOf(floor, lowest) }],
  ),
]

const usesBeside = (sides: Sides): ReadonlyArray<Total> => {
  const [here, there] = both(sides, (one) => new Map(usesOf(one).map(({ what, share }) => [what, share])))
  return [...new Set([...here.keys(), ...there.keys()])].map((what) =>
    row(what, "share", [here.get(what), there.get(what)]),
  )
}

const bandsBeside = (sides: Sides): ReadonlyArray<Total> => {
  const [here, there] = both(
    sides,
    ({ bands }) => new Map(bands.map(({ rule, account, outsideMillis }) => [`${rule} ${account}`, outsideMillis])),
  )
  return [...new Set([...here.keys(), ...there.keys()])].map((what) =>
    row(`outside: ${what}`, "millis", [here.get(what), there.get(what)]),
  )
}

/** What `there` has more than `here`; undefined where one side has no such number. */
export const differenceOf = ({ here, there }: Pick<Total, "here" | "there">): bigint | number | undefined => {
  if (typeof here === "bigint" && typeof there === "bigint") return there - here
  return typeof here === "number" && typeof there === "number" ? there - here : undefined
}
