import { join } from "node:path"
import { Effect } from "effect"
import { finalIntentStates } from "../../src/domain/Intent.ts"
import { readView } from "../../src/http/StatusView.ts"
import type { View } from "../../src/http/View.ts"
import { rebaseMismatches } from "../simulation/Operator.ts"
import { documentedOf } from "./documented.ts"
import { judgeMoney } from "./judgeMoney.ts"
import type { LieBench } from "./LieBench.ts"
import { type Liar, type LieCase, makeLiar, nameOf } from "./LieCase.ts"
import { LieWorld } from "./LieWorld.ts"

/** Seconds within which a payment is confirmed once a lie is over, or a verb has ended what it brought about. */
export const secondsMax = 90
/** Seconds within which a daemon pays that nobody lied to, and another payment is under way. */
const honestSecondsMax = 60
/** Seconds within which each operation of the money path is asked at least once. */
const askedSecondsMax = 130
/** The longest window of a network: so long may an attempt live that a lie about it met. */
const windowSecondsMax = 520
/** People are called by the last bound of the table in docs/safety.md: an hour. */
const toldMillisMax = 65 * 60_000
/** Operators look so many seconds after the lie is over. */
const operatorMillis = 5_000
/** A verb may be needed more than once, but not for ever. */
const verbsMax = 4
/** What is decided so long after a lasting lie began was decided under it. */
const underMillis = 10_000

const finals = finalIntentStates.map((state) => `'${state}'`).join(", ")
const liarsHost = "127.0.0.1:1"

/** What is wrong with a case, by the columns of the last line; untold: nobody asked for what the lie is about. */
export type Fault = "exit" | "silent" | "policy" | "untold"

export interface LieVerdict {
  readonly number: number
  readonly name: string
  /** What came of it, in words. */
  readonly outcome: string
  readonly faults: ReadonlyArray<{ readonly fault: Fault; readonly text: string }>
}

interface IntentRow {
  readonly id: string
  readonly state: string
  readonly detail: string
}

/** Plays one case to its end in virtual time, and judges it. */
export const runCase = (bench: LieBench, one: LieCase, tell: (line: string) => void = () => {}): LieVerdict => {
  const run = new CaseRun(bench, one, tell)
  return run.toEnd()
}

class CaseRun {
  private readonly one: LieCase
  private readonly world: LieWorld
  private readonly liar: Liar
  private readonly treasury
  private readonly faults: Array<LieVerdict["faults"][number]> = []
  private readonly verbs: Array<string> = []
  private rebaseTriedAt = 0
  private hasRebased = false

  constructor(bench: LieBench, one: LieCase, tell: (line: string) => void) {
    this.one = one
    this.treasury = bench.treasuries[one.setting]
    this.world = new LieWorld({
      treasury: this.treasury,
      metrics: bench.metrics,
      dataDir: join(bench.dir, "store"),
      lie: (host) => (one.setting === "alone" || host === liarsHost ? this.liar.lie : undefined),
      tell,
    })
    this.liar = makeLiar(one, () => this.world.now)
  }

  toEnd(): LieVerdict {
    const { one, world } = this
    const outcome = this.play()
    if (world.exits > 0) this.fault("exit", `the process ended ${world.exits} times`)
    for (const text of world.wrong) this.fault("exit", text)
    for (const { detail } of world.rows<{ detail: string }>("SELECT detail FROM halts WHERE reason = 'store_error'")) {
      this.fault("exit", `store error: ${detail}`)
    }
    const attempts = world.rows<{ intent_id: string; transfer_id: string }>(
      "SELECT intent_id, transfer_id FROM attempts",
    )
    const intentOf = new Map(attempts.map((row) => [row.transfer_id, row.intent_id]))
    for (const text of judgeMoney(world.network.chain, intentOf)) this.fault("policy", text)
    world.end()
    return { number: one.number, name: nameOf(one), outcome, faults: this.faults }
  }

  private fault(fault: Fault, text: string): void {
    this.faults.push({ fault, text })
  }

  private play(): string {
    const { world, liar, one } = this
    if (one.beginning === "from the start") liar.arm()
    world.start()
    if (one.beginning === "midway") {
      const isUnderWay = () => this.confirmedSince(0) > 0 && this.isAnythingSent()
      if (!this.runUntil(isUnderWay, world.now + honestSecondsMax * 1_000)) {
        this.fault("untold", "no payment was made before the lie")
        return "nothing"
      }
      liar.arm()
    }
    if (!this.runUntil(() => liar.beganAt() !== undefined, world.now + askedSecondsMax * 1_000)) {
      this.fault("untold", `nobody asked for it within ${askedSecondsMax} s`)
      return "never told"
    }
    return one.duration === "for ever" ? this.playLasting() : this.playPassing()
  }

  /** A lie that passes: payments go on in time, and those that it met have their end. */
  private playPassing(): string {
    const { world, liar } = this
    this.runUntil(() => liar.endedAt() !== undefined, world.now + 10_000)
    let since = liar.endedAt() ?? world.now
    let until = since + secondsMax * 1_000
    const isOver = () => {
      if (world.now - since < operatorMillis) return false
      if (this.performVerb()) {
        since = world.now
        until = since + secondsMax * 1_000
      }
      return this.confirmedSince(since) > 0 && this.openBefore(since).length === 0
    }
    const isRight = this.runUntil(isOver, () => until)
    const verbs = this.verbs.length === 0 ? "" : ` after ${this.verbs.join(", ")}`
    if (isRight) return `went on${verbs} within ${Math.round((world.now - since) / 1_000)} s`
    const left = this.openBefore(since)
    if (this.confirmedSince(since) === 0) {
      this.fault("silent", `no payment within ${secondsMax} s${verbs}: ${this.words()}`)
    }
    for (const { id, state, detail } of left) this.fault("silent", `${id.slice(0, 8)} is still ${state}: ${detail}`)
    return `stopped${verbs}`
  }

  /** A lie that lasts: payments go on all the same, or people hear why not. */
  private playLasting(): string {
    const { world, liar } = this
    const began = liar.beganAt() ?? world.now
    const until = began + secondsMax * 1_000
    const goesOn = () => this.confirmedSince(began + underMillis) > 0
    if (this.runUntil(goesOn, until)) return "goes on"
    const isTold = () => this.alertsSince(began).length > 0 && this.isRed()
    if (this.isUnsettled()) {
      this.runUntil(() => goesOn() || isTold(), until + windowSecondsMax * 1_000)
      if (goesOn()) return "goes on after a window"
    }
    while (!isTold() && world.now - began < toldMillisMax && !goesOn()) world.minutes()
    if (goesOn()) return "goes on late"
    const minutes = Math.round((world.now - began) / 60_000)
    if (!isTold()) this.fault("silent", `stopped for ${minutes} minutes, and nobody knows: ${this.words()}`)
    return `stopped, told after ${minutes} minutes: ${this.alertsSince(began).join("; ")}`
  }

  /** Whether `status --fail` fails. */
  private isRed(): boolean {
    const view = this.view()
    return view !== undefined && view.sentence.severity !== "ok"
  }

  /** Whether rules wait for the end of a window. */
  private isUnsettled(): boolean {
    return this.view()?.rules.some(({ reason }) => reason === "chain_unsettled") ?? false
  }

  /** Lets seconds pass until something is so; false where it is not in time (Unix milliseconds). */
  private runUntil(isSo: () => boolean, until: number | (() => number)): boolean {
    const end = typeof until === "number" ? () => until : until
    for (;;) {
      if (isSo()) return true
      if (this.world.now >= end()) return false
      this.world.second()
    }
  }

  /** Whether a verb had to end a halt; one that is not documented stays. */
  private performVerb(): boolean {
    if (this.verbs.length >= verbsMax) return false
    const halts = this.world.rows<{ reason: string }>("SELECT reason FROM halts WHERE ended_at IS NULL")
    const found = halts.flatMap(({ reason }) => {
      const documented = documentedOf(reason)
      return documented === undefined ? [] : [{ reason, ...documented }]
    })
    for (const { reason, verb, perform } of found) {
      this.verbs.push(`${verb} of ${reason}`)
      this.world.begin(perform(this.world.file))
    }
    return found.length > 0 || this.performRebase()
  }

  /** Whether accounts began anew by the verb that an alert of their mismatch names (decision 39). */
  private performRebase(): boolean {
    const { world, treasury } = this
    const isDone = this.hasRebased
    this.hasRebased = false
    const isNamed = this.alertsSince(0).some((alert) => /^drift .*balances rebase/.test(alert))
    if (!isNamed || world.now - this.rebaseTriedAt < operatorMillis) return isDone
    this.rebaseTriedAt = world.now
    const noted = Effect.tap(rebaseMismatches(treasury), (answers) =>
      Effect.sync(() => {
        if (!answers.some((done) => typeof done === "object" && done !== null && "rebased" in done)) return
        this.hasRebased = true
        this.verbs.push("balances rebase")
      }),
    )
    world.begin(noted)
    return isDone
  }

  /** Payments that were decided and confirmed since then. */
  private confirmedSince(millis: number): number {
    const [row] = this.world.rows<{ n: number }>(
      "SELECT count(*) AS n FROM intents WHERE state = 'confirmed' AND created_at >= ?",
      millis,
    )
    return row?.n ?? 0
  }

  private openBefore(millis: number): ReadonlyArray<IntentRow> {
    const sql = `SELECT id, state, detail FROM intents WHERE state NOT IN (${finals}) AND created_at < ?`
    return this.world.rows<IntentRow>(sql, millis)
  }

  private isAnythingSent(): boolean {
    return this.world.rows("SELECT 1 FROM intents WHERE state IN ('in_flight', 'unknown')").length > 0
  }

  private alertsSince(millis: number): ReadonlyArray<string> {
    const sql = "SELECT kind, subject, detail FROM alerts WHERE severity <> 'info' AND at >= ? ORDER BY seq"
    const rows = this.world.rows<{ kind: string; subject: string; detail: string }>(sql, millis)
    return rows.map(({ kind, subject, detail }) => `${kind} ${subject}: ${detail}`)
  }

  private view(): View | undefined {
    return this.world.ask(readView())
  }

  /** How things stand, in the words that people see. */
  private words(): string {
    const view = this.view()
    const told = this.alertsSince(this.liar.beganAt() ?? 0)
    const rules = view?.rules.map(({ subject, reason, detail }) => `${subject} ${reason}: ${detail}`) ?? []
    const open = view?.intents.filter((i) => i.open).map((i) => `${i.short} ${i.state}: ${i.detail}`) ?? []
    return [`"${view?.sentence.text}"`, `alerts [${told.join("; ")}]`, ...rules, ...open].join(" | ")
  }
}
