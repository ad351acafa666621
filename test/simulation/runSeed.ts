import { createHash } from "node:crypto"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { Clock, Context, Effect, Exit, Logger, References, Scheduler } from "effect"
import { finalIntentStates } from "../../src/domain/Intent.ts"
import type { FaultKind } from "../../src/sandbox/Faults.ts"
import type { DaemonOptions } from "../../src/services.ts"
import { databaseFile } from "../../src/store/Database.ts"
import { leaseMillis } from "../../src/store/Lease.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { makeDice } from "../support/Dice.ts"
import { type Allowance, makeAllowance } from "./Allowance.ts"
import type { Failing } from "./CrashPoints.ts"
import { hostileGateway } from "./hostile.ts"
import { codeRule } from "./inCode.ts"
import { judge, judgeReplays, problemOfSubmission } from "./Judge.ts"
import { judgeStops } from "./judgeStops.ts"
import { makeNetwork, type Network } from "./Network.ts"
import { beginOrders, cancellations, endByHand, judgeOrders } from "./Orders.ts"
import { makePeople, type People } from "./People.ts"
import { banned, type Gateways, type Plan, planOf } from "./Plan.ts"
import { liarHost, names, type Replica, startReplica, targets } from "./Replica.ts"
import { bytesOf, makeThirdParty, type ThirdParty } from "./ThirdParty.ts"
import { makeVirtualTime, type VirtualTime } from "./VirtualTime.ts"
import type { WireOptions } from "./Wire.ts"

const startMillis = Date.parse("2026-11-21T10:00:00Z")
/** Blocks of a second after the last fault within which every payment must have come to its end. */
const restBlocksMax = 400
/** As many more where a gateway shut us out: so long it is not asked. */
const banBlocks = 610
/** From a death to the next start, at most. */
const downMillisMax = 20_000

const atRest = [...finalIntentStates, "manual"].map((state) => `'${state}'`).join(", ")

type Treasuries = Readonly<Record<"treasury" | "amongThree", DaemonOptions["treasury"]>>

/** What a worker prepares once for all of its seeds. */
export interface Bench {
  readonly treasury: DaemonOptions["treasury"]
  /** The same treasury, with three gateways. */
  readonly amongThree: DaemonOptions["treasury"]
  /** Both with a rule that ends standing orders. */
  readonly ending: Treasuries
  /** All of them with a rule in code. */
  readonly inCode: Treasuries & { readonly ending: Treasuries }
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
  /** Of those: standing orders that were ended. */
  readonly cancelled: number
  /** Of the intents: decided by the rule in code. */
  readonly byCode: number
  readonly deaths: number
  readonly manual: number
  readonly blocks: number
  /** Statements of the first process. */
  readonly statements: number
  /** What came of the lies of a single gateway, where it lied. */
  readonly notes?: ReadonlyArray<string>
}

/** Runs one seed to its end in virtual time. */
export const runSeed = (
  bench: Bench,
  seed: number,
  gateways: Gateways,
  tell: (line: string) => void = () => {},
): Verdict => runPlan(bench, planOf(seed, gateways), { tell })

export interface RunOptions {
  /** Hears of everything on the wire. */
  readonly tell?: (line: string) => void
  /** Statements that the disk refuses to the first process of the run. */
  readonly failing?: Failing
}

/** Runs one plan to its end. */
export const runPlan = (bench: Bench, plan: Plan, options: RunOptions = {}): Verdict =>
  new Run(bench, plan, options).toEnd()

const spoilsBalances = (kind: FaultKind): boolean => kind === "clock_skew" || kind === "reorganised_pages"

/** A place in which one process after the other lives. */
interface Slot {
  readonly number: number
  replica: Replica | undefined
  restartAt: number
  lives: number
}

const nameOf = ({ number, lives }: Slot): string => `${number}.${lives}`

class Run {
  private readonly bench: Bench
  private readonly options: RunOptions
  private readonly lie: WireOptions["lie"]
  private readonly plan: Plan
  private readonly dice
  private readonly time: VirtualTime
  private readonly network: Network
  private readonly trace = createHash("sha256")
  private readonly wrong: Array<string> = []
  private readonly dataDir: string
  private readonly context: Context.Context<never>
  private readonly slots: ReadonlyArray<Slot>
  private wrongBy = 0
  private deaths = 0
  private statements = 0
  private readonly overfilled = new Set<string>()
  private readonly endedByHand = new Set<string>()
  /** Whether balances are read as they are, if perhaps late: a rule that is shown wrong ones decides by them. */
  private readonly readsAreTrue: boolean
  private readonly thirdParty: ThirdParty
  private readonly allowance: Allowance
  private readonly people: People
  private dying = true
  /** Finds a payment that is not at its end, in one database. */
  private unrested: { readonly db: DatabaseSync; readonly statement: StatementSync } | undefined

  constructor(bench: Bench, plan: Plan, options: RunOptions) {
    this.options = options
    this.bench = bench
    this.plan = plan
    this.readsAreTrue = plan.gateways === "honest" && plan.faults.every(({ spec }) => !spoilsBalances(spec.kind))
    this.dice = makeDice(`run ${plan.seed}`)
    this.time = makeVirtualTime(startMillis, this.dice)
    const hostile = hostileGateway(this.dice)
    this.lie = (host) => (plan.gateways === "hostile" || (plan.liar && host === liarHost) ? hostile : undefined)
    this.context = Context.empty().pipe(
      Context.add(Clock.Clock, this.time.clock),
      Context.add(
        Scheduler.Scheduler,
        this.time.schedulerOf(() => true),
      ),
      Context.add(References.TracerEnabled, false),
      Context.add(References.MinimumLogLevel, "None"),
      Context.add(Logger.CurrentLoggers, new Set()),
    )
    this.slots = Array.from({ length: plan.replicas }, (_, number) => ({
      number,
      replica: undefined,
      restartAt: 0,
      lives: 0,
    }))
    this.network = makeNetwork(plan, this.fork, this.atOnce)
    beginOrders(this.network.chain, plan)
    const { window } = plan
    this.thirdParty = makeThirdParty({ network: this.network, window, dice: this.dice, run: this.atOnce })
    this.allowance = makeAllowance(plan, () => this.time.now())
    this.dataDir = join(bench.dir, "store")
    this.people = makePeople({
      deeds: plan.deeds ?? [],
      treasury: this.treasury,
      dataDir: this.dataDir,
      blockMillis: plan.blockMillis,
      now: () => this.time.now() + this.wrongBy,
      act: (effect) => this.living[0]?.act(effect),
    })
    rmSync(this.dataDir, { recursive: true, force: true })
    mkdirSync(this.dataDir, { recursive: true })
  }

  private readonly fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.runForkWith(this.context)(effect)

  private readonly atOnce = <A, E>(effect: Effect.Effect<A, E>): A => {
    let value: { readonly done: A } | undefined
    let failure: unknown
    this.fork(effect).addObserver((exit) => {
      if (Exit.isSuccess(exit)) value = { done: exit.value }
      else failure = exit.cause
    })
    this.time.runTo(this.time.now())
    if (value === undefined) throw new Error(`the network did not come to its end: ${String(failure)}`)
    return value.done
  }

  toEnd(): Verdict {
    const { plan, network } = this
    for (const slot of this.slots) this.start(slot)
    for (let block = 1; block <= plan.blocks; block++) {
      for (const fault of plan.faults) if (fault.block === block) this.atOnce(network.node.armFault(fault.spec))
      for (const id of endByHand(network.chain, plan, block)) this.endedByHand.add(id)
      for (const step of plan.clockSteps ?? []) if (step.block === block) this.wrongBy = step.millis
      this.people.atBlock(block)
      this.block()
    }
    this.dying = false
    this.wrongBy = 0
    this.reviveAll()
    this.atOnce(network.node.disarmFault(undefined))
    this.allowance.noteCalm()
    const isBanned = plan.faults.some(({ spec }) => spec.status === banned)
    const restMax = restBlocksMax + (isBanned ? banBlocks : 0)
    const { replayed } = this.thirdParty
    this.noteBlind()
    this.people.letGo(plan.blocks)
    for (let rest = 0; rest < restMax && (this.isOpen() || this.allowance.isOpen(replayed)); rest++) {
      if (rest % 10 === 5) this.resume()
      this.people.atBlock(plan.blocks + 1 + rest)
      this.block()
      this.noteBlind()
    }
    this.statements = this.living[0]?.mortal.statements ?? 0
    for (const replica of this.living) replica.kill()
    return this.verdict()
  }

  /** One block, and the time before it; once the trouble is over a second. */
  private block(): void {
    const millis = this.dying ? this.plan.blockMillis : 1_000
    this.time.runTo(this.time.now() + millis - this.dice.below(2))
    for (const slot of this.slots) {
      if (slot.replica === undefined && this.time.now() >= slot.restartAt) this.start(slot)
    }
    if (this.plan.sleeps && this.dying && this.dice.next() < 0.02) this.putToSleep()
    if (this.plan.rebroadcaster) this.thirdParty.rebroadcast()
    this.thirdParty.noteLate()
    this.atOnce(this.network.node.stepBlock)
    if (this.plan.manyNodes) this.network.chain.mempool.cache.clear()
    this.allowance.noteBlock(this.network.chain.height)
    if (this.readsAreTrue && this.thirdParty.replayed.size === 0) this.watchBalances()
  }

  /** The trouble is over: who is dead comes back, and nobody dies any more. */
  private reviveAll(): void {
    for (const slot of this.slots) {
      slot.restartAt = Math.min(slot.restartAt, this.time.now())
      if (slot.replica !== undefined) slot.replica.mortal.dieAt = Number.POSITIVE_INFINITY
    }
  }

  private get living(): ReadonlyArray<Replica> {
    return this.slots.flatMap(({ replica }) => replica ?? [])
  }

  /** A process gets no time for longer than its lease lasts, wherever it is: another one takes over meanwhile. */
  private putToSleep(): void {
    const victim = this.dice.pick(this.living)
    const calmAt = startMillis + this.plan.blocks * this.plan.blockMillis
    const until = this.time.now() + leaseMillis + this.dice.below(15_000)
    if (victim !== undefined) victim.mortal.pausedTo = Math.min(until, calmAt)
  }

  private get treasury(): DaemonOptions["treasury"] {
    const { plan, bench } = this
    const written = plan.inCode === true ? bench.inCode : bench
    return (plan.orders.length > 0 ? written.ending : written)[plan.liar ? "amongThree" : "treasury"]
  }

  private start(slot: Slot): void {
    const { plan, bench, dice } = this
    slot.lives++
    const dieAt = plan.stepsPerLife === undefined || !this.dying ? Number.POSITIVE_INFINITY : this.lifeSpan()
    const replica: Replica = startReplica({
      treasury: this.treasury,
      dataDir: this.dataDir,
      name: plan.replicas === 1 ? undefined : nameOf(slot),
      time: this.time,
      wrongBy: () => this.wrongBy,
      dice,
      metrics: bench.metrics,
      dieAt,
      failing: this.deaths === 0 ? this.options.failing : undefined,
      orders: plan.orders,
      onEnd: () => {
        this.deaths++
        slot.replica = undefined
        slot.restartAt = this.time.now() + dice.below(this.dying ? downMillisMax : 1_000)
      },
      onStatement: (sql, mortal) => this.watchStatement(sql, mortal.db, slot),
      wire: {
        network: this.network,
        latencyMillis: plan.latencyMillis,
        lie: this.lie,
        hear: (text) => this.hear(text),
        onSubmit: (body, from) => this.watch(body, from.db),
        onArrival: (body, leftAt) => this.thirdParty.noteArrival(body, leftAt),
      },
    })
    if (replica.mortal.alive) slot.replica = replica
    // It opens its file before another process of the same file begins.
    this.time.runTo(this.time.now())
  }

  private hear(text: string): void {
    const line = `${this.time.now() - startMillis} ${text}`
    this.trace.update(line).update("\n")
    this.options.tell?.(line)
  }

  private lifeSpan(): number {
    return 1 + Math.floor(-Math.log(1 - this.dice.next()) * (this.plan.stepsPerLife ?? 0))
  }

  /** Nobody is paid for one need twice: then there would be more in an account than its rule fills it to. */
  private watchBalances(): void {
    const { chain } = this.network
    for (const { party, type, balance } of chain.ledger.accounts.values()) {
      const filled = targets.get(party)
      const target = filled === undefined ? undefined : filled + this.people.handedIn(names.get(party) ?? "")
      if (type !== "ACCOUNT_TYPE_GENERAL" || target === undefined || balance <= target) continue
      if (this.overfilled.has(party)) continue
      this.overfilled.add(party)
      this.wrong.push(`an account holds ${balance} in block ${chain.height}, its rule fills it to ${target}`)
    }
  }

  /** Of several processes only the holder of the lease signs. */
  private watchStatement(sql: string, db: DatabaseSync | undefined, slot: Slot): void {
    if (this.plan.replicas === 1 || db === undefined || !/^INSERT INTO "?spends/.test(sql)) return
    const held = db
      .prepare("SELECT count(*) AS n FROM leases WHERE holder = ? AND until > ?")
      .get(nameOf(slot), this.time.now() + this.wrongBy) as { n: number }
    if (held.n === 0)
      this.wrong.push(`a process signs that does not hold the lease (block ${this.network.chain.height})`)
  }

  private watch(body: string, db: DatabaseSync | undefined): void {
    const bytes = bytesOf(body)
    const problem = bytes === undefined ? "a submission is no transaction" : problemOfSubmission(db, bytes)
    if (bytes !== undefined) this.thirdParty.hear(bytes)
    if (problem !== undefined) this.wrong.push(`${problem} (block ${this.network.chain.height})`)
  }

  /** What an operator does once the trouble is over: looks, and lets it go on. */
  private resume(): void {
    this.living[0]?.lift()
  }

  private noteBlind(): void {
    const isMatter = this.thirdParty.replayed.size > 0
    if (isMatter && this.living.some((replica) => replica.isBlind())) this.allowance.noteBlind()
  }

  private anyDatabase(): DatabaseSync | undefined {
    return this.living.map(({ mortal }) => mortal.db).find((db) => db?.isOpen === true && !db.isTransaction)
  }

  private isOpen(): boolean {
    const db = this.anyDatabase()
    if (db === undefined) return true
    if (this.unrested?.db !== db) {
      this.unrested = { db, statement: db.prepare(`SELECT 1 FROM intents WHERE state NOT IN (${atRest}) LIMIT 1`) }
    }
    return this.unrested.statement.get() !== undefined
  }

  private verdict(): Verdict {
    const { plan, network } = this
    const db = new DatabaseSync(join(this.dataDir, databaseFile))
    try {
      const { replayed } = this.thirdParty
      const evidence = { db, chain: network.chain, gateways: plan.gateways, endedByHand: this.endedByHand }
      const found = [...judge({ ...evidence, replayed }), ...judgeOrders({ ...evidence, plan })]
      const isJudged = plan.gateways === "honest" && (plan.profile === "0.74" || plan.profile === "0.75")
      const { secondUntil } = this.allowance
      if (isJudged) {
        const late = judgeReplays({ db, chain: network.chain, replayed, secondUntil })
        // By a clock that was wrong, nothing is late.
        const isTimed = (plan.clockSteps ?? []).length === 0
        this.wrong.push(...late.filter((words) => isTimed || words.endsWith("never noted")))
      }
      const { wrong, stops, sends } = judgeStops(db)
      this.wrong.push(...wrong)
      const known = db.prepare("SELECT 1 FROM intents WHERE id = ?")
      for (const id of this.people.told)
        if (known.get(id) === undefined) this.wrong.push(`payment ${id.slice(0, 8)} was taken, and is not known`)
      const head = db.prepare("SELECT hash FROM journal ORDER BY seq DESC LIMIT 1").get() as
        | { hash: string }
        | undefined
      this.trace.update(`${network.chain.hash} ${head?.hash}`)
      const count = (sql: string) => Number((db.prepare(sql).get() as { n: number }).n)
      return {
        seed: plan.seed,
        violations: [...this.wrong, ...found],
        trace: this.trace.digest("hex"),
        intents: count("SELECT count(*) AS n FROM intents"),
        manual: count("SELECT count(*) AS n FROM intents WHERE state = 'manual'"),
        executed: network.chain.included.filter(({ code }) => code === 0).length,
        cancelled: cancellations(network.chain),
        byCode: count(`SELECT count(*) AS n FROM intents WHERE rule = '${codeRule}'`),
        deaths: this.deaths,
        blocks: network.chain.height,
        statements: this.statements,
        notes: [...this.people.notes, ...(stops > 0 && sends > 0 ? ["a stop beside sends"] : [])],
      }
    } finally {
      db.close()
    }
  }
}
