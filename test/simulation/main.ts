import { createHash } from "node:crypto"
import { type Fail, readFlags } from "../support/Flags.ts"
import { makeBench } from "./bench.ts"
import { installCrashPoints } from "./CrashPoints.ts"
import { calmNames } from "./calm.ts"
import { addFigures, makeFigures } from "./figures.ts"
import { judgeLimits, restless } from "./judgeLimits.ts"
import type { JudgedMonth } from "./judgeMonth.ts"
import { runWithLimits } from "./limits.ts"
import { describeLying, lyingPlanOf } from "./lyingPlan.ts"
import { describePlan, type Gateways, pairOf, planOf, tamePlanOf } from "./Plan.ts"
import { playCalm, playMonth } from "./playMonth.ts"
import { playYear } from "./playYear.ts"
import { isMonthProfile, type MonthProfile, monthDays, monthProfiles } from "./runMonth.ts"
import type { Verdict } from "./runSeed.ts"
import { seedsFrom, simulate } from "./simulate.ts"
import { failEachStatement } from "./statements.ts"
import type { Asked } from "./worker.ts"
import { wholeYear } from "./YearWorld.ts"

const usage = `usage: npm run sim -- [--seeds N | --until S] [--first S] [--gateways honest|hostile|both|lying[,…]] [--tame]
                      [--treasuries 1|2] [--figures FILE] [--workers N] [--trace]
       npm run sim -- --statements
       npm run sim -- --limits
       npm run sim -- --year
       npm run sim -- --month [--profile 0.74|0.75]
       npm run sim -- --calm [--profile 0.74|0.75]

  --seeds     how many seeds are run; default 100
  --first     the first of them; default 1
  --until     the last of them, instead of --seeds: a long run is done in parts
  --figures   a file that gets what was counted; of the same seeds it is counted once
  --tame      the world of before: one rule, no files, no people who approve, no failing machines
  --treasuries 2: two in one process, on shared gateways, each judged as alone; default 1
  --gateways  honest: exactly-once is judged. hostile: all gateways lie, and what may leave the treasury is judged.
              both: every other seed. lying: there is one, which is honest most of the time; also judged is that no
              stop is silent, and that each ends by itself or by the verb that is named to people. Several with commas:
              the seeds with each of them
  --trace     prints what goes over the wire: for one seed that failed
  --statements lets each statement of a payment's day fail, once and for a while
  --limits    runs the daemon for an hour before a gateway that bans who asks too much
  --year      runs the daemon for a year, through both changes of the clocks, a leap day, votes and upgrades
  --month     runs the daemon for thirty days on networks of 0.74 and 0.75, with lag, votes and outages, and counts what
              waits for a guard outside of these
  --calm      runs the daemon through what is no lie: an outage of a week, a chain without empty blocks, a vote on each
              parameter, nights in which the machine sleeps; and counts what waits for a guard where none should
  --profile   of the month: one of the networks; default both`

const flags = readFlags("sim", usage, {
  seeds: "100",
  first: "1",
  until: undefined,
  gateways: "honest",
  workers: "2",
  profile: "",
  figures: undefined,
  trace: false,
  tame: false,
  treasuries: "1",
  statements: false,
  limits: false,
  year: false,
  month: false,
  calm: false,
})
const { values, whole } = flags
const fail: Fail = flags.fail
const kinds = ["honest", "hostile", "both", "lying"]
const worlds = values.gateways.split(",")
for (const world of worlds) if (!kinds.includes(world)) fail(`--gateways ${world} is none of ${kinds.join(", ")}`)
const gatewaysOf = (world: string, seed: number): Gateways => {
  if (world === "both") return seed % 2 === 0 ? "hostile" : "honest"
  if (world === "lying") return "lying"
  return world === "hostile" ? "hostile" : "honest"
}
const isPair = values.treasuries === "2"
if (!isPair && values.treasuries !== "1") fail(`--treasuries ${values.treasuries} is neither 1 nor 2`)
if (isPair && (worlds.includes("lying") || values.tame)) fail("--treasuries 2 has no such world")
const first = whole("first", values.first)
const seeds = values.until === undefined ? whole("seeds", values.seeds) : whole("until", values.until) - first + 1
if (seeds < 1) fail(`--until ${values.until} is before --first ${first}`)
const began = performance.now()
let done = 0
let wrong = 0

const describe = ({ seed, gateways }: Asked): string => {
  if (isPair) return pairOf(seed, gateways).map(describePlan).join("; beside it ")
  return gateways === "lying"
    ? describeLying(lyingPlanOf(seed))
    : describePlan((values.tame ? tamePlanOf : planOf)(seed, gateways))
}

const hear = ({ violations }: Verdict, asked: Asked): void => {
  done++
  if (violations.length > 0) {
    wrong++
    console.log(`seed ${asked.seed}: ${describe(asked)}`)
    for (const violation of violations) console.log(`  ${violation}`)
    console.log(
      `  again: npm run sim -- --first ${asked.seed} --seeds 1 --gateways ${asked.gateways}${isPair ? " --treasuries 2" : ""} --trace`,
    )
  }
  if (done % 500 === 0)
    console.log(`${done} of ${seeds * worlds.length} seeds, ${Math.round((performance.now() - began) / 1000)} s`)
}

const chosenProfiles = (): ReadonlyArray<MonthProfile> => {
  const { profile } = values
  if (profile === "") return monthProfiles
  return isMonthProfile(profile) ? [profile] : fail(`--profile ${profile} is none of ${monthProfiles.join(", ")}`)
}

const printed = (name: string, { waits, guards, violations, payments }: JudgedMonth): boolean => {
  for (const line of [...waits, ...violations]) console.log(`  ${line}`)
  for (const [guard, count] of guards) console.log(`  waited for ${guard}: ${count}`)
  console.log(`${name}: ${payments} payments, waits ${waits.length} violations ${violations.length}`)
  return waits.length + violations.length === 0
}

const runMonths = async (): Promise<boolean> => {
  installCrashPoints()
  let isRight = true
  for (const profile of chosenProfiles()) {
    isRight = printed(`profile ${profile}, days ${monthDays}`, await playMonth(profile)) && isRight
  }
  return isRight
}

const runCalm = async (): Promise<boolean> => {
  installCrashPoints()
  let isRight = true
  for (const profile of chosenProfiles()) {
    for (const name of calmNames) {
      isRight = printed(`profile ${profile}, ${name}`, await playCalm(profile, name, false)) && isRight
    }
  }
  return isRight
}

if (values.statements) {
  const verdicts = await failEachStatement(1)
  const bad = verdicts.filter((verdict) => verdict.violations.length > 0)
  for (const { seed, violations } of bad) console.log(`run ${seed}: ${violations.join("; ")}`)
  console.log(`statements ${verdicts.length / 2} runs ${verdicts.length} violations ${bad.length}`)
  process.exit(bad.length > 0 ? 1 : 0)
}
if (values.limits) {
  const bench = await makeBench()
  const options = restless(11, 49)
  const complaints = judgeLimits(options.lives, runWithLimits(bench, options))
  bench.close()
  for (const complaint of complaints) console.log(complaint)
  console.log(`an hour before a strict gateway: violations ${complaints.length}`)
  process.exit(complaints.length > 0 ? 1 : 0)
}
if (values.year) {
  installCrashPoints()
  const { violations, looks, blocks, payments, bytes } = await playYear(wholeYear)
  for (const violation of violations) console.log(violation)
  console.log(
    `a year: ${looks} looks, ${blocks} blocks, ${payments} payments, ${bytes} bytes, violations ${violations.length}`,
  )
  process.exit(violations.length > 0 ? 1 : 0)
}
if (values.month) process.exit((await runMonths()) ? 0 : 1)
if (values.calm) process.exit((await runCalm()) ? 0 : 1)

const workers = values.trace ? 1 : Math.min(seeds, whole("workers", values.workers))
const isTame = values.tame
const asked = worlds.flatMap((world) =>
  seedsFrom(first, seeds).map((seed) => ({ seed, gateways: gatewaysOf(world, seed), isTame, isPair })),
)
const all = await simulate({ asked, workers, trace: values.trace, onVerdict: hear })
const seconds = ((performance.now() - began) / 1000).toFixed(0)

const summarize = (world: string, verdicts: ReadonlyArray<Verdict>): void => {
  const sum = { intents: 0, executed: 0, byCode: 0, deaths: 0, manual: 0, blocks: 0 }
  const outcomes = new Map<string, number>()
  const figures = makeFigures()
  const trace = createHash("sha256")
  for (const verdict of verdicts) {
    figures.add(verdict)
    trace.update(verdict.trace)
    for (const note of new Set(verdict.notes)) outcomes.set(note, (outcomes.get(note) ?? 0) + 1)
    for (const key of Object.keys(sum) as Array<keyof typeof sum>) sum[key] += verdict[key]
  }
  if (worlds.length > 1) console.log(`${world} gateways`)
  console.log(
    `${sum.blocks} blocks, ${sum.intents} intents (${sum.byCode} of rules in code), ${sum.executed} transactions executed, ${sum.deaths} deaths, ${sum.manual} left to a person, ${seconds} s`,
  )
  for (const [outcome, count] of [...outcomes].toSorted(([, a], [, b]) => b - a))
    console.log(`  ${outcome}: ${count} seeds`)
  for (const line of figures.lines()) console.log(line)
  if (values.figures !== undefined) {
    const name = `${world}${isTame ? ", tame" : ""}${isPair ? ", two treasuries" : ""}, seeds ${first} to ${first + seeds - 1}`
    addFigures(values.figures, { name, seconds: Number(seconds), ...figures.sums() })
  }
  console.log(`trace ${trace.digest("hex")}`)
  console.log(
    `seeds ${verdicts.length} violations ${verdicts.filter(({ violations }) => violations.length > 0).length}`,
  )
}

for (const [n, world] of worlds.entries()) summarize(world, all.slice(n * seeds, (n + 1) * seeds))
process.exitCode = wrong > 0 ? 1 : 0
