import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Context, Effect } from "effect"
import type { DaemonOptions } from "../../src/layers.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import type { Metrics } from "../../src/telemetry/Metrics.ts"
import { problemOfSubmission } from "../simulation/Judge.ts"
import { type Network, networkOf } from "../simulation/Network.ts"
import { type Replica, type Services, startReplica } from "../simulation/Replica.ts"
import { bytesOf } from "../simulation/ThirdParty.ts"
import { makeRunner, makeVirtualTime, type Runner, type VirtualTime } from "../simulation/VirtualTime.ts"
import type { Lie } from "../simulation/Wire.ts"
import { makeDice } from "../support/Dice.ts"
import { lieScenario, spent } from "./LieTreasury.ts"

const startMillis = Date.parse("2026-11-21T10:00:00Z")
/** From the end of a process to the next start, as a supervisor outside starts it again. */
const downMillis = 1_000
/** Seconds between two needs of a payment: each account loses money in turn. */
const needSeconds = 6

export interface LieWorldOptions {
  readonly treasury: DaemonOptions["treasury"]
  readonly metrics: Context.Context<Metrics>
  readonly dataDir: string
  readonly lie: (host: string) => Lie | undefined
  /** Hears of all that goes over the wire, with the milliseconds since the start. */
  readonly tell: (line: string) => void
}

/** The daemon of one treasury and its network: a block a second, and a need for a payment every few seconds. */
export class LieWorld {
  readonly network: Network
  readonly time: VirtualTime
  /** Processes that ended by themselves. */
  exits = 0
  /** What loops failed of, and what left the daemon otherwise than it must. */
  readonly wrong: Array<string> = []
  private readonly options: LieWorldOptions
  private readonly dice = makeDice("lies")
  private readonly runner: Runner
  private replica: Replica | undefined
  private restartAt = 0
  private seconds = 0

  constructor(options: LieWorldOptions) {
    this.options = options
    this.time = makeVirtualTime(startMillis, this.dice)
    this.runner = makeRunner(this.time)
    this.network = networkOf(lieScenario, this.runner.fork, this.runner.atOnce)
    rmSync(options.dataDir, { recursive: true, force: true })
    mkdirSync(options.dataDir, { recursive: true })
  }

  /** Unix milliseconds. */
  get now(): number {
    return this.time.now()
  }

  /** Path of the database. */
  get file(): string {
    return join(this.options.dataDir, databaseFile)
  }

  start(): void {
    const { treasury, metrics, dataDir, lie, tell } = this.options
    this.replica = startReplica({
      treasury,
      metrics,
      dataDir,
      time: this.time,
      dice: this.dice,
      dieAt: Number.POSITIVE_INFINITY,
      failing: undefined,
      onStatement: () => {},
      onEnd: () => {
        this.replica = undefined
        this.restartAt = this.now + downMillis
        this.exits += 1
        tell(`${this.now - startMillis} the process ended`)
      },
      onError: (text) => {
        tell(`${this.now - startMillis} ERROR ${text}`)
        const line = text.split("\n")[0] ?? ""
        if (line.startsWith("a loop failed") && !this.wrong.includes(line)) this.wrong.push(line)
      },
      wire: {
        network: this.network,
        latencyMillis: 20,
        lie,
        hear: (text) => tell(`${this.now - startMillis} ${text}`),
        onSubmit: (body, { db }) => {
          const bytes = bytesOf(body)
          const problem = bytes === undefined ? "a submission is no transaction" : problemOfSubmission(db, bytes)
          if (problem !== undefined) this.wrong.push(`${problem} (block ${this.network.chain.height})`)
        },
        onArrival: () => {},
      },
    })
    this.time.runTo(this.now)
  }

  /** A second, and a block at its end; now and then an account is short of money after it. */
  second(): void {
    this.time.runTo(this.now + 1_000)
    if (this.replica === undefined && this.now >= this.restartAt) this.start()
    this.seconds += 1
    if (this.seconds % needSeconds === 0) this.spend(this.seconds % (2 * needSeconds) === 0 ? 0 : 1)
    this.runner.atOnce(this.network.node.stepBlock)
  }

  private spend(account: 0 | 1): void {
    const { chain } = this.network
    const at = chain.scenario.spenders[account]?.at as Map<number, bigint>
    at.set(chain.height + 1, BigInt(spent) * 1_000_000n)
  }

  /** Two minutes of which the daemon lives through the last five seconds alone. */
  minutes(): void {
    this.time.passTo(this.now + 115_000)
    for (let n = 0; n < 5; n++) this.second()
  }

  /** Rows of the daemon's own store, as they are on disk. */
  rows<Row>(sql: string, ...values: ReadonlyArray<number | string>): ReadonlyArray<Row> {
    const own = this.replica?.mortal.db
    if (own?.isOpen === true) return own.prepare(sql).all(...values) as unknown as ReadonlyArray<Row>
    const db = new DatabaseSync(this.file)
    try {
      return db.prepare(sql).all(...values) as unknown as ReadonlyArray<Row>
    } finally {
      db.close()
    }
  }

  /** What an effect among the services of the daemon gives, at once; undefined where no process is up. */
  ask<A, E>(effect: Effect.Effect<A, E, Services>): A | undefined {
    const fiber = this.replica?.act(effect)
    return fiber === undefined ? undefined : this.runner.ended(fiber)
  }

  /** Begins a verb of an operator; it ends as time goes on, since it asks the gateway. */
  begin<A, E>(verb: Effect.Effect<A, E, Services>): void {
    this.replica?.act(verb)
    this.time.runTo(this.now)
  }

  end(): void {
    const { replica } = this
    this.replica = undefined
    const before = this.exits
    replica?.kill()
    this.exits = before
  }
}
