import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { until } from "./doors.ts"
import { canMonitor } from "./Monitoring.ts"
import { type Outage, outages } from "./outages.ts"
import { type Heard, makeWorld, type World } from "./World.ts"

/** An alert may come so many seconds after its bound. */
const graceSeconds = 30

interface Row {
  readonly name: string
  readonly bound: number
  readonly alertSeconds?: number
  readonly text?: string
  readonly did?: string
  readonly mendSeconds?: number
  /** Rule of Prometheus that fired, with the seconds until a receiver behind Alertmanager had it. */
  readonly rule?: string
  /** Other alerts that came meanwhile. */
  readonly others?: ReadonlyArray<string>
  readonly problem?: string
}

const isAlert = ({ state, severity }: Heard): boolean => state === "firing" && severity !== "info"

const play = async (outage: Outage, world: World): Promise<Row> => {
  const { name, bound } = outage
  const before = world.heard.length
  const alerts = () => world.heard.slice(before).filter(isAlert)
  const began = Date.now()
  await outage.begin(world)
  // The last thing that goes wrong, where several do, is what an alert follows.
  const begun = Date.now()
  if (!(await until(bound + graceSeconds + 30, () => alerts().length > 0))) {
    return { name, bound, problem: "no alert" }
  }
  const first = alerts()[0]!
  const alertSeconds = (first.at - (first.at < begun ? began : begun)) / 1_000
  const found = { name, bound, alertSeconds, text: `${first.severity} ${first.kind} ${first.subject}: ${first.detail}` }
  const problems: Array<string> = []
  if (alertSeconds > bound + graceSeconds) problems.push("late")
  if (!outage.cause.test(first.detail)) problems.push("wrong cause")
  const rule = await ruleFired(outage, world, began)
  if (rule?.endsWith("not fired") === true) problems.push(rule)
  const row = { ...found, ...(rule === undefined ? {} : { rule }) }
  await sleep(2_000)
  const mended = Date.now()
  try {
    const did = await outage.mend(world, first)
    const isOver = ({ state, resolves }: Heard) =>
      state === "resolved" && resolves?.some((key) => key === first.key) === true
    const over = () => world.heard.slice(before).find(isOver)
    if (!(await until(outage.mendSeconds ?? 120, () => over() !== undefined))) problems.push("no all-clear")
    const isHealthy = async () => (await world.run("status", "--fail")).code === 0
    if (!(await until(150, isHealthy))) problems.push(`still: ${(await world.run("status")).out.split("\n")[0]}`)
    const others = alerts()
      .slice(1)
      .map(({ severity, kind, subject, detail }) => `${severity} ${kind} ${subject}: ${detail}`)
    const at = over()?.at
    const clear = at === undefined ? {} : { mendSeconds: (at - mended) / 1_000 }
    return { ...row, did, others, ...clear, ...problemOf(problems) }
  } catch (error) {
    return { ...row, ...problemOf([...problems, String(error)]) }
  }
}

/** Waits for the outage's rule of Prometheus. */
const ruleFired = async ({ rule }: Outage, { monitoring }: World, began: number): Promise<string | undefined> => {
  if (rule === undefined || monitoring === undefined) return undefined
  const [name, seconds] = rule
  const isFired = await until((began - Date.now()) / 1_000 + seconds + graceSeconds, () => monitoring.fired.has(name))
  return isFired ? `${name} ${((monitoring.fired.get(name)! - began) / 1_000).toFixed(0)}` : `${name} not fired`
}

const problemOf = (problems: ReadonlyArray<string>) => (problems.length === 0 ? {} : { problem: problems.join("; ") })

const played = async (outage: Outage, dir: string): Promise<Row> => {
  let world: World | undefined
  try {
    world = await makeWorld(dir, outage.plan ?? {}, isMonitored)
    return await play(outage, world)
  } catch (error) {
    return { name: outage.name, bound: outage.bound, problem: String(error) }
  } finally {
    await world?.end()
  }
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ")
const lineOf = ({ name, bound, alertSeconds, text, rule, did, mendSeconds, problem }: Row): string =>
  `| ${[
    name,
    `${alertSeconds?.toFixed(0) ?? "-"} (${bound})`,
    text ?? "-",
    rule ?? "-",
    did ?? "-",
    mendSeconds?.toFixed(0) ?? "-",
    problem ?? "yes",
  ]
    .map(cell)
    .join(" | ")} |`

const usage = "usage: node test/proof/outages/main.ts [--only TEXT] [--lanes N] [--keep]"
const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    lanes: { type: "string", default: "4" },
    keep: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
})
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const isMonitored = canMonitor()
if (!isMonitored) console.error("no prometheus and prometheus-alertmanager: their rules are skipped")
const dir = realpathSync(mkdtempSync(join(tmpdir(), "cofferer-outages-")))
const queue = outages.filter(({ name }) => name.includes(values.only)).map((outage, n) => ({ outage, n }))
const rows: Array<Row> = []
const lane = async () => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const row = await played(next.outage, join(dir, String(next.n)))
    rows.push(row)
    console.log(lineOf(row))
    for (const other of row.others ?? []) console.error(`  also, ${row.name}: ${other}`)
  }
}
await Promise.all(Array.from({ length: Number(values.lanes) }, lane))
console.log(
  "\n| outage | seconds to the alert (bound) | its text | rule of Prometheus, seconds | remedy followed | seconds to the all-clear | worked |",
)
console.log("|---|--:|---|---|---|--:|---|")
for (const { name } of outages) for (const row of rows) if (row.name === name) console.log(lineOf(row))
const failed = rows.filter(({ problem }) => problem !== undefined).length
console.log(`${rows.length} outages, ${failed} failed`)
if (!values.keep) rmSync(dir, { recursive: true, force: true })
process.exitCode = failed === 0 ? 0 : 1
