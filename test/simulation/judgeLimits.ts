import type { Life, LimitsFound } from "./limits.ts"

/** A first life without rest between its polls, then one at its usual pace, beside a neighbour at one address. */
export const restless = (first: number, then: number) => ({
  lives: [
    { minutes: first, pollMillis: 20 },
    { minutes: then, pollMillis: 1_000 },
  ] as const satisfies ReadonlyArray<Life>,
  neighbourPerSecond: 12,
  naiveLanes: 0,
})

/** What is wrong with the lives of `restless`: refusals, polls that stop or are too many, knowledge that is late. */
export const judgeLimits = (
  [first, then]: ReturnType<typeof restless>["lives"],
  { daemon, neighbour, behindSeconds, executed }: LimitsFound,
): ReadonlyArray<string> => {
  const minutes = daemon.perMinute.slice(0, first.minutes + then.minutes)
  const least = (of: ReadonlyArray<number>): number => Math.min(...of)
  const must: ReadonlyArray<readonly [holds: boolean, complaint: string]> = [
    [
      daemon.tooMany + daemon.banned === 0,
      `the daemon is told ${daemon.tooMany} times 429, ${daemon.banned} times 403`,
    ],
    [
      neighbour.tooMany + neighbour.banned === 0,
      `the neighbour is refused ${neighbour.tooMany + neighbour.banned} times`,
    ],
    [minutes.length === first.minutes + then.minutes, `it reads in ${minutes.length} minutes alone`],
    [least(minutes.slice(0, first.minutes)) >= 300, `without rest it reads ${least(minutes)} times in a minute`],
    [least(minutes) >= 120, `it reads ${least(minutes)} times in a minute`],
    // Half of what the gateway lets through, and a burst.
    [Math.max(...minutes) <= 660, `it reads ${Math.max(...minutes)} times in a minute`],
    [behindSeconds < 3, `it ends ${behindSeconds} s behind`],
    [executed >= Math.floor(minutes.length / 6), `${executed} payments were executed`],
  ]
  return must.flatMap(([holds, complaint]) => (holds ? [] : [complaint]))
}
