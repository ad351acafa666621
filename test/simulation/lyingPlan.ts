import { type Dice, makeDice } from "../support/Dice.ts"
import { type Falsehood, falsehoods, type Operation } from "./falsehoods.ts"
import { type Plan, planOf } from "./Plan.ts"

/** What a gateway says that is not so, and when. */
export interface PlannedLie {
  readonly name: string
  /** All that are told together, or one of these for each answer. */
  readonly told: ReadonlyArray<Falsehood>
  readonly together: boolean
  /** Milliseconds since the start from which it is told in the next answer in which it fits. */
  readonly from: number
  /** Milliseconds from that answer on; 0 for this alone, Infinity for ever. */
  readonly lasts: number
  /** How many of the answers that it concerns are lies, from 0 to 1. */
  readonly share: number
}

/** A run before one gateway that is honest most of the time. */
export interface LyingPlan {
  readonly plan: Plan
  readonly lies: ReadonlyArray<PlannedLie>
  /** Milliseconds since the start at which the process is killed, in order. */
  readonly kills: ReadonlyArray<number>
}

/** Within so long lies begin. */
const beginMillis = 90_000

/** How often each operation is lied about: what payments rest on most of all. */
const weights: Readonly<Record<Operation, number>> = {
  height: 12,
  balanceChanges: 4,
  transfer: 3,
  transfers: 3,
  submit: 3,
  accounts: 2,
  parameters: 2,
  assets: 2,
  statistics: 1,
  spam: 1,
  ledger: 1,
  withdrawals: 1,
  withdrawal: 0,
  epoch: 0,
}

const drawn = Object.entries(weights).flatMap(([operation, count]) => Array.from({ length: count }, () => operation))
const byOperation = new Map(drawn.map((operation) => [operation, falsehoods.filter((f) => f.operation === operation)]))

/** Heights of the head and of all rows, moved alike. */
const moves = ["1 ahead", "30 ahead", "600 ahead", "100,000 ahead", "doubled", "30 behind", "9*10^18", "2^63-1"]
const heightLies = (move: string): ReadonlyArray<Falsehood> =>
  falsehoods.filter(({ name }) => name === `height height: ${move}` || name.endsWith(` X-Block-Height: ${move}`))

const formless = /: (missing|null|empty text|an object|a list)$/

const lastsOf = (dice: Dice): number => {
  const kind = dice.next()
  if (kind < 0.3) return 0
  if (kind < 0.55) return 1 + dice.below(4_000)
  if (kind < 0.85) return 4_000 + dice.below(60_000)
  return kind < 0.94 ? 60_000 + dice.below(300_000) : Number.POSITIVE_INFINITY
}

const lieOf = (dice: Dice): PlannedLie => {
  const from = dice.below(beginMillis)
  const lasts = lastsOf(dice)
  const share = dice.next() < 0.7 ? 1 : 0.2 + 0.6 * dice.next()
  const kind = dice.next()
  if (kind < 0.1) {
    const move = dice.pick(moves) ?? ""
    return { name: `all heights: ${move}`, told: heightLies(move), together: true, from, lasts, share }
  }
  const operation = dice.pick(drawn) ?? "height"
  const all = byOperation.get(operation) ?? []
  // Most answers without a form are unreadable, and nothing more: fewer of them.
  const formed = dice.next() < 0.7 ? all.filter(({ name }) => !formless.test(name)) : all
  if (kind < 0.2) return { name: `anything about ${operation}`, told: all, together: false, from, lasts, share }
  if (kind < 0.25) return { name: "anything", told: falsehoods, together: false, from, lasts, share }
  const one = dice.pick(formed)
  const told = one === undefined ? [] : [one]
  return { name: one?.name ?? "nothing", told, together: true, from, lasts, share }
}

/** What a seed is about where its one gateway lies at random. */
export const lyingPlanOf = (seed: number): LyingPlan => {
  const dice = makeDice(`lying ${seed}`)
  const plan: Plan = {
    ...planOf(seed, "lying"),
    blockMillis: 1_000,
    blocks: 100,
    workChanges: [],
    faults: [],
    stepsPerLife: undefined,
    rebroadcaster: false,
    manyNodes: false,
    liar: false,
    sleeps: false,
    latencyMillis: 1 + dice.below(120),
    spends: [],
    epochSeconds: 3_600,
    transfersPerEpoch: 20,
  }
  const lies = Array.from({ length: 1 + dice.below(3) }, () => lieOf(dice))
  const kills = dice.next() < 0.25 ? Array.from({ length: 1 + dice.below(2) }, () => dice.below(beginMillis * 2)) : []
  return { plan, lies: lies.toSorted((a, b) => a.from - b.from), kills: kills.toSorted((a, b) => a - b) }
}

const lastsText = (millis: number): string => {
  if (millis === 0) return "one answer"
  return Number.isFinite(millis) ? `${(millis / 1_000).toFixed(1)} s` : "for ever"
}

/** One line that says what a seed is about. */
export const describeLying = ({ plan, lies, kills }: LyingPlan): string =>
  [
    `lying ${plan.profile} window ${plan.window}`,
    ...lies.map(
      ({ name, from, lasts, share }) =>
        `"${name}" from ${(from / 1_000).toFixed(1)} s: ${lastsText(lasts)}${share < 1 ? `, ${share.toFixed(1)} of them` : ""}`,
    ),
    ...(kills.length === 0 ? [] : [`killed at ${kills.map((at) => `${(at / 1_000).toFixed(0)} s`).join(", ")}`]),
  ].join(", ")
