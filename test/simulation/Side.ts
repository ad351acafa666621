import type { Hash } from "node:crypto"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import type { GatewayPool } from "../../src/gateway/GatewayPool.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { Dice } from "../support/Dice.ts"
import type { Allowance } from "./Allowance.ts"
import { type Book, bookText, unit } from "./Book.ts"
import { boundsOf } from "./Bounds.ts"
import { conclude } from "./conclude.ts"
import { type Docket, makeDocket } from "./Docket.ts"
import { executionsOf } from "./Judge.ts"
import { judgeCalled } from "./judgePeople.ts"
import type { TermsThen } from "./judgeSigned.ts"
import type { Network } from "./Network.ts"
import { documentedVerbs } from "./Operator.ts"
import { makePeople, type People } from "./People.ts"
import type { Plan } from "./Plan.ts"
import { oneGateway, type Replica, startReplica, threeGateways } from "./Replica.ts"
import type { Bench, Place, RunOptions, Verdict } from "./runSeed.ts"
import { makeStanding, type Standing } from "./Standing.ts"
import { bytesOf, type ThirdParty } from "./ThirdParty.ts"
import type { Runner, VirtualTime } from "./VirtualTime.ts"
import { makeWatch, type Watch } from "./Watch.ts"
import { tame, type Wild } from "./Wild.ts"
import { makeWildWorld, type WildWorld } from "./WildWorld.ts"
import type { WireOptions } from "./Wire.ts"

/** From a death to the next start, at most. */
const downMillisMax = 20_000

/** What a run has once, however many treasuries there are. */
export interface Shared {
  readonly bench: Bench
  readonly options: RunOptions
  readonly dice: Dice
  readonly time: VirtualTime
  readonly runner: Runner
  readonly network: Network
  readonly thirdParty: ThirdParty
  readonly allowance: Allowance
  readonly trace: Hash
  readonly startMillis: number
  readonly lie: WireOptions["lie"]
  readonly lag: (host: string) => number
  /** Hears of bytes that leave. */
  readonly hear: (bytes: Uint8Array) => void
  /** Gateways of the process that runs now, where several treasuries share them. */
  readonly pool: () => GatewayPool["Service"] | undefined
  /** The process ended, and every treasury with it. */
  readonly killAll: () => void
  readonly startSoon: () => void
  readonly outage: (minutes: number) => void
  isDown: boolean
  /** Before the trouble is over. */
  dying: boolean
  /** Milliseconds by which the machine's clock is wrong. */
  wrongBy: number
}

/** Whether balances are read as they are, if perhaps late: a rule that is shown wrong ones decides by them. */
const readsTrue = ({ gateways, faults }: Plan): boolean =>
  gateways === "honest" && faults.every(({ spec: { kind } }) => kind !== "clock_skew" && kind !== "reorganised_pages")

/** One treasury of a run: its lives, its people, and what is looked at. */
export class Side {
  readonly plan: Plan
  readonly wild: Wild
  readonly docket: Docket = makeDocket()
  readonly world: WildWorld
  readonly watch: Watch
  readonly people: People
  readonly standing: Standing
  readonly dataDir: string
  readonly books: ReadonlyArray<Book>
  replica: Replica | undefined
  restartAt = 0
  private readonly shared: Shared
  private readonly place: Place
  private readonly terms: Array<TermsThen> = []
  private deaths = 0
  private statements = 0

  constructor(shared: Shared, plan: Plan, place: Place) {
    this.shared = shared
    this.plan = plan
    this.place = place
    this.wild = plan.wild ?? tame
    this.books = [this.wild.book, ...this.wild.rewrites.map(({ book }) => book)]
    const { network, time, runner, thirdParty, startMillis } = shared
    this.dataDir = join(shared.bench.dir, `${this.wild.book.who}store`)
    const { docket, dataDir, wild } = this
    const now = () => time.now()
    this.people = makePeople({
      deeds: plan.deeds ?? [],
      docket,
      dataDir,
      blockMillis: plan.blockMillis,
      now: () => time.now() + shared.wrongBy,
      act: (effect) => this.replica?.act(effect),
      process: () => this.replica,
      rest: () => time.runTo(time.now()),
    })
    const { people } = this
    this.world = makeWildWorld({
      databases: () => this.databases,
      wild,
      network,
      docket,
      people,
      dataDir,
      killAll: shared.killAll,
      startSoon: shared.startSoon,
      write: (book) => place.write(this.textOf(book)),
      outage: shared.outage,
      run: runner.atOnce,
    })
    this.standing = makeStanding({ plan, network, world: this.world, startMillis, now, database: () => this.database })
    this.watch = makeWatch({
      plan,
      network,
      docket,
      people,
      isPlain: () => readsTrue(plan) && thirdParty.replayed.size === 0,
      books: this.books,
    })
    rmSync(this.dataDir, { recursive: true, force: true })
    mkdirSync(this.dataDir, { recursive: true })
  }

  /** Puts the operator's first file in its place. */
  write(): void {
    if (this.plan.wild !== undefined) this.place.write(this.textOf(this.wild.book))
  }

  isSigned(): boolean {
    return this.database?.prepare("SELECT 1 FROM attempts LIMIT 1").get() !== undefined
  }

  /** From now on its process may die by itself. */
  beginDying(): void {
    const mortal = this.replica?.mortal
    if (mortal !== undefined && this.plan.stepsPerLife !== undefined) mortal.dieAt = mortal.steps + this.lifeSpan()
  }

  startDue(): void {
    if (this.replica === undefined && this.shared.time.now() >= this.restartAt) this.start()
  }

  /** The trouble is over: who is dead comes back, and nobody dies any more. */
  revive(): void {
    this.restartAt = Math.min(this.restartAt, this.shared.time.now())
    if (this.replica !== undefined) this.replica.mortal.dieAt = Number.POSITIVE_INFINITY
  }

  /** What happens to this treasury at a block. */
  atBlock(block: number): void {
    this.world.atBlock(block)
    this.people.atBlock(block)
  }

  judgeCalled(): void {
    const db = this.database
    if (db !== undefined && this.plan.gateways === "honest") judgeCalled(db, this.shared.time.now(), this.docket)
  }

  isUnrested(): boolean {
    const wokenAt = this.replica?.mortal.pausedTo ?? 0
    return this.standing.isUnrested() || this.shared.time.now() < wokenAt + wakingMillis
  }

  /** What one transfer may move by what is in force from now on. */
  noteTerms(): void {
    const most = Math.max(...[...this.world.inForce()].map(({ perTransfer }) => perTransfer))
    const perTransfer = BigInt(most) * unit
    if (this.terms.at(-1)?.perTransfer !== perTransfer) this.terms.push({ at: this.shared.time.now(), perTransfer })
  }

  start(): void {
    const { plan, shared } = this
    const { bench, dice, time, network, thirdParty } = shared
    this.world.started()
    this.noteTerms()
    const dieAt = plan.stepsPerLife === undefined || !shared.dying ? Number.POSITIVE_INFINITY : this.lifeSpan()
    const pool = shared.pool()
    const end = () => {
      this.deaths++
      this.replica = undefined
      this.restartAt = time.now() + dice.below(shared.dying ? downMillisMax : 1_000)
    }
    const replica: Replica = startReplica({
      treasury: this.treasury,
      dataDir: this.dataDir,
      time,
      wrongBy: () => shared.wrongBy,
      dice,
      metrics: bench.metrics,
      dieAt,
      failing: this.deaths === 0 ? shared.options.failing : undefined,
      isDiskFull: this.world.isDiskFull,
      deafness: this.world.deafness,
      onEnd: () => {
        end()
        shared.killAll()
      },
      ...(pool === undefined ? {} : { pool, onEndAlone: end }),
      onStatement: () => {},
      wire: {
        network,
        latencyMillis: plan.latencyMillis,
        lie: shared.lie,
        lag: shared.lag,
        isDown: () => shared.isDown,
        hear: (text) => this.hear(text),
        onSubmit: (body, from) => this.submission(body, from.db),
        onArrival: (body, leftAt) => thirdParty.noteArrival(body, leftAt),
      },
    })
    // One that gave up at once has been noted as ended, and its process may go on.
    if (replica.mortal.alive && replica.fiber.pollUnsafe() === undefined) this.replica = replica
    time.runTo(time.now())
  }

  /** What an operator does once the trouble is over: looks, and does what is named to him. */
  attend(): void {
    if (this.plan.wild === undefined) {
      this.replica?.lift()
      return
    }
    const { docket, people } = this
    const done = new Set(executionsOf(this.shared.network.chain, boundsOf(this.books)).map(({ id }) => id))
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

  /** Ends its last life. */
  end(): void {
    this.statements = this.replica?.mortal.statements ?? 0
    this.replica?.kill()
  }

  verdict(): Verdict {
    const { plan, docket, dataDir, people, world, books, terms, shared } = this
    const { network, trace, startMillis } = shared
    const counted = { deaths: this.deaths, statements: this.statements, startMillis, now: shared.time.now() }
    const left = { plan, docket, network, dataDir, people, world, books, terms, trace }
    return conclude({
      ...left,
      ...counted,
      replayed: shared.thirdParty.replayed,
      seenUntil: shared.allowance.seenUntil,
    })
  }

  private textOf(book: Book): string {
    return bookText(book, this.plan.liar ? threeGateways : oneGateway, this.shared.startMillis)
  }

  private get treasury(): DaemonOptions["treasury"] {
    const { plan, place } = this
    if (plan.wild !== undefined) return place.read(plan.inCode === true)
    const written = plan.inCode === true ? place.inCode : place
    return written[plan.liar ? "amongThree" : "treasury"]
  }

  private hear(text: string): void {
    const line = `${this.shared.time.now() - this.shared.startMillis} ${text}`
    this.shared.trace.update(line).update("\n")
    this.shared.options.tell?.(line)
  }

  private lifeSpan(): number {
    return 1 + Math.floor(-Math.log(1 - this.shared.dice.next()) * (this.plan.stepsPerLife ?? 0))
  }

  private submission(body: string, db: DatabaseSync | undefined): void {
    const bytes = bytesOf(body)
    if (bytes === undefined) {
      this.docket.wrong("disk", "a submission is no transaction")
      return
    }
    this.shared.hear(bytes)
    this.watch.submission(bytes, db)
  }

  /** Of the living process, unless it is in a transaction. */
  private get databases(): ReadonlyArray<DatabaseSync> {
    const db = this.replica?.mortal.db
    return db?.isOpen === true && !db.isTransaction ? [db] : []
  }

  private get database(): DatabaseSync | undefined {
    return this.databases[0]
  }
}

/** What was due while a process slept is told so long after it woke. */
const wakingMillis = 16_000
