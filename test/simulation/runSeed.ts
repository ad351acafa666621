import { createHash } from "node:crypto"
import { type Context, Effect, Layer, Scope } from "effect"
import { GatewayPool } from "../../src/gateway/GatewayPool.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { makeDice } from "../support/Dice.ts"
import { makeAllowance } from "./Allowance.ts"
import type { Failing } from "./CrashPoints.ts"
import { addCounts, type Counts } from "./Docket.ts"
import { fillLast } from "./fillLast.ts"
import { hostileGateway, isAbout } from "./hostile.ts"
import { makeInvented } from "./invented.ts"
import { judgeApart } from "./judgeApart.ts"
import { makeNetwork } from "./Network.ts"
import { banned, type Gateways, type Plan, pairOf, planOf, tamePlanOf } from "./Plan.ts"
import { liarHost } from "./Replica.ts"
import { type Shared, Side } from "./Side.ts"
import { makeThirdParty } from "./ThirdParty.ts"
import { makeRunner, makeVirtualTime } from "./VirtualTime.ts"
import { tame } from "./Wild.ts"
import type { Lie } from "./Wire.ts"

const startMillis = Date.parse("2026-11-21T10:00:00Z")
/** Blocks of a second after the last fault within which every payment must have come to its end. */
const restBlocksMax = 400
const hostileRestBlocks = 40
/** Blocks of a second in which a treasury that nothing disturbs has signed its first payment. */
const calmBlocksMax = 60
/** As many more where a gateway shut us out: so long it is not asked. */
const banBlocks = 610
/** For how long a process sleeps, at least. */
const sleepMillisMin = 10_000

type Treasuries = Readonly<Record<"treasury" | "amongThree", DaemonOptions["treasury"]>>

/** Where the files of one treasury are. */
export interface Place {
  readonly treasury: DaemonOptions["treasury"]
  /** The same treasury, with three gateways. */
  readonly amongThree: DaemonOptions["treasury"]
  /** Both with a rule in code. */
  readonly inCode: Treasuries
  /** The treasury of the file that lies there. */
  readonly read: (inCode: boolean) => DaemonOptions["treasury"]
  /** Puts an operator's file in its place, and returns its path. */
  readonly write: (text: string) => string
}

/** What a worker prepares once for all of its seeds. */
export interface Bench extends Place {
  /** Of the second of two treasuries. */
  readonly sister: Place
  readonly metrics: Context.Context<Metrics>
  /** Empty folder for the store of one run after the other. */
  readonly dir: string
}

export interface Verdict {
  readonly seed: number
  readonly violations: ReadonlyArray<string>
  /** SHA-256 over all that went over the wire, and how the store and the ledger ended. */
  readonly trace: string
  readonly intents: number
  readonly executed: number
  /** Of the intents: decided by the rule in code. */
  readonly byCode: number
  readonly deaths: number
  readonly manual: number
  readonly blocks: number
  /** Statements of the first process. */
  readonly statements: number
  /** What came of the lies of a single gateway, where it lied. */
  readonly notes?: ReadonlyArray<string>
  /** How often each oracle could have found something, and what happened how often. */
  readonly chances: Counts
  readonly events: Counts
}

/** Runs one seed to its end in virtual time. */
export const runSeed = (
  bench: Bench,
  seed: number,
  gateways: Gateways,
  tell: (line: string) => void = () => {},
  isTame = false,
): Verdict => runPlan(bench, (isTame ? tamePlanOf : planOf)(seed, gateways), { tell })

export interface RunOptions {
  /** Hears of everything on the wire. */
  readonly tell?: (line: string) => void
  /** Statements that the disk refuses to the first process of the run. */
  readonly failing?: Failing
}

/** Runs one plan to its end. */
export const runPlan = (bench: Bench, plan: Plan, options: RunOptions = {}): Verdict =>
  new Run(bench, [plan], options).toEnd()

/** Runs a seed with two treasuries in one process. */
export const runPair = (bench: Bench, seed: number, gateways: Gateways, tell?: (line: string) => void): Verdict =>
  new Run(bench, pairOf(seed, gateways), tell === undefined ? {} : { tell }).toEnd()

/** One run: the first plan says how network and process are. */
class Run {
  private readonly plan: Plan
  private readonly shared: Shared
  private readonly sides: ReadonlyArray<Side>
  private pooled: GatewayPool["Service"] | undefined

  constructor(bench: Bench, plans: readonly [Plan, ...ReadonlyArray<Plan>], options: RunOptions) {
    const [plan] = plans
    this.plan = plan
    const wild = plan.wild ?? tame
    const dice = makeDice(`run ${plan.seed}`)
    const time = makeVirtualTime(startMillis, dice)
    const invented = makeInvented()
    const { lieOf } = wild
    const invent = (id: string) => invented.answerOf(id, time.now())
    const whole = hostileGateway(dice, plan.wild === undefined ? undefined : invent)
    const hostile: Lie = (asked, told) => (lieOf === undefined || isAbout(lieOf, asked) ? whole(asked, told) : told)
    const runner = makeRunner(time)
    const network = makeNetwork(plans, runner.fork, runner.atOnce)
    const replays = (wild.restore?.when ?? "at once") === "at once"
    const thirdParty = makeThirdParty({ network, window: plan.window, dice, replays, run: runner.atOnce })
    const each = (act: (side: Side) => void) => this.sides.forEach(act)
    this.shared = {
      bench,
      options,
      dice,
      time,
      runner,
      network,
      thirdParty,
      allowance: makeAllowance(plans, () => time.now()),
      trace: createHash("sha256"),
      startMillis,
      lie: (host) => (plan.gateways === "hostile" || (plan.liar && host === liarHost) ? hostile : undefined),
      lag: (host) => this.first.world.lagOf(host),
      hear: (bytes) => {
        thirdParty.hear(bytes)
        invented.hear(bytes)
      },
      pool: () => this.pool(),
      killAll: () => each((side) => side.replica?.kill()),
      startSoon: () =>
        each((side) => {
          side.restartAt = time.now()
        }),
      outage: (minutes) => this.standStill(minutes),
      isDown: false,
      dying: true,
      wrongBy: 0,
    }
    this.sides = plans.map((one, n) => new Side(this.shared, one, n === 0 ? bench : bench.sister))
  }

  toEnd(): Verdict {
    const { plan, shared, sides, first } = this
    const { network, runner, allowance } = shared
    const each = (act: (side: Side) => void) => sides.forEach(act)
    each((side) => side.write())
    if (plan.liar) first.docket.event(first.wild.lieOf === undefined ? "one liar of three" : "liar about one operation")
    if (plan.beginsCalm === true) this.beginCalmly()
    else each((side) => side.start())
    for (let block = 1; block <= plan.blocks; block++) {
      for (const change of plan.workChanges)
        if (change.block === block) first.docket.event("vote on window or difficulty")
      for (const fault of plan.faults) if (fault.block === block) runner.atOnce(network.node.armFault(fault.spec))
      for (const step of plan.clockSteps ?? []) if (step.block === block) this.stepClock(step.millis)
      each((side) => {
        side.atBlock(block)
        side.noteTerms()
      })
      this.block()
    }
    shared.dying = false
    shared.wrongBy = 0
    each((side) => side.revive())
    runner.atOnce(network.node.disarmFault(undefined))
    allowance.noteCalm()
    each((side) => side.standing.noteCalm())
    const isBanned = plan.faults.some(({ spec }) => spec.status === banned)
    // Of gateways that lie for ever nothing comes to its end: there is nothing to wait for.
    // Two of three that lag or lie shut each other out for as long as a ban lasts.
    const isShut = isBanned || plan.liar
    const restMax = plan.gateways === "hostile" ? hostileRestBlocks : restBlocksMax + (isShut ? banBlocks : 0)
    const { replayed } = shared.thirdParty
    this.noteBlind()
    each((side) => {
      side.people.letGo(plan.blocks)
      side.world.letGo()
    })
    const isUnrested = () => sides.some((side) => side.isUnrested()) || allowance.isOpen(replayed)
    let rested = 0
    const rest = () => {
      for (let n = 0; n < restMax && isUnrested(); n++) this.restBlock(rested + n)
      rested += restMax
    }
    rest()
    for (const side of sides) {
      if (!side.wild.lastly || plan.gateways !== "honest" || isBanned) continue
      const { docket, world, standing } = side
      const restBlock = (n: number) => this.restBlock(rested + n)
      fillLast({ plan: side.plan, network, docket, world, standing, restBlock })
      rested += restMax
      rest()
    }
    each((side) => side.end())
    if (sides.length > 1) judgeApart(sides, network.chain)
    return sides.map((side) => side.verdict()).reduce(together)
  }

  private get first(): Side {
    return this.sides[0]!
  }

  /** What all treasuries of a process share ends with it. */
  private pool(): GatewayPool["Service"] | undefined {
    if (this.sides.length === 1) return undefined
    if (this.pooled === undefined || this.sides.every(({ replica }) => replica === undefined)) {
      const layer = GatewayPool.layer()
      const built = Effect.flatMap(Scope.make(), (scope) => Layer.buildWithScope(layer, scope))
      this.pooled = this.shared.runner.atOnce(Effect.flatMap(built, (context) => Effect.provide(GatewayPool, context)))
    }
    return this.pooled
  }

  /** Nothing goes wrong until a first payment of each is signed, or is not to be expected. */
  private beginCalmly(): void {
    const { shared, sides } = this
    shared.dying = false
    for (const side of sides) side.start()
    for (let n = 0; n < calmBlocksMax && !sides.every((side) => side.isSigned()); n++) this.block()
    shared.dying = true
    for (const side of sides) side.beginDying()
  }

  private restBlock(rest: number): void {
    const at = this.plan.blocks + 1 + rest
    for (const side of this.sides) {
      if (rest % 10 === 5) side.attend()
      side.atBlock(at)
    }
    this.block()
    this.noteBlind()
  }

  /** One block, and the time before it; once the trouble is over a second. */
  private block(): void {
    const { plan, shared, sides } = this
    const { time, dice, thirdParty, network, runner } = shared
    const millis = shared.dying ? plan.blockMillis : 1_000
    time.runTo(time.now() + millis - dice.below(2))
    for (const side of sides) side.startDue()
    if (plan.sleeps && shared.dying && dice.next() < 0.02) this.putToSleep()
    if (plan.rebroadcaster) thirdParty.rebroadcast()
    thirdParty.noteLate()
    runner.atOnce(network.node.stepBlock)
    thirdParty.noteBlock()
    if (plan.manyNodes) network.chain.mempool.cache.clear()
    shared.allowance.noteBlock(network.chain.height)
    for (const side of sides) {
      side.watch.balances()
      side.noteTerms()
    }
  }

  /** Nobody is answered and there is no block for minutes: the daemon lives through the last seconds of each. */
  private standStill(minutes: number): void {
    const { shared, sides } = this
    const { time } = shared
    shared.isDown = true
    for (let n = 0; n < minutes; n++) {
      time.passTo(time.now() + 57_000)
      time.runTo(time.now() + 3_000)
      for (const side of sides) side.startDue()
    }
    for (const side of sides) side.judgeCalled()
    shared.isDown = false
  }

  private stepClock(millis: number): void {
    this.first.docket.event(millis > this.shared.wrongBy ? "clock stepped forward" : "clock stepped back")
    this.shared.wrongBy = millis
  }

  /** The process gets no time for a while, wherever it is. */
  private putToSleep(): void {
    const { plan, shared } = this
    const { time, dice } = shared
    // Draws that decide nothing any more: each seed stays the run that it was.
    dice.next()
    const calmAt = startMillis + plan.blocks * plan.blockMillis
    const until = time.now() + sleepMillisMin + dice.below(15_000)
    for (const { replica } of this.sides) if (replica !== undefined) replica.mortal.pausedTo = Math.min(until, calmAt)
  }

  private noteBlind(): void {
    const isMatter = this.shared.thirdParty.replayed.size > 0
    if (isMatter && this.sides.some(({ replica }) => replica?.isBlind() === true)) this.shared.allowance.noteBlind()
  }
}

const together = (first: Verdict, second: Verdict): Verdict => ({
  ...first,
  violations: [...first.violations, ...second.violations.map((text) => `${text} (second treasury)`)],
  trace: `${first.trace}${second.trace}`,
  intents: first.intents + second.intents,
  byCode: first.byCode + second.byCode,
  deaths: first.deaths + second.deaths,
  manual: first.manual + second.manual,
  chances: addCounts(first.chances, second.chances),
  events: addCounts(first.events, second.events),
})
