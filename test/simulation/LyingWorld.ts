import { createHash } from "node:crypto"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import type { Effect, Fiber } from "effect"
import { decodeTransaction, transferId } from "../../src/tx/Transaction.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { problemOfSubmission } from "./Judge.ts"
import { type LyingGateway, makeLyingGateway } from "./LyingGateway.ts"
import type { LyingPlan } from "./lyingPlan.ts"
import { makeNetwork, type Network } from "./Network.ts"
import { type Replica, reserve, type Services, startReplica } from "./Replica.ts"
import type { Bench } from "./runSeed.ts"
import { bytesOf } from "./ThirdParty.ts"
import { makeRunner, makeVirtualTime, type Runner, type VirtualTime } from "./VirtualTime.ts"

const startMillis = Date.parse("2026-11-21T10:00:00Z")
/** From a death to the next start, at most. */
const downMillisMax = 20_000

/** The daemon, its network, and the one gateway between them. */
export class LyingWorld {
  readonly network: Network
  readonly time: VirtualTime
  readonly gateway: LyingGateway
  readonly dataDir: string
  readonly wrong: Array<string> = []
  readonly trace = createHash("sha256")
  /** Processes that ended by themselves. */
  exits = 0
  deaths = 0
  private readonly bench: Bench
  private readonly plan: LyingPlan
  private readonly tell: (line: string) => void
  private readonly dice: Dice
  private readonly runner: Runner
  private replica: Replica | undefined
  private restartAt = 0
  /** Whether its end is ours. */
  private isKilled = false
  private kills: ReadonlyArray<number>

  constructor(bench: Bench, plan: LyingPlan, tell: (line: string) => void) {
    this.bench = bench
    this.plan = plan
    this.tell = tell
    this.kills = plan.kills
    this.dice = makeDice(`lying run ${plan.plan.seed}`)
    this.time = makeVirtualTime(startMillis, this.dice)
    this.runner = makeRunner(this.time)
    // Needs are made as the run goes on: who spends is there from the beginning.
    const spends = (["hot", "warm"] as const).map((from) => ({ block: 1_000_000, from, amount: 1 }))
    this.network = makeNetwork([{ ...plan.plan, spends }], this.runner.fork, this.runner.atOnce)
    const now = () => this.time.now()
    this.gateway = makeLyingGateway(plan.lies, { dice: makeDice(`lies ${plan.plan.seed}`), now, startMillis })
    this.dataDir = join(bench.dir, "store")
    rmSync(this.dataDir, { recursive: true, force: true })
    mkdirSync(this.dataDir, { recursive: true })
  }

  /** Unix milliseconds. */
  get now(): number {
    return this.time.now()
  }

  /** Milliseconds since the start. */
  get elapsed(): number {
    return this.now - startMillis
  }

  get treasury() {
    return this.bench.treasury
  }

  /** The store of the running daemon; undefined while it does not run. */
  get db(): DatabaseSync | undefined {
    const db = this.replica?.mortal.db
    return db?.isOpen === true && !db.isTransaction ? db : undefined
  }

  private hear(text: string): void {
    const line = `${this.elapsed} ${text}`
    this.trace.update(line).update("\n")
    this.tell(line)
  }

  start(): void {
    const { bench, dice, plan, network } = this
    const onEnd = () => {
      if (!this.isKilled) {
        this.exits += 1
        this.hear("the process ended by itself")
      }
      this.replica = undefined
      this.restartAt = this.now + 1 + dice.below(downMillisMax)
    }
    let own: Replica | undefined
    own = startReplica({
      treasury: bench.treasury,
      metrics: bench.metrics,
      dataDir: this.dataDir,
      time: this.time,
      dice,
      dieAt: Number.POSITIVE_INFINITY,
      failing: undefined,
      onStatement: () => {},
      onEnd,
      onError: (text) => {
        // The last words of a process that is dead.
        if (own?.mortal.alive === false) return
        this.tell(`${this.elapsed} ERROR ${text}`)
        if (text.startsWith("a loop failed"))
          this.wrong.push(`on: a loop failed: ${text.split("\n")[0]?.slice(0, 300)}`)
      },
      wire: {
        network,
        latencyMillis: plan.plan.latencyMillis,
        lie: () => this.gateway.lie,
        hear: (text) => this.hear(text),
        onSubmit: (body, { db }) => {
          const bytes = bytesOf(body)
          const problem = bytes === undefined ? "a submission is no transaction" : problemOfSubmission(db, bytes)
          if (problem !== undefined) this.wrong.push(`${problem} (block ${network.chain.height})`)
        },
        onArrival: () => {},
      },
    })
    if (own.mortal.alive) this.replica = own
    this.time.runTo(this.now)
  }

  /** As in a power cut. */
  private kill(): void {
    const { replica } = this
    if (replica === undefined) return
    this.deaths += 1
    this.isKilled = true
    replica.kill()
    this.isKilled = false
  }

  /** A second, and a block at its end. */
  second(): void {
    this.time.runTo(this.now + 1_000)
    this.endSecond()
  }

  /** A minute with a block each ten seconds. */
  minute(): void {
    for (let n = 0; n < 6; n++) {
      this.time.runTo(this.now + 10_000)
      this.endSecond()
    }
  }

  private endSecond(): void {
    const [next] = this.kills
    if (next !== undefined && this.elapsed >= next) {
      this.kills = this.kills.slice(1)
      this.kill()
    }
    if (this.replica === undefined && this.now >= this.restartAt) this.start()
    this.runner.atOnce(this.network.node.stepBlock)
  }

  /** With the next block an account loses so much: all of it by default. */
  drain(from: "hot" | "warm", amount = 1_000_000_000_000n): void {
    const { chain } = this.network
    const at = chain.scenario.spenders[from === "hot" ? 0 : 1]?.at as Map<number, bigint>
    at.set(chain.height + 1, amount)
  }

  /** Ids of our transfers that executed. */
  executed(): ReadonlySet<string> {
    const ours = this.network.chain.included.filter(({ party, code }) => party === reserve && code === 0)
    return new Set(ours.map(({ bytes }) => transferId(decodeTransaction(bytes)?.signature?.value ?? "")))
  }

  /** What an effect among the services of the daemon gives; undefined where no process is up. */
  ask<A, E>(effect: Effect.Effect<A, E, Services>): A | undefined {
    const fiber = this.replica?.act(effect)
    return fiber === undefined ? undefined : this.runner.ended(fiber)
  }

  /** Begins a verb of an operator; it ends as time goes on, since it may ask the gateway. */
  begin<A, E>(verb: Effect.Effect<A, E, Services>): Fiber.Fiber<A, E> | undefined {
    const fiber = this.replica?.act(verb)
    this.time.runTo(this.now)
    return fiber
  }

  end(): void {
    this.isKilled = true
    this.replica?.kill()
  }
}
