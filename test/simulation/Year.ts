import { mkdirSync, rmSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import type { Context } from "effect"
import { finalIntentStates } from "../../src/domain/Intent.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import type { FaultSpec } from "../../src/sandbox/Faults.ts"
import { removePending } from "../../src/sandbox/Mempool.ts"
import { type ProfileName, profiles } from "../../src/sandbox/Profiles.ts"
import type { Scenario } from "../../src/sandbox/Scenario.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { makeDice } from "../support/Dice.ts"
import { problemOfSubmission } from "./Judge.ts"
import { type Network, networkOf } from "./Network.ts"
import { type Replica, startReplica } from "./Replica.ts"
import { bytesOf } from "./ThirdParty.ts"
import { makeRunner, makeVirtualTime, type Runner, type VirtualTime } from "./VirtualTime.ts"
import { payers, yearBegins, yearScenario } from "./YearWorld.ts"

/** A payment takes five seconds, and several of one account follow one another. */
const busySecondsMax = 90
const atRest = finalIntentStates.map((state) => `'${state}'`).join(", ")
const openSql = `SELECT count(*) AS n FROM intents WHERE state NOT IN (${atRest})`
const busySql = `SELECT (${openSql})
  + (SELECT count(*) FROM rule_states WHERE state = 'pending' AND rule <> 'low') AS n`
const sentSql = `SELECT count(*) AS n FROM intents JOIN attempts ON intent_id = id
  WHERE from_key = ? AND settled_at >= ? AND attempts.state IN ('confirmed', 'failed')`
/** Two polls of the daemon, and what its questions take. */
const epochPatienceMillis = 20_000
/** Seconds in which all balances can be compared: rows have to reach the block of a listing. */
export const longLook = 8
const shortLook = 2

/** An epoch of the network, and what it let a party send in it. */
export interface SeenEpoch {
  readonly seq: number
  readonly firstBlock: number
  readonly limit: number
}

export interface YearOptions {
  readonly treasury: DaemonOptions["treasury"]
  readonly metrics: Context.Context<Metrics>
  readonly dataDir: string
  /** Base units that each of the accounts loses, or gains, in a day: hot, warm, maker. */
  readonly perDay: readonly [bigint, bigint, bigint]
  /** The network; default that of the year. */
  readonly scenario?: string
  /** What a request and an answer are under way, on average. Default none. */
  readonly latencyMillis?: number
  /** Sees each statement of the daemon. */
  readonly onStatement?: (sql: string) => void
}

/**
 * The daemon and its network through a year. There are few blocks, and between them nobody wakes: all that is due then
 * comes late, with the next block. Once there is one, time runs as it does, with a block a second until all is at rest.
 */
export class Year {
  readonly network: Network
  readonly time: VirtualTime
  /** What left the daemon otherwise than it must. */
  readonly wrong: Array<string> = []
  /** Why rules were silent for a while: "rule reason". */
  readonly holds = new Set<string>()
  readonly epochs: Array<SeenEpoch> = []
  /** Unix milliseconds of each look for which the daemon ran. */
  readonly looks: Array<number> = []
  private readonly options: YearOptions
  private readonly dice = makeDice("a year")
  private readonly runner: Runner
  private replica: Replica | undefined
  private isDown = false
  private isComparing = false
  private lastLook: number

  constructor(options: YearOptions) {
    this.options = options
    this.lastLook = yearBegins
    this.time = makeVirtualTime(yearBegins, this.dice)
    this.runner = makeRunner(this.time)
    this.network = networkOf(options.scenario ?? yearScenario, this.runner.fork, this.runner.atOnce)
    rmSync(options.dataDir, { recursive: true, force: true })
    mkdirSync(options.dataDir, { recursive: true })
  }

  /** The store of the running daemon. */
  get db(): DatabaseSync {
    const db = this.replica?.mortal.db
    if (db === undefined) throw new Error("the daemon does not run")
    return db
  }

  start(): void {
    const { treasury, metrics, dataDir, onStatement, latencyMillis = 0 } = this.options
    this.replica = startReplica({
      treasury,
      metrics,
      dataDir,
      time: this.time,
      dice: this.dice,
      dieAt: Number.POSITIVE_INFINITY,
      failing: undefined,
      onEnd: () => {
        this.replica = undefined
      },
      onStatement: onStatement ?? (() => {}),
      wire: {
        network: this.network,
        latencyMillis,
        lie: undefined,
        isDown: () => this.isDown,
        hear: (text) => {
          if (text.includes(" GET /api/v2/accounts?")) this.isComparing = true
        },
        onSubmit: (body, { db }) => {
          const bytes = bytesOf(body)
          const problem = bytes === undefined ? "a submission is no transaction" : problemOfSubmission(db, bytes)
          if (problem !== undefined) this.wrong.push(`${problem} (block ${this.network.chain.height})`)
        },
        onArrival: () => {},
      },
    })
    this.time.runTo(this.time.now())
  }

  /** The process ends where it stands, as in a power cut. */
  kill(): void {
    this.replica?.kill()
  }

  /** The network's parameters are others from the next block on. */
  vote(changes: Partial<Scenario>): void {
    Object.assign(this.network.chain.scenario, changes)
  }

  /** A block, what it wakes, and as many more seconds as there is something to do. */
  look(at: number, secondsMin = shortLook): void {
    this.time.passTo(at)
    this.spend()
    this.lastLook = at
    this.isComparing = false
    this.block()
    if (this.replica === undefined) return
    this.looks.push(at)
    const isShort = (n: number) => n < (this.isComparing ? longLook : secondsMin)
    for (let n = 0; isShort(n) || (n < busySecondsMax && this.count(busySql) > 0); n++) this.second()
    if (this.count(busySql) > 0) this.wrong.push(`not at rest after the look of ${new Date(at).toISOString()}`)
    this.check()
  }

  /** What must hold between any two looks. */
  private check(): void {
    const { chain } = this.network
    const held = "SELECT DISTINCT rule, reason FROM decisions WHERE reason IS NOT NULL AND at >= ?"
    for (const row of this.db.prepare(held).iterate(this.lastLook)) this.holds.add(`${row["rule"]} ${row["reason"]}`)
    for (const party of payers) {
      const sent = this.db.prepare(sentSql).get(party, chain.epoch.startTime)?.["n"]
      const counted = chain.epoch.transfers.get(party) ?? 0
      if (sent !== counted)
        this.wrong.push(`${counted} transfers count in epoch ${chain.epoch.seq}, the store has ${sent}`)
    }
    // On a network of lagging nodes a first answer may still tell of the epoch before: then the next poll asks again.
    const patience = (this.options.latencyMillis ?? 0) > 0 ? epochPatienceMillis : 0
    if (this.time.now() - Number(chain.epoch.startTime / 1_000_000n) < patience) return
    const told = this.db.prepare("SELECT json_extract(value, '$.seq') AS seq FROM settings WHERE key = 'epoch'").get()
    if (told?.["seq"] !== chain.epoch.seq) this.wrong.push(`epoch ${chain.epoch.seq} is taken for ${told?.["seq"]}`)
  }

  /** A second, and a block at its end. */
  second(): void {
    this.time.runTo(this.time.now() + 1_000)
    this.block()
  }

  /** Takes all from an account that is kept filled, with the next block. */
  take(from: "hot" | "warm"): void {
    const { chain } = this.network
    for (const { from: loser, at } of chain.scenario.spenders)
      if (loser === from) (at as Map<number, bigint>).set(chain.height + 1, 1_000_000_000_000n)
    this.block()
  }

  /** The same, until bytes of ours wait for a block. */
  untilSent(from: "hot" | "warm"): void {
    const { chain } = this.network
    this.take(from)
    for (let n = 1; n < 10 * busySecondsMax && chain.mempool.pending.size === 0; n++) {
      this.time.runTo(this.time.now() + 100)
      if (n % 10 === 0 && chain.mempool.pending.size === 0) this.block()
    }
    if (chain.mempool.pending.size === 0) this.wrong.push("nothing waits for a block")
  }

  /** Minutes without blocks and answers. */
  outage(minutes: number): void {
    this.isDown = true
    this.waitMinutes(minutes)
    this.isDown = false
  }

  /** Hours in which nobody answers us, while the chain goes on. */
  apart(hours: number, blocksPerHour: number): void {
    this.isDown = true
    const lived = Math.round(2_000 / blocksPerHour)
    const passed = Math.round(3_600_000 / blocksPerHour) - lived
    for (let n = 0; n < hours * blocksPerHour; n++) {
      this.time.passTo(this.time.now() + passed)
      this.block()
      this.time.runTo(this.time.now() + lived)
    }
    this.isDown = false
  }

  /** The machine sleeps for hours, while the chain goes on; its monotonic clock stops meanwhile. */
  sleep(hours: number, blocksPerHour: number): void {
    for (let n = 0; n < hours * blocksPerHour; n++) {
      this.time.sleepTo(this.time.now() + Math.round(3_600_000 / blocksPerHour))
      this.block()
    }
  }

  /** Seconds in which there is a block only where a transaction waits for one. */
  sparse(seconds: number): void {
    for (let n = 0; n < seconds; n++) {
      this.time.runTo(this.time.now() + 1_000)
      if (this.network.chain.mempool.pending.size > 0) this.block()
    }
  }

  /** Minutes without blocks; the daemon lives through the last seconds of each. */
  waitMinutes(minutes: number): void {
    for (let n = 0; n < minutes; n++) {
      this.time.passTo(this.time.now() + 58_000)
      this.time.runTo(this.time.now() + 2_000)
    }
  }

  /** From now on this goes wrong, until `calm`. */
  disturb(fault: FaultSpec): void {
    this.runner.atOnce(this.network.node.armFault(fault))
  }

  /** Nothing goes wrong any more. */
  calm(): void {
    this.runner.atOnce(this.network.node.disarmFault(undefined))
  }

  /** Minutes without blocks and answers; what waited for a block is gone, and another version goes on. */
  upgrade(to: ProfileName, minutes: number): void {
    const { chain, world } = this.network
    this.outage(minutes)
    for (const tx of [...chain.mempool.pending.values()]) removePending(chain.mempool, tx)
    chain.mempool.cache.clear()
    Object.assign(chain, { profile: profiles[to] })
    Object.assign(world, { profile: profiles[to] })
  }

  private count(sql: string): number {
    return Number(this.db.prepare(sql).get()?.["n"])
  }

  block(): void {
    const { node, chain } = this.network
    this.runner.atOnce(node.stepBlock)
    const { seq, firstBlock } = chain.epoch
    if (this.epochs.at(-1)?.seq === seq) return
    this.epochs.push({ seq, firstBlock, limit: chain.scenario.transfersPerEpoch })
  }

  /** Accounts move with the next block as far as they do in the time since the last look, more or less. */
  private spend(): void {
    const { chain } = this.network
    const millis = this.time.now() - this.lastLook
    for (const [i, spender] of chain.scenario.spenders.entries()) {
      const share = BigInt(Math.round(millis * 2 * this.dice.next()))
      const amount = (this.options.perDay[i]! * share) / 86_400_000n
      const at = spender.at as Map<number, bigint>
      at.clear()
      at.set(chain.height + 1, amount)
    }
  }
}
