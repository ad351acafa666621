import type { Plan } from "./Plan.ts"

/** Ten blocks of a calm run, and a little for requests on their way. */
export const seenMillis = 12_000
/** What one of three that lies takes longer: what two say is asked for again. */
const liarMillis = 3_000

/** Until when what a third party did must have been seen. Times are virtual milliseconds. */
export interface Allowance {
  readonly noteBlock: (height: number) => void
  /** The trouble is over. */
  readonly noteCalm: () => void
  /** A process may ask or believe too few gateways, or none as often as a reading takes. */
  readonly noteBlind: () => void
  /** Until when a second execution in the block must have been seen: ten blocks, and time enough for a poll or two. */
  readonly seenUntil: (height: number) => number
  /** Whether one of these executions, "id height", may still be on its way to be seen. */
  readonly isOpen: (replayed: ReadonlySet<string>) => boolean
}

export const makeAllowance = (plans: readonly [Plan, ...ReadonlyArray<Plan>], now: () => number): Allowance => {
  const [plan] = plans
  const { faults, stepsPerLife, sleeps } = plan
  const blockTimes = new Map<number, number>()
  const isServed =
    faults.length === 0 && plans.every(({ wild }) => wild?.outage === undefined && wild?.restore === undefined)
  const isCalm = isServed && stepsPerLife === undefined && !sleeps
  // Treasuries that share a gateway share its requests of a second, and each read waits to be joined by others.
  const millis = seenMillis * plans.length + (plan.liar ? liarMillis : 0)
  let calmAt = 0
  let blindAt = 0
  const seenUntil = (height: number): number => {
    const at = Math.max(blockTimes.get(height) ?? now(), isCalm ? 0 : Math.max(calmAt, blindAt))
    return Math.max(blockTimes.get(height + 10) ?? 0, at + millis)
  }
  return {
    noteBlock: (height) => blockTimes.set(height, now()),
    noteCalm: () => {
      calmAt = now()
    },
    noteBlind: () => {
      blindAt = now()
    },
    seenUntil,
    isOpen: (replayed) => [...replayed].some((replay) => seenUntil(Number(replay.split(" ")[1])) > now()),
  }
}
