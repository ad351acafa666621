import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { haltFile } from "../../src/config/files.ts"
import type { IntentView, View } from "../../src/http/View.ts"
import { lockScope } from "../../src/rules/checks/stops.ts"
import { inTime } from "../support/until.ts"
import type { Circumstance } from "./failpoints.ts"
import type { Testimony } from "./judge.ts"
import { type Line, type Process, startProcess } from "./Life.ts"
import { payer, rule, treasuryText } from "./Treasury.ts"
import { testify, undeliveredCount } from "./testify.ts"
import { ask, freePort, type Receiver, startReceiver } from "./wire.ts"

/** How one life of the daemon goes. */
export interface LifePlan {
  /** COFFERER_TEST_KILL of entry.ts; undefined: it dies by the clock alone. */
  readonly kill: string | undefined
  /** Milliseconds after its start at which it is killed; undefined: after `boundMillis`. */
  readonly killAtMillis?: number
  /** Milliseconds after it is up at which it is killed, wherever it is. */
  readonly boundMillis: number
  readonly circumstance?: Circumstance | undefined
  /** It is killed as soon as the payments that it found open are over. */
  readonly untilSettled?: boolean
  readonly env?: Readonly<Record<string, string>>
  readonly nodeArgs?: ReadonlyArray<string>
}

/** failpoint: it died at the step that was meant. clock: it was killed somewhere else. */
export type Death = "failpoint" | "clock"

/** A daemon that is not up by then does not come up. */
const startMillisMax = 20_000
/** From the last fault to the end of the last payment, at most: a proof of absence takes a minute of blocks alone. */
const restMillisMax = 180_000
/** Assets change while a life is stopped: lives that may end with an alert just raised. */
const restLives = 4

/** How the last life goes. */
export interface Rest extends Pick<LifePlan, "nodeArgs"> {
  /** Time for the last payment to end. */
  readonly restMillis?: number
}

/** One network, one data directory, and the daemons that live on it one after the other. */
export interface World {
  readonly dir: string
  readonly dataDir: string
  readonly arm: (faults: ReadonlyArray<object>) => Promise<void>
  readonly live: (plan: LifePlan) => Promise<Death>
  /** A life in which the rule may pay again. Killed once the payments that it found open are over, or its time is. */
  readonly settle: (boundMillis: number) => Promise<void>
  /** Without faults and spenders, until no payment is open or the time for it is over. */
  readonly rest: (how?: Rest) => Promise<void>
  readonly testimony: () => Promise<Testimony>
  readonly close: (keep: boolean) => Promise<void>
}

interface Parts {
  readonly dir: string
  readonly file: string
  readonly dataDir: string
  readonly networkUrl: string
  readonly receiver: Receiver
  /** Intents that daemons told of. */
  readonly told: Set<string>
  /** Keys of payments that a person handed in. */
  readonly asked: Array<string>
  network: Process
}

export const makeWorld = async (): Promise<World> => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "cofferer-crash-")))
  const dataDir = join(dir, "data")
  const file = join(dir, "treasury.yaml")
  mkdirSync(dataDir, { recursive: true })
  const receiver = await startReceiver()
  const networkUrl = `http://127.0.0.1:${await freePort()}`
  writeFileSync(file, treasuryText({ networkUrl, receiverUrl: receiver.url, calm: false }))
  const network = await startNetwork({ dir, file })
  cpSync(join(dir, "network", "sandbox", "keys"), join(dataDir, "sandbox", "keys"), { recursive: true })
  const parts: Parts = { dir, file, dataDir, networkUrl, receiver, told: new Set(), asked: [], network }
  return {
    dir,
    dataDir,
    arm: (faults) => arm(parts, faults),
    live: (plan) => live(parts, plan),
    settle: async (boundMillis) => {
      await arm(parts, [])
      await live(parts, { kill: undefined, boundMillis, untilSettled: true })
    },
    rest: (how) => rest(parts, how ?? {}),
    testimony: async () => {
      const ledger = await ask("GET", { url: `${networkUrl}/sandbox/ledger` })
      return {
        ...(await testify(dataDir, { ledger: ledger.body, party: payer, taken: receiver.taken })),
        told: parts.told,
      }
    },
    close: async (keep) => {
      await stopped(parts.network)
      receiver.close()
      if (!keep) rmSync(dir, { recursive: true, force: true })
    },
  }
}

const startNetwork = async ({ dir, file }: Pick<Parts, "dir" | "file">): Promise<Process> => {
  const args = ["sandbox", file, "--data", join(dir, "network")]
  const network = startProcess({ entry: "src/main.ts", args, cwd: dir })
  const said = await network.line((line) => line["urls"] !== undefined)
  if (said === undefined) throw new Error(`the network did not start: ${network.complaint()}`)
  return network
}

const stopped = async (running: Process): Promise<void> => {
  running.child.kill("SIGTERM")
  await inTime("the end of the network", running.ended, 120_000)
}

const arm = async ({ networkUrl }: Parts, faults: ReadonlyArray<object>): Promise<void> => {
  await ask("DELETE", { url: `${networkUrl}/sandbox/faults` })
  for (const fault of faults) {
    const { status, body } = await ask("POST", { url: `${networkUrl}/sandbox/faults` }, fault)
    if (status !== 200) throw new Error(`no such fault: ${JSON.stringify(fault)}: ${JSON.stringify(body)}`)
  }
}

const startDaemon = (parts: Parts, entry: string, how: Pick<LifePlan, "env" | "nodeArgs">): Process =>
  startProcess({
    entry,
    args: ["run", parts.file, "--data", parts.dataDir],
    cwd: parts.dir,
    env: how.env ?? {},
    nodeArgs: how.nodeArgs ?? [],
    hear: (line) => {
      if (line["msg"] === "payment proposed") parts.told.add(String(line["intent"]))
    },
  })

const isUp = (line: Line): boolean => line["msg"] === "page listening"

const live = async (parts: Parts, plan: LifePlan): Promise<Death> => {
  parts.receiver.isDeaf = plan.circumstance === "deafReceiver"
  const kill = plan.kill === undefined ? {} : { COFFERER_TEST_KILL: plan.kill }
  const daemon = startDaemon(parts, "test/crash/entry.ts", { ...plan, env: { ...plan.env, ...kill } })
  let byClock = false
  const clock = () => {
    byClock = true
    daemon.child.kill("SIGKILL")
  }
  const timers = [setTimeout(clock, plan.killAtMillis ?? startMillisMax)]
  const death = new AbortController()
  const acting = daemon
    .line(isUp)
    .then(async (line) => {
      if (line === undefined) return
      timers.push(setTimeout(clock, plan.boundMillis))
      await act(parts, plan.circumstance, daemon, death.signal)
      if (plan.untilSettled !== true) return
      await settled(parts, death.signal)
      clock()
    })
    .catch((error: unknown) => (death.signal.aborted ? undefined : error))
  const { code, signal } = await daemon.ended
  for (const timer of timers) clearTimeout(timer)
  death.abort()
  const problem = await acting
  if (problem !== undefined) throw problem
  rmSync(haltFile(parts.dataDir), { force: true })
  if (signal === "SIGKILL") return byClock ? "clock" : "failpoint"
  if (plan.circumstance === "stop" && code === 0) return "clock"
  throw new Error(`the daemon ended by itself with ${code ?? signal} (${plan.kill}): ${daemon.complaint()}`)
}

/** The daemon's answer; undefined where it died over it. */
const control = ({ dataDir }: Parts, path: string, body?: unknown) =>
  ask(body === undefined ? "GET" : "POST", { socketPath: join(dataDir, "cofferer.sock"), path }, body).catch(
    () => undefined,
  )

const openOf = async (parts: Parts): Promise<ReadonlyArray<string> | undefined> => {
  const reply = await control(parts, "/api/v1/intents?limit=1000")
  const intents = reply?.body as ReadonlyArray<IntentView> | undefined
  return intents?.filter(({ open }) => open).map(({ id }) => id)
}

/** Until what is open now is over. A person lets a rule go on that locked itself after payments that were lost. */
const settled = async (parts: Parts, signal: AbortSignal): Promise<void> => {
  await control(parts, "/api/v1/resume", { scope: lockScope(rule), reason: "crash run", author: "crash run" })
  const first = await openOf(parts)
  for (let open = first; open?.some((id) => first?.includes(id)) ?? true; open = await openOf(parts)) {
    await sleep(250, undefined, { signal })
  }
}

/** What people do to a daemon that is up. */
const act = async (
  parts: Parts,
  circumstance: Circumstance | undefined,
  daemon: Process,
  signal: AbortSignal,
): Promise<void> => {
  const wait = (millis: number) => sleep(millis, undefined, { signal })
  const scope = { scope: `rule:${rule}`, reason: "crash run", author: "crash run" }
  switch (circumstance) {
    case "haltFile":
      writeFileSync(haltFile(parts.dataDir), "crash run\n")
      await wait(1_000)
      return rmSync(haltFile(parts.dataDir), { force: true })
    case "pause":
      await control(parts, "/api/v1/pause", { ...scope, until: Date.now() + 1_500 })
      await wait(200)
      await control(parts, "/api/v1/resume", scope)
      return
    case "submit":
      parts.asked.push(`crash-${parts.asked.length + 1}`)
      return handIn(parts)
    case "stop":
      await wait(400)
      daemon.child.kill("SIGTERM")
  }
}

/** A person who does not know whether a payment was taken hands it in again under its key. */
const handIn = async (parts: Parts): Promise<void> => {
  for (const idempotencyKey of parts.asked) {
    const transfer = { from: "reserve", to: "hot", asset: "USDT", amount: "1" }
    const reply = await control(parts, "/api/v1/submit", { idempotencyKey, transfer })
    if (reply === undefined) return
    if (reply.status > 201) throw new Error(`a payment was not taken: ${JSON.stringify(reply.body)}`)
    parts.told.add(String((reply.body as { readonly intentId: string }).intentId))
  }
}

const rest = async (parts: Parts, how: Rest): Promise<void> => {
  parts.receiver.isDeaf = false
  await arm(parts, [])
  await stopped(parts.network)
  writeFileSync(parts.file, treasuryText({ networkUrl: parts.networkUrl, receiverUrl: parts.receiver.url, calm: true }))
  parts.network = await startNetwork(parts)
  for (let life = 1; life <= restLives; life++) {
    const isQuiet = await restOnce(parts, how)
    if (!isQuiet || undeliveredCount(parts.dataDir) === 0) return
  }
}

/** True where nothing was open or on its way when the daemon was told to stop. */
const restOnce = async (parts: Parts, how: Rest): Promise<boolean> => {
  const daemon = startDaemon(parts, "src/main.ts", how)
  const up = await daemon.line(isUp)
  await handIn(parts)
  const until = Date.now() + (how.restMillis ?? restMillisMax)
  // What is decided on the last losses comes within a few blocks.
  let quiet = 0
  while (up !== undefined && quiet < 4 && Date.now() < until) {
    await sleep(500)
    const status = await control(parts, "/api/v1/status")
    const view = status?.body as View | undefined
    quiet = view?.alertsPending === 0 && (await openOf(parts))?.length === 0 ? quiet + 1 : 0
  }
  daemon.child.kill("SIGTERM")
  const { code } = await inTime("the end of the daemon", daemon.ended, 120_000)
  if (up === undefined || code !== 0) throw new Error(`the daemon came to no good end: ${code}: ${daemon.complaint()}`)
  return quiet === 4
}
