import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Exit, type Fiber } from "effect"
import { finalIntentStates } from "../../src/domain/Intent.ts"
import { readView } from "../../src/http/StatusView.ts"
import type { View } from "../../src/http/View.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { plainBook } from "./Book.ts"
import { boundsOf } from "./Bounds.ts"
import { makeDocket } from "./Docket.ts"
import { isSpent } from "./isSpent.ts"
import { judge } from "./Judge.ts"
import { LyingWorld } from "./LyingWorld.ts"
import { type LyingPlan, lyingPlanOf } from "./lyingPlan.ts"
import { documentedVerbs } from "./Operator.ts"
import { targets } from "./Replica.ts"
import type { Bench, Verdict } from "./runSeed.ts"

/** Seconds from the end of a lie within which payments go on. */
const secondsMax = 90
/** Seconds after which rows and balances agree, once payments go on: several comparisons. */
const agreeSeconds = 180
/** Blocks of the longest window, and a margin: what was open when its length was lied about waits for its end. */
const windowBlocks = 560
/** Minutes after which people must have heard of a stop: tickets come after an hour. */
const silentMinutesMax = 70
/** A stop may need more than one verb, but not for ever. */
const roundsMax = 3
/** So long a run lasts at least before its lies are over, and so long with a lie that lasts for ever. */
const calmSeconds = 60
const lyingSeconds = 150
/** Seconds between two needs of a payment while lies are told. */
const needSeconds = 12
const needsMax = 7

const finals = finalIntentStates.map((state) => `'${state}'`).join(", ")
const openSql = `SELECT count(*) AS n FROM intents WHERE state NOT IN (${finals})`
const watchedSql =
  "SELECT max(anchor_height + coalesce(window_max, window_blocks)) AS n FROM attempts JOIN watches USING (intent_id, k)"
const alertsSql = "SELECT kind, subject, detail FROM alerts WHERE severity <> 'info' ORDER BY seq"
/** Reasons of rules to pay nothing that say that nothing is needed: what a gateway tells of balances is believed. */
const deceived = new Set(["in_band", "too_small"])

/** Runs one seed in which a single gateway lies at random, to its end in virtual time. */
export const runLying = (bench: Bench, seed: number, tell: (line: string) => void = () => {}): Verdict =>
  playLying(bench, lyingPlanOf(seed), tell)

/** The same for a plan. */
export const playLying = (bench: Bench, plan: LyingPlan, tell: (line: string) => void = () => {}): Verdict =>
  new LyingRun(bench, plan, tell).toEnd()

class LyingRun {
  private readonly plan: LyingPlan
  private readonly world: LyingWorld
  private readonly notes: Array<string> = []
  private askAgainAt = 0

  constructor(bench: Bench, plan: LyingPlan, tell: (line: string) => void) {
    this.plan = plan
    this.world = new LyingWorld(bench, plan, tell)
  }

  toEnd(): Verdict {
    const { world } = this
    world.start()
    this.liveThroughLies()
    const isPassing = this.plan.lies.every(({ lasts }) => Number.isFinite(lasts))
    world.drain("hot")
    world.second()
    if (isPassing) this.recover()
    else this.liveWithLies()
    return this.verdict()
  }

  /** Payments are wanted now and then until the last lie that ends is over. */
  private liveThroughLies(): void {
    const { world } = this
    let needs = 0
    for (let n = 0; n < calmSeconds || this.isLiedTo(); n++) {
      if (n % needSeconds === 1 && needs < needsMax) {
        needs += 1
        world.drain(needs % 2 === 0 ? "hot" : "warm", needs % 2 === 0 ? 11_000_000_000n : 8_000_000_000n)
      }
      world.second()
    }
  }

  /** Whether a lie that passes may still be told. */
  private isLiedTo(): boolean {
    const { world, plan } = this
    if (plan.lies.every(({ lasts }) => Number.isFinite(lasts))) return world.now <= world.gateway.honestFrom()
    return world.elapsed < lyingSeconds * 1_000
  }

  /** After the last lie payments go on. Then what it left in our balance rows is over soon as well, or by its verb. */
  private recover(): void {
    if (!this.comesBack()) return
    if (this.agreesWithin(agreeSeconds)) return
    for (let round = 0; round < roundsMax; round++) {
      // The status stays green where no rule uses the account.
      const isTold = this.alerts().some((alert) => /^drift .*balances rebase/.test(alert))
      if (!isTold) return void this.fault("rows and balances differ, and nobody is told")
      for (let n = 0; n < windowBlocks && this.isWatching(); n++) this.world.second()
      if (this.perform() && this.agreesWithin(agreeSeconds)) return void this.note("rows agree by a verb")
    }
    this.fault("rows and balances differ for ever")
  }

  private agreesWithin(seconds: number): boolean {
    for (let n = 0; n < seconds && this.drifting() !== 0; n++) this.world.second()
    return this.drifting() === 0
  }

  /** Whether bytes of ours may execute still, by the longest window told: till then no such account begins anew. */
  private isWatching(): boolean {
    const { db, network } = this.world
    return network.chain.height <= Number(db?.prepare(watchedSql).get()?.["n"] ?? 0) + 1
  }

  /** Whether payments go on: by themselves, or by the verbs that are named to people. */
  private comesBack(): boolean {
    if (this.goesOnWithin(secondsMax)) return true
    this.notes.push("stopped")
    for (let round = 0; round < roundsMax; round++) {
      if (this.isKnown() && this.perform() && this.goesOnWithin(secondsMax)) return true
      if (this.isSpent()) return this.note("limit")
      if (this.goesOnWithin(windowBlocks)) return this.note("late by itself")
      while (this.world.now < this.askAgainAt && !this.goesOn()) this.world.minute()
      if (this.isKnown()) continue
      for (let n = 0; n < silentMinutesMax && !this.goesOn(); n++) this.world.minute()
      if (this.goesOn()) return this.note("late by itself")
      if (!this.isKnown()) return this.fault("a silent stop")
    }
    return this.fault("no way out of a stop")
  }

  private note(what: string): true {
    this.notes.push(what)
    return true
  }

  /** Accounts in drift; undefined while no process is up. */
  private drifting(): number | undefined {
    const row = this.world.db?.prepare("SELECT count(*) AS n FROM drifts WHERE ended_at IS NULL").get()
    return row === undefined ? undefined : Number(row["n"])
  }

  private isSpent(): boolean {
    const { network, now } = this.world
    const view = this.view()
    return view !== undefined && isSpent(view, network.chain, now)
  }

  /** A lie without end: payments go on all the same, or people hear why they do not. */
  private liveWithLies(): void {
    if (this.goesOnWithin(secondsMax)) return
    for (let n = 0; n < silentMinutesMax && !this.goesOn(); n++) this.world.minute()
    if (this.goesOn()) return
    if (this.isDeceived()) return void this.notes.push("deceived")
    this.notes.push("stopped")
    if (!this.isHeardOf()) this.fault("a silent stop under a lasting lie")
  }

  private goesOnWithin(seconds: number): boolean {
    for (let n = 0; n < seconds; n++) {
      if (this.goesOn()) return true
      this.world.second()
    }
    return this.goesOn()
  }

  /** The account that was emptied last is filled again, and no payment is open. */
  private goesOn(): boolean {
    const { db, network } = this.world
    if (db === undefined) return false
    const [hot] = [...targets.keys()]
    const filled = [...network.chain.ledger.accounts.values()].some(
      ({ party, type, balance }) => party === hot && type === "ACCOUNT_TYPE_GENERAL" && balance >= 10_000_000_000n,
    )
    return filled && Number(db.prepare(openSql).get()?.["n"]) === 0
  }

  private isKnown(): boolean {
    return this.isHeardOf() || this.isUncheckable()
  }

  /** Whether what stands in the way is a balance that no other can be held against: who owns the account knows it. */
  private isUncheckable(): boolean {
    if (this.plan.plan.profile !== "specification") return false
    const view = this.view()
    if (view === undefined || view.intents.some(({ open }) => open)) return false
    return view.rules.every(({ reason }) => deceived.has(reason ?? "") || reason === "short")
  }

  private isDeceived(): boolean {
    const rows = this.world.db?.prepare("SELECT reason FROM decisions ORDER BY seq DESC LIMIT 2").all() ?? []
    return rows.length > 0 && rows.every(({ reason }) => deceived.has(String(reason)))
  }

  private alerts(): ReadonlyArray<string> {
    const rows = this.world.db?.prepare(alertsSql).all() ?? []
    return rows.map(({ kind, subject, detail }) => `${kind} ${subject}: ${detail}`)
  }

  /** Whether people were told, and the status is not green. */
  private isHeardOf(): boolean {
    return this.alerts().length > 0 && this.view()?.sentence.severity !== "ok"
  }

  private view(): View | undefined {
    return this.world.ask(readView())
  }

  /** Does what is named to people; false where nothing is. */
  private perform(): boolean {
    const { world } = this
    const executed = world.executed()
    const ledger = (id: string) => executed.has(id)
    const { treasury, dataDir } = world
    const asked = { treasury, dataDir, ledger, deceived: this.isUncheckable() }
    const verbs = world.ask(documentedVerbs(asked)) ?? []
    const begun: Array<readonly [string, Fiber.Fiber<unknown, unknown> | undefined]> = []
    for (const { name, perform } of verbs) begun.push([name, world.begin(perform)])
    for (let n = 0; n < 5 && begun.length > 0; n++) world.second()
    for (const [name, fiber] of begun) {
      const exit = fiber?.pollUnsafe()
      const answer = exit === undefined ? "" : Exit.isSuccess(exit) ? answerText(exit.value) : String(exit.cause)
      this.notes.push(`${name}${answer}`)
      if (exit !== undefined && Exit.isSuccess(exit)) this.askAgainAt = Math.max(this.askAgainAt, againAt(exit.value))
    }
    return verbs.length > 0
  }

  private fault(what: string): false {
    this.world.wrong.push(`on: ${what}: ${this.words()}`)
    return false
  }

  /** How things stand, in the words that people see. */
  private words(): string {
    const { world } = this
    const view = world.ask(readView())
    const rules = view?.rules.map(({ subject, reason, detail }) => `${subject} ${reason}: ${detail}`) ?? []
    const open = view?.intents.filter((i) => i.open).map((i) => `${i.short} ${i.state}: ${i.detail}`) ?? []
    const alerts = this.alerts()
    return [
      `"${view?.sentence.text}"`,
      `verbs [${this.notes.join("; ")}]`,
      `alerts [${alerts.slice(-3).join("; ")}]`,
      ...rules,
      ...open,
    ].join(" | ")
  }

  private verdict(): Verdict {
    const { world, plan } = this
    const { chain } = world.network
    if (world.exits > 0) world.wrong.push(`on: the process ended by itself ${world.exits} times`)
    world.end()
    const db = new DatabaseSync(join(world.dataDir, databaseFile))
    try {
      const errors = db.prepare("SELECT detail FROM halts WHERE reason IN ('store_error', 'invariant')").all()
      for (const { detail } of errors) world.wrong.push(`on: an answer became an error of the store: ${detail}`)
      const docket = makeDocket()
      const nobody = new Set<string>()
      judge({
        db,
        chain,
        docket,
        bounds: boundsOf([plainBook]),
        gateways: "lying",
        replayed: nobody,
      })
      docket.chance("on")
      const head = db.prepare("SELECT hash FROM journal ORDER BY seq DESC LIMIT 1").get()
      world.trace.update(`${chain.hash} ${head?.["hash"]}`)
      const count = (sql: string) => Number(db.prepare(sql).get()?.["n"])
      return {
        seed: plan.plan.seed,
        violations: [...world.wrong, ...docket.violations],
        chances: docket.chances,
        events: { "run before a single liar": 1 },
        trace: world.trace.digest("hex"),
        intents: count("SELECT count(*) AS n FROM intents"),
        manual: count("SELECT count(*) AS n FROM intents WHERE state = 'manual'"),
        executed: chain.included.filter(({ code }) => code === 0).length,
        byCode: 0,
        deaths: world.deaths,
        blocks: chain.height,
        statements: 0,
        notes: world.gateway.told() === 0 ? ["untold"] : this.notes,
      }
    } finally {
      db.close()
    }
  }
}

/** When people are asked to ask again, Unix milliseconds; 0 where they are not. */
const againAt = (value: unknown): number => {
  const remedy = typeof value === "object" && value !== null && "remedy" in value ? String(value.remedy) : ""
  const [, at] = /ask again after (\S+Z)/.exec(remedy) ?? []
  return at === undefined ? 0 : Date.parse(at)
}

const answerText = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(answerText).join("")
  const problem = typeof value === "object" && value !== null && "problem" in value ? String(value.problem) : undefined
  return problem === undefined ? "" : ` refused: ${problem}`
}
