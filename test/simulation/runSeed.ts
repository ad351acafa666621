import { createHash } from "node:crypto"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import type { Context } from "effect"
import type { DaemonOptions } from "../../src/layers.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { makeDice } from "../support/Dice.ts"
import { type Allowance, makeAllowance } from "./Allowance.ts"
import { type Book, bookText, unit } from "./Book.ts"
import { boundsOf } from "./Bounds.ts"
import type { Failing } from "./CrashPoints.ts"
import { conclude } from "./conclude.ts"
import { type Counts, makeDocket } from "./Docket.ts"
import { fillLast } from "./fillLast.ts"
import { hostileGateway, isAbout } from "./hostile.ts"
import { makeInvented } from "./invented.ts"
import { executionsOf } from "./Judge.ts"
import { judgeCalled } from "./judgePeople.ts"
import type { TermsThen } from "./judgeSigned.ts"
import { makeNetwork, type Network } from "./Network.ts"
import { documentedVerbs } from "./Operator.ts"
import { makePeople, type People } from "./People.ts"
import { banned, type Gateways, type Plan, planOf, tamePlanOf } from "./Plan.ts"
import { liarHost, oneGateway, type Replica, startReplica, threeGateways } from "./Replica.ts"
import { makeStanding, type Standing } from "./Standing.ts"
import { bytesOf, makeThirdParty, type ThirdParty } from "./ThirdParty.ts"
import { makeRunner, makeVirtualTime, type Runner, type VirtualTime } from "./VirtualTime.ts"
import { makeWatch, type Watch } from "./Watch.ts"
import { tame, type Wild } from "./Wild.ts"
import { makeWildWorld, type WildWorld } from "./WildWorld.ts"
import type { Lie, WireOptions } from "./Wire.ts"

const startMillis = Date.parse("2026-11-21T10:00:00Z")
/** Blocks of a second after the last fault within which every payment must have come to its end. */
const restBlocksMax = 400
/** What was due while a process slept is told so long after it woke. */
const wakingMillis = 16_000
const hostileRestBlocks = 40
/** Blocks of a second in which a treasury that nothing disturbs has signed its first payment. */
const calmBlocksMax = 60
/** As many more where a gateway shut us out: so long it is not asked. */
const banBlocks = 610
/** From a death to the next start, at most. */
const downMillisMax = 20_000
/** For how long a process sleeps, at least. */
const sleepMillisMin = 10_000

type Treasuries = Readonly<Record<"treasury" | "amongThree", DaemonOptions["treasury"]>>

/** What a worker prepares once for all of its seeds. */
export interface Bench {
  readonly treasury: DaemonOptions["treasury"]
  /** The same treasury, with three gateways. */
  readonly amongThree: DaemonOptions["treasury"]
  /** Both with a rule in code. */
  readonly inCode: Treasuries
  /** The treasury of the file that lies there. */
  readonly read: (inCode: boolean) => DaemonOptions["treasury"]
  /** Puts an operator's file in its place, and returns its path. */
  readonly write: (text: string) => string
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
  new Run(bench, plan, options).toEnd()

/** Whether balances are read as they are, if perhaps late: a rule that is shown wrong ones decides by them. */
const readsTrue = ({ gateways, faults }: Plan): boolean =>
  gateways === "honest" && faults.every(({ spec: { kind } }) => kind !== "clock_skew" && kind !== "reorganised_pages")

class Run {
  private readonly bench: Bench
  private readonly options: RunOptions
  private readonly lie: WireOptions["lie"]
  private readonly plan: Plan
  private readonly dice
  private readonly time: VirtualTime
  private readonly network: Network
  private readonly trace = createHash("sha256")
  private readonly docket = makeDocket()
  private readonly invented = makeInvented()
  private readonly wild: Wild
  private readonly world: WildWorld
  private readonly watch: Watch
  private readonly dataDir: string
  private readonly runner: Runner
  private replica: Replica | undefined
  private restartAt = 0
  private readonly terms: Array<TermsThen> = []
  private wrongBy = 0
  private deaths = 0
  private statements = 0
  private isDown = false
  private readonly thirdParty: ThirdParty
  private readonly allowance: Allowance
  private readonly people: People
  private dying = true
  private readonly standing: Standing

  constructor(bench: Bench, plan: Plan, options: RunOptions) {
    this.options = options
    this.bench = bench
    this.plan = plan
    this.wild = plan.wild ?? tame
    this.books = [this.wild.book, ...this.wild.rewrites.map(({ book }) => book)]
    this.dice = makeDice(`run ${plan.seed}`)
    this.time = makeVirtualTime(startMillis, this.dice)
    const { lieOf } = this.wild
    const invent = (id: string) => this.invented.answerOf(id, this.time.now())
    const whole = hostileGateway(this.dice, plan.wild === undefined ? undefined : invent)
    const hostile: Lie = (asked, told) => (lieOf === undefined || isAbout(lieOf, asked) ? whole(asked, told) : told)
    this.lie = (host) => (plan.gateways === "hostile" || (plan.liar && host === liarHost) ? hostile : undefined)
    this.runner = makeRunner(this.time)
    this.network = makeNetwork(plan, this.runner.fork, this.runner.atOnce)
    const { window } = plan
    const replays = (this.wild.restore?.when ?? "at once") === "at once"
    this.thirdParty = makeThirdParty({
      network: this.network,
      window,
      dice: this.dice,
      replays,
      run: this.runner.atOnce,
    })
    this.allowance = makeAllowance(plan, () => this.time.now())
    this.dataDir = join(bench.dir, "store")
    const { docket, dataDir, network } = this
    this.people = makePeople({
      deeds: plan.deeds ?? [],
      docket,
      dataDir,
      blockMillis: plan.blockMillis,
      now: () => this.time.now() + this.wrongBy,
      act: (effect) => this.replica?.act(effect),
      rest: () => this.time.runTo(this.time.now()),
    })
    const { people, wild } = this
    const killAll = () => this.replica?.kill()
    const startSoon = () => {
      this.restartAt = this.time.now()
    }
    const write = (book: Book) => this.bench.write(this.textOf(book))
    const outage = (minutes: number) => this.standStill(minutes)
    const databases = () => this.databases
    const acts = { killAll, startSoon, write, outage, run: this.runner.atOnce }
    const around = { databases, wild, network, docket, people, dataDir, ...acts }
    this.world = makeWildWorld(around)
    const now = () => this.time.now()
    const database = () => this.anyDatabase()
    this.standing = makeStanding({ plan, network, world: this.world, startMillis, now, database })
    this.watch = makeWatch({
      plan,
      network,
      docket,
      people,
      isPlain: () => readsTrue(plan) && this.thirdParty.replayed.size === 0,
      books: this.books,
    })
    rmSync(this.dataDir, { recursive: true, force: true })
    mkdirSync(this.dataDir, { recursive: true })
  }

  toEnd(): Verdict {
    const { plan, network } = this
    if (plan.wild !== undefined) this.bench.write(this.textOf(this.wild.book))
    if (plan.liar) this.docket.event(this.wild.lieOf === undefined ? "one liar of three" : "liar about one operation")
    if (plan.beginsCalm === true) this.beginCalmly()
    else this.start()
    for (let block = 1; block <= plan.blocks; block++) {
      for (const change of plan.workChanges)
        if (change.block === block) this.docket.event("vote on window or difficulty")
      for (const fault of plan.faults) if (fault.block === block) this.runner.atOnce(network.node.armFault(fault.spec))
      for (const step of plan.clockSteps ?? []) if (step.block === block) this.stepClock(step.millis)
      this.world.atBlock(block)
      this.people.atBlock(block)
      this.noteTerms()
      this.block()
    }
    this.dying = false
    this.wrongBy = 0
    this.reviveAll()
    this.runner.atOnce(network.node.disarmFault(undefined))
    this.allowance.noteCalm()
    this.standing.noteCalm()
    const isBanned = plan.faults.some(({ spec }) => spec.status === banned)
    // Of gateways that lie for ever nothing comes to its end: there is nothing to wait for.
    // Two of three that lag or lie shut each other out for as long as a ban lasts.
    const isShut = isBanned || plan.liar
    const restMax = plan.gateways === "hostile" ? hostileRestBlocks : restBlocksMax + (isShut ? banBlocks : 0)
    const { replayed } = this.thirdParty
    this.noteBlind()
    this.people.letGo(plan.blocks)
    this.world.letGo()
    const wokenAt = this.replica?.mortal.pausedTo ?? 0
    const isUnrested = () =>
      this.standing.isUnrested() || this.allowance.isOpen(replayed) || this.time.now() < wokenAt + wakingMillis
    for (let rest = 0; rest < restMax && isUnrested(); rest++) this.restBlock(rest)
    if (this.wild.lastly && plan.gateways === "honest" && !isBanned) {
      const restBlock = (n: number) => this.restBlock(restMax + n)
      fillLast({ plan, network, docket: this.docket, world: this.world, standing: this.standing, restBlock })
      for (let rest = 0; rest < restMax && isUnrested(); rest++) this.restBlock(2 * restMax + rest)
    }
    this.statements = this.replica?.mortal.statements ?? 0
    this.replica?.kill()
    return this.verdict()
  }

  /** Nothing goes wrong until a first payment is signed, or is not to be expected. */
  private beginCalmly(): void {
    this.dying = false
    this.start()
    const signed = () => this.anyDatabase()?.prepare("SELECT 1 FROM attempts LIMIT 1").get()
    for (let n = 0; n < calmBlocksMax && signed() === undefined; n++) this.block()
    this.dying = true
    const mortal = this.replica?.mortal
    if (mortal !== undefined && this.plan.stepsPerLife !== undefined) mortal.dieAt = mortal.steps + this.lifeSpan()
  }

  private restBlock(rest: number): void {
    const at = this.plan.blocks + 1 + rest
    if (rest % 10 === 5) this.attend()
    this.world.atBlock(at)
    this.people.atBlock(at)
    this.block()
    this.noteBlind()
  }

  /** One block, and the time before it; once the trouble is over a second. */
  private block(): void {
    const millis = this.dying ? this.plan.blockMillis : 1_000
    this.time.runTo(this.time.now() + millis - this.dice.below(2))
    this.startDue()
    if (this.plan.sleeps && this.dying && this.dice.next() < 0.02) this.putToSleep()
    if (this.plan.rebroadcaster) this.thirdParty.rebroadcast()
    this.thirdParty.noteLate()
    this.runner.atOnce(this.network.node.stepBlock)
    this.thirdParty.noteBlock()
    if (this.plan.manyNodes) this.network.chain.mempool.cache.clear()
    this.allowance.noteBlock(this.network.chain.height)
    this.watch.balances()
    this.noteTerms()
  }

  private startDue(): void {
    if (this.replica === undefined && this.time.now() >= this.restartAt) this.start()
  }

  /** Nobody is answered and there is no block for minutes: the daemon lives through the last seconds of each. */
  private standStill(minutes: number): void {
    this.isDown = true
    for (let n = 0; n < minutes; n++) {
      this.time.passTo(this.time.now() + 57_000)
      this.time.runTo(this.time.now() + 3_000)
      this.startDue()
    }
    const db = this.anyDatabase()
    if (db !== undefined && this.plan.gateways === "honest") judgeCalled(db, this.time.now(), this.docket)
    this.isDown = false
  }

  private stepClock(millis: number): void {
    this.docket.event(millis > this.wrongBy ? "clock stepped forward" : "clock stepped back")
    this.wrongBy = millis
  }

  /** The trouble is over: who is dead comes back, and nobody dies any more. */
  private reviveAll(): void {
    this.restartAt = Math.min(this.restartAt, this.time.now())
    if (this.replica !== undefined) this.replica.mortal.dieAt = Number.POSITIVE_INFINITY
  }

  /** The process gets no time for a while, wherever it is. */
  private putToSleep(): void {
    const victim = this.dice.pick([this.replica])
    const calmAt = startMillis + this.plan.blocks * this.plan.blockMillis
    const until = this.time.now() + sleepMillisMin + this.dice.below(15_000)
    if (victim !== undefined) victim.mortal.pausedTo = Math.min(until, calmAt)
  }

  private readonly books: ReadonlyArray<Book>

  private textOf(book: Book): string {
    const { plan } = this
    return bookText(book, plan.liar ? threeGateways : oneGateway, startMillis)
  }

  private get treasury(): DaemonOptions["treasury"] {
    const { plan, bench } = this
    if (plan.wild !== undefined) return bench.read(plan.inCode === true)
    const written = plan.inCode === true ? bench.inCode : bench
    return written[plan.liar ? "amongThree" : "treasury"]
  }

  /** What one transfer may move by what is in force from now on. */
  private noteTerms(): void {
    const most = Math.max(...[...this.world.inForce()].map(({ perTransfer }) => perTransfer))
    const perTransfer = BigInt(most) * unit
    if (this.terms.at(-1)?.perTransfer !== perTransfer) this.terms.push({ at: this.time.now(), perTransfer })
  }

  private start(): void {
    const { plan, bench, dice } = this
    this.world.started()
    this.noteTerms()
    const dieAt = plan.stepsPerLife === undefined || !this.dying ? Number.POSITIVE_INFINITY : this.lifeSpan()
    const replica: Replica = startReplica({
      treasury: this.treasury,
      dataDir: this.dataDir,
      time: this.time,
      wrongBy: () => this.wrongBy,
      dice,
      metrics: bench.metrics,
      dieAt,
      failing: this.deaths === 0 ? this.options.failing : undefined,
      isDiskFull: this.world.isDiskFull,
      deafness: this.world.deafness,
      onEnd: () => {
        this.deaths++
        this.replica = undefined
        this.restartAt = this.time.now() + dice.below(this.dying ? downMillisMax : 1_000)
      },
      onStatement: () => {},
      wire: {
        network: this.network,
        latencyMillis: plan.latencyMillis,
        lie: this.lie,
        lag: this.world.lagOf,
        isDown: () => this.isDown,
        hear: (text) => this.hear(text),
        onSubmit: (body, from) => this.submission(body, from.db),
        onArrival: (body, leftAt) => this.thirdParty.noteArrival(body, leftAt),
      },
    })
    if (replica.mortal.alive) this.replica = replica
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

  private submission(body: string, db: DatabaseSync | undefined): void {
    const bytes = bytesOf(body)
    if (bytes === undefined) {
      this.docket.wrong("disk", "a submission is no transaction")
      return
    }
    this.thirdParty.hear(bytes)
    this.invented.hear(bytes)
    this.watch.submission(bytes, db)
  }

  /** What an operator does once the trouble is over: looks, and does what is named to him. */
  private attend(): void {
    if (this.plan.wild === undefined) {
      this.replica?.lift()
      return
    }
    const { network, docket, people } = this
    const done = new Set(executionsOf(network.chain, boundsOf(this.books)).map(({ id }) => id))
    const asked = {
      treasury: this.treasury,
      dataDir: this.dataDir,
      ledger: (id: string) => done.has(id),
      deceived: false,
    }
    people.look(documentedVerbs(asked), (verbs) => {
      for (const { name, perform } of verbs) {
        docket.event(`afterwards: ${name.replace(/ (lock|rule|party|held|pin):.*$/, " a scope")}`)
        people.wish("afterwards", 0, perform)
      }
    })
  }

  private noteBlind(): void {
    const isMatter = this.thirdParty.replayed.size > 0
    if (isMatter && this.replica?.isBlind() === true) this.allowance.noteBlind()
  }

  /** Of the living process, unless it is in a transaction. */
  private get databases(): ReadonlyArray<DatabaseSync> {
    const db = this.replica?.mortal.db
    return db?.isOpen === true && !db.isTransaction ? [db] : []
  }

  private anyDatabase(): DatabaseSync | undefined {
    return this.databases[0]
  }

  private verdict(): Verdict {
    const { plan, docket, network, dataDir, people, world, books, terms, trace } = this
    const { replayed } = this.thirdParty
    const { seenUntil } = this.allowance
    const counted = { deaths: this.deaths, statements: this.statements, startMillis, now: this.time.now() }
    const left = { plan, docket, network, dataDir, people, world, books, terms, replayed, trace }
    return conclude({ ...left, seenUntil, ...counted })
  }
}
