import { type FaultKind, type FaultSpec, faultKinds, fits, operations } from "../../src/sandbox/Faults.ts"
import { type ProfileName, profileNames, profiles } from "../../src/sandbox/Profiles.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import type { Book } from "./Book.ts"
import { type Deed, deedsOf, describeDeed } from "./People.ts"
import { describeWild, tame, type Wild, wildOf } from "./Wild.ts"

/**
 * Who the gateways are. honest: they err, but do not lie about height and listing. hostile: all of them, about all.
 * lying: there is one, which is honest most of the time.
 */
export type Gateways = "honest" | "hostile" | "lying"

/** What a seed is about: everything that may go wrong is on or off for the whole run. */
export interface Plan {
  readonly seed: number
  readonly gateways: Gateways
  readonly profile: ProfileName
  readonly window: number
  readonly blocks: number
  /** From one block to the next. */
  readonly blockMillis: number
  readonly difficulty: number
  readonly txPerBlock: number
  readonly increaseDifficulty: boolean
  readonly epochSeconds: number
  readonly transfersPerEpoch: number
  /** Blocks at which the window or the difficulty changes. */
  readonly workChanges: ReadonlyArray<{ readonly block: number; readonly window: number; readonly difficulty: number }>
  /** Armed at their block for so many requests. */
  readonly faults: ReadonlyArray<{ readonly block: number; readonly spec: FaultSpec }>
  /** Mean number of steps between two deaths; undefined: nobody dies. */
  readonly stepsPerLife: number | undefined
  /** Whether the process is put to sleep in the middle of what it does. */
  readonly sleeps: boolean
  /** Whether somebody broadcasts our public bytes again, whenever the network would take them. */
  readonly rebroadcaster: boolean
  /** Whether many nodes stand behind the gateway: the one that is asked does not remember the bytes that others got. */
  readonly manyNodes: boolean
  /** Whether three gateways show the network, of which two must agree and the third lies about everything. */
  readonly liar: boolean
  /** Mean milliseconds of a request on its way. */
  readonly latencyMillis: number
  /** Blocks at which money leaves the accounts that are kept funded. */
  readonly spends: ReadonlyArray<{ readonly block: number; readonly from: "hot" | "warm"; readonly amount: number }>
  /** Blocks from which on the clock is wrong by so many milliseconds. Once the trouble is over it is right. */
  readonly clockSteps?: ReadonlyArray<{ readonly block: number; readonly millis: number }>
  /** What people do meanwhile; none: nobody is about. */
  readonly deeds?: ReadonlyArray<Deed>
  /** Whether a rule in code stands in the place of one of the others. */
  readonly inCode?: boolean
  /** Whether nothing goes wrong before a first payment is signed. */
  readonly beginsCalm?: boolean
  /** What the operator wrote, and what befalls him; undefined: the plain treasury, and nothing. */
  readonly wild?: Wild
}

/** Lies about the newest block or about what it holds: told by a minority only, where exactly-once is judged. */
const lies: ReadonlySet<FaultKind> = new Set(["stale_read"])

/** Faults that stop the treasury until a person acts: rare, or most runs would show nothing else. */
const grave: ReadonlySet<FaultKind> = new Set(["chain_id_change"])

export const planOf = (seed: number, gateways: Gateways): Plan => {
  const plan = pacedOf(tamePlanOf(seed, gateways))
  if (gateways === "lying") return plan
  const wild = wildOf(seed, plan)
  const liar = plan.liar || wild.lag !== undefined
  // Files that are read again hold no code here, and a clock that is wrong makes planned times of its own.
  const isCoded = plan.inCode === true && wild.rewrites.length === 0
  const isTimed = wild.book.payouts.length > 0 || wild.outage !== undefined
  const whole = { ...plan, wild, liar, inCode: isCoded, clockSteps: isTimed ? [] : (plan.clockSteps ?? []) }
  return wild.restore === undefined || wild.restore.when === "at once" ? whole : restoring(whole)
}

/** What the names of a second treasury's parties begin with on the network. */
export const sister = "sister-"

/**
 * Plans of two treasuries in one process, before the same gateways. The network, its faults, clock and deaths are those
 * of the seed; what the second operator writes and does, and what befalls that store alone, is drawn for it. In half of
 * the runs the first fills the second's reserve.
 */
export const pairOf = (seed: number, gateways: Gateways): readonly [Plan, Plan] => {
  const [first, drawn] = [planOf(seed, gateways), planOf(500_000_000 + seed, gateways)]
  const [wild, own] = [first.wild ?? tame, drawn.wild ?? tame]
  const funds = makeDice(`funds ${seed}`).next() < 0.5 && wild.book.floor === undefined ? sister : undefined
  const named = ({ book, rewrites }: Wild, change: Pick<Book, "who" | "funds"> & { readonly floor?: undefined }) => ({
    book: { ...book, ...change },
    rewrites: rewrites.map((one) => ({ ...one, book: { ...one.book, ...change } })),
  })
  // A store that is put back at the worst moment needs a network of its own making.
  const restore = own.restore?.when === "at once" ? own.restore : undefined
  const theirs = { votes: [], outage: undefined, lag: undefined, lieOf: undefined, unreadUntil: 0, restore }
  const change = { who: sister, funds: undefined, ...(funds === undefined ? {} : { floor: undefined }) }
  const second = { ...own, ...theirs, ...named(own, change) }
  const clockSteps = second.book.payouts.length > 0 ? [] : (first.clockSteps ?? [])
  const { spends, deeds = [], inCode = false } = drawn
  return [
    { ...first, clockSteps, wild: { ...wild, ...named(wild, { who: "", funds }) } },
    { ...first, clockSteps, spends, deeds, inCode, wild: second },
  ]
}

/**
 * Nothing else goes wrong where a store is put back at the worst moment, or what was under way would be over before
 * anybody could pay it twice. Who has the bytes that the network lost brings them in the last block of their window.
 */
const restoring = (plan: Plan): Plan => ({
  ...plan,
  blockMillis: 1_000,
  window: 20,
  workChanges: [],
  faults: [],
  stepsPerLife: undefined,
  latencyMillis: Math.min(plan.latencyMillis, 40),
  clockSteps: [],
  rebroadcaster: true,
  beginsCalm: true,
})

/**
 * The same at a pace at which money moves while things go wrong: a treasury that starts amid faults, or dies before it
 * has compared its balances, pays nothing until all is calm.
 */
const pacedOf = (plan: Plan): Plan => {
  if (plan.gateways === "lying") return plan
  const dice = makeDice(`pace ${plan.seed}`)
  const blockMillis = 2 * plan.blockMillis
  const stepsPerLife = plan.stepsPerLife === undefined ? undefined : 4 * plan.stepsPerLife
  return { ...plan, blockMillis, stepsPerLife, beginsCalm: dice.next() < 0.8 }
}

/** The same without what is wild: as runs were before it, to the last byte. */
export const tamePlanOf = (seed: number, gateways: Gateways): Plan => {
  const dice = makeDice(`simulation ${seed}`)
  const chance = (share: number) => dice.next() < share
  const between = (least: number, most: number) => least + dice.below(most - least + 1)
  /** Draws before it decide nothing any more: each seed stays the run that it was. */
  const drawSleep = () => {
    if (chance(0.25)) between(2, 3)
    return chance(0.5)
  }
  const window = between(5, 20)
  const blockMillis = dice.pick([200, 300, 450, 700]) ?? 1_000
  // Short runs more often than long ones: most of what can happen happens early.
  const blocks = 60 + Math.floor(91 * dice.next() ** 2)
  const plan: Plan = {
    seed,
    gateways,
    profile: dice.pick(profileNames) ?? "0.75",
    window,
    blocks,
    blockMillis,
    difficulty: between(0, 3),
    txPerBlock: between(1, 3),
    increaseDifficulty: chance(0.5),
    epochSeconds: between(20, 90),
    transfersPerEpoch: chance(0.3) ? between(1, 3) : 20,
    workChanges: chance(0.2) ? [{ block: between(10, blocks), window: between(5, 20), difficulty: between(0, 4) }] : [],
    faults: faultsOf(dice, blocks, gateways),
    stepsPerLife: chance(0.6) ? between(60, 3_000) : undefined,
    rebroadcaster: chance(0.4),
    manyNodes: false,
    liar: gateways === "honest" && makeDice(`liar ${seed}`).next() < 0.1,
    sleeps: drawSleep(),
    // More than a block on the way would be a slow line beside a quick network: no margin of blocks helps there.
    latencyMillis: chance(0.5) ? between(1, 40) : between(40, Math.floor(0.7 * blockMillis)),
    spends: spendsOf(dice, blocks),
    // Dice of their own: all other runs go as if there were no such thing.
    deeds: deedsOf(seed, blocks),
    inCode: makeDice(`code ${seed}`).next() < 1 / 6,
  }
  const whole = blinded(plan)
  return { ...whole, clockSteps: clockStepsOf(seed, blocks, whole.profile) }
}

/**
 * Some runs see no end of any payment for longer than a window: every answer is an error, whatever was done, so the
 * same bytes go out again and again while they may. Where a ledger forgets one block too early, and the node that is
 * asked does not know the bytes, the last of them would pay twice. Nobody else broadcasts there: it would be
 * their doing.
 */
const blinded = (plan: Plan): Plan => {
  const dice = makeDice(`blind ${plan.seed}`)
  if (dice.next() >= 0.1) return plan
  const profile = dice.pick(forgetful) ?? plan.profile
  const window = 5 + dice.below(6)
  // After a first payment, which learns in which form the gateway takes transactions.
  const block = 20 + dice.below(plan.blocks - 40)
  const faults = (["submit", "transfer"] as const).map((operation) => ({
    block,
    spec: {
      ...specOf(dice, "http_status", operation),
      status: 500 as const,
      effect: true,
      rate: 1,
      count: 60 + dice.below(60),
    },
  }))
  return {
    ...plan,
    profile,
    window,
    manyNodes: true,
    rebroadcaster: false,
    workChanges: [],
    faults: [...plan.faults, ...faults],
  }
}

const hour = 3_600_000

/**
 * In a fifth of the runs the clock is stepped, both ways, by seconds or by days; where no block is named its time is
 * the only one there is, and that one cannot be told to be wrong. The dice are their own.
 */
const clockStepsOf = (seed: number, blocks: number, profile: ProfileName): NonNullable<Plan["clockSteps"]> => {
  const dice = makeDice(`clock ${seed}`)
  if (dice.next() >= 0.2 || !profiles[profile].blockHeaders) return []
  return Array.from({ length: 1 + dice.below(3) }, () => {
    const by = dice.pick([0, 2_000, 90_000, 600_000, 3 * hour, 30 * hour]) ?? 0
    return { block: 2 + dice.below(blocks - 4), millis: dice.next() < 0.5 ? by : -by }
  }).toSorted((a, b) => a.block - b.block)
}

/** Profiles of networks that take a transaction a second time in the last block of its window. */
const forgetful = profileNames.filter((name) => profiles[name].replayHole)

const faultsOf = (dice: Dice, blocks: number, gateways: Gateways): Plan["faults"] => {
  const share = dice.next() * 0.6
  const on = faultKinds.filter((kind) => {
    const drawn = dice.next()
    if (lies.has(kind) && gateways === "honest") return false
    return drawn < (grave.has(kind) ? 0.03 : share)
  })
  const drawn = on.flatMap((kind) =>
    Array.from({ length: 1 + dice.below(4) }, () => {
      const fitting = operations.filter((operation) => fits(kind, operation))
      const often = fitting.filter((operation) => busy.has(operation))
      const operation = dice.pick(dice.next() < 0.8 && often.length > 0 ? often : fitting) ?? "submit"
      return { block: 2 + dice.below(blocks - 5), spec: { ...specOf(dice, kind, operation), count: 1 + dice.below(6) } }
    }),
  )
  if (dice.next() < 0.5) drawn.push(...weatherOf(dice))
  let torn = 0
  return drawn.filter(({ spec }) => {
    // A listing that leaves out rows time after time is no accident but a lie.
    const leavesOut = spec.kind === "reorganised_pages" && spec.operation === "transfers" && gateways === "honest"
    if (leavesOut) spec.count = 1
    return !leavesOut || ++torn === 1
  })
}

/** A gateway that shuts us out is not asked for ten minutes: rare, since nothing more happens in such a run. */
export const banned = 403 as const

const specOf = (dice: Dice, kind: FaultKind, operation: FaultSpec["operation"]) => ({
  kind,
  operation,
  rate: dice.next() < 0.5 ? 1 : 0.2 + dice.next() * 0.8,
  count: 1,
  status: dice.next() < 0.03 ? banned : (dice.pick([429, 500, 502, 503, 504] as const) ?? 500),
  effect: dice.next() < 0.5,
  delayMillis: 1 + dice.below(8_000),
  blocks: 1 + dice.below(15),
  skewMillis: dice.below(120_000) - 60_000,
  code: dice.pick([51, 60, 70, 80, 89] as const) ?? 70,
  difficulty: dice.below(5),
  chainId: "other-chain",
})

/** What lasts for the whole of a run, and hits payments most: answers that are lost, lies of the mempool, old looks. */
const weathers: ReadonlyArray<readonly [FaultKind, FaultSpec["operation"]]> = [
  ["accept_drop_answer", "submit"],
  ["http_status", "submit"],
  ["lying_failure", "submit"],
  ["late_broadcast", "submit"],
  ["lost_mempool", "submit"],
  ["lagging_replica", "transfer"],
  ["lagging_replica", "transfers"],
  ["lagging_replica", "balanceChanges"],
  ["cursor_cycle", "transfers"],
  ["http_status", "transfer"],
]

const weatherOf = (dice: Dice) =>
  weathers
    .filter(() => dice.next() < 0.25)
    .map(([kind, operation]) => ({ block: 2, spec: { ...specOf(dice, kind, operation), count: 60 } }))

/** Operations that a treasury really uses. */
const busy: ReadonlySet<string> = new Set(["submit", "balanceChanges", "height", "transfer", "transfers", "accounts"])

const spendsOf = (dice: Dice, blocks: number): Plan["spends"] =>
  (["hot", "warm"] as const).flatMap((from) => {
    const every = 4 + dice.below(12)
    return Array.from({ length: Math.floor(blocks / every) }, (_, i) => ({
      block: 3 + i * every + dice.below(5),
      from,
      amount: 4_000 + dice.below(15_000),
    }))
  })

/** One line that says what a plan switched on. */
export const describePlan = (plan: Plan): string =>
  [
    `${plan.gateways} ${plan.profile} window ${plan.window}, ${plan.blocks} blocks of ${plan.blockMillis} ms`,
    plan.stepsPerLife === undefined ? "" : `a death each ${plan.stepsPerLife} steps`,
    plan.sleeps ? "sleeps" : "",
    plan.rebroadcaster ? "rebroadcaster" : "",
    plan.manyNodes ? "many nodes" : "",
    plan.liar ? "one of three gateways lies" : "",
    ...(plan.deeds ?? []).map(describeDeed),
    ...(plan.clockSteps ?? []).map(({ block, millis }) => `clock ${millis / 1_000} s off from block ${block}`),
    ...describeWild(plan.wild ?? tame),
    [...new Set(plan.faults.map(({ spec }) => spec.kind))].join(" "),
  ]
    .filter((part) => part !== "")
    .join(", ")
