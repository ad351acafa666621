import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Reconciled } from "../../../src/http/ledgerVerbs.ts"
import type { View } from "../../../src/http/View.ts"
import { databaseFile } from "../../../src/store/database/Database.ts"
import { type Dice, makeDice } from "../../support/Dice.ts"
import { inTime } from "../../support/until.ts"
import { type Process, startProcess } from "../Life.ts"
import { ask, freePort } from "../wire.ts"
import { compareRows, type RowVerdict, rowsOfLedger, rowsOfStore } from "./compareRows.ts"
import { readFaults } from "./readFaults.ts"
import { quietBlocks, readsTreasury, watchedKeys, watchedNames } from "./traffic.ts"

export interface ReadsRun {
  /** Blocks and kills of the run without faults; those with a fault have a fifth of the blocks, 3 kills in 20. */
  readonly blocks: number
  readonly kills: number
  readonly seed: string
  /** Names of read faults. */
  readonly faults: ReadonlyArray<string>
  readonly say: (text: string) => void
}

/** What one part of the run came to. */
export interface ReadsPart extends RowVerdict {
  /** The fault that was armed all the time; "none". */
  readonly name: string
  readonly kills: number
}

const blockMillis = 50
const upMillisMax = 20_000
/** From the last block of the traffic to the last row. */
const settleMillisMax = 120_000

interface Part {
  readonly name: string
  readonly blocks: number
  readonly kills: number
  readonly dice: Dice
}

/** Reads of a daemon that dies again and again, of a network in each kind of trouble. */
export const readsRun = async (run: ReadsRun): Promise<ReadonlyArray<ReadsPart>> => {
  const parts: Array<ReadsPart> = []
  for (const name of ["none", ...run.faults]) {
    const [blocks, kills] =
      name === "none"
        ? [run.blocks, run.kills]
        : [Math.max(1, Math.round(run.blocks / 5)), Math.max(1, Math.round((run.kills * 3) / 20))]
    const part = await playPart({ name, blocks, kills, dice: makeDice(`reads ${run.seed} ${name}`) })
    const { rows, missing, duplicate, wrong } = part
    run.say(
      `${name}: ${blocks} blocks, kills ${kills}, rows ${rows} missing ${missing} duplicate ${duplicate} wrong ${wrong}`,
    )
    parts.push(part)
  }
  return parts
}

interface Places {
  readonly dir: string
  readonly file: string
  readonly dataDir: string
  readonly networkUrl: string
}

const playPart = async (part: Part): Promise<ReadsPart> => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "cofferer-reads-")))
  const networkUrl = `http://127.0.0.1:${await freePort()}`
  const places: Places = { dir, file: join(dir, "treasury.yaml"), dataDir: join(dir, "data"), networkUrl }
  mkdirSync(places.dataDir)
  const treasury = readsTreasury(networkUrl, part.blocks, part.dice)
  writeFileSync(places.file, treasury.text)
  let isSound = false
  let network: Process | undefined
  const lives: Array<Process> = []
  try {
    network = await startNetwork(places)
    const after = await open(places, lives)
    await armFault(places, part.name)
    const steps = makeBlocks(places, part.blocks)
    await Promise.all([steps, killAll(places, part, lives)])
    await ask("DELETE", { url: `${networkUrl}/sandbox/faults` })
    await settle(places, quietBlocks + part.blocks)
    if (part.name === "stale_read") await rebase(places)
    await reconcile(places)
    await stop(lives.at(-1))
    await stop(network)
    const extent = { parties: watchedKeys, after }
    const ledger = rowsOfLedger(join(dir, "network", "sandbox", "ledger.db"), extent)
    if (ledger.length !== treasury.rows) throw new Error(`the network made ${ledger.length} rows, not ${treasury.rows}`)
    const verdict = compareRows(ledger, rowsOfStore(join(places.dataDir, databaseFile), extent))
    isSound = verdict.missing + verdict.duplicate + verdict.wrong === 0
    return { ...verdict, name: part.name, kills: part.kills }
  } finally {
    for (const { child, ended } of [...lives, ...(network === undefined ? [] : [network])]) {
      child.kill("SIGKILL")
      await ended
    }
    if (isSound) rmSync(dir, { recursive: true, force: true })
    else console.error(`kept: ${dir}`)
  }
}

const startNetwork = async ({ dir, file }: Places): Promise<Process> => {
  const args = ["sandbox", file, "--data", join(dir, "network")]
  const network = startProcess({ entry: "src/main.ts", args, cwd: dir })
  const said = await network.line((line) => line["urls"] !== undefined)
  if (said === undefined) throw new Error(`the network did not start: ${network.complaint()}`)
  return network
}

const startDaemon = ({ dir, file, dataDir }: Places): Process =>
  startProcess({ entry: "src/main.ts", args: ["run", file, "--data", dataDir], cwd: dir })

/** The first life of the daemon, until it knows the balances. Returns the time of the newest block then. */
const open = async (places: Places, lives: Array<Process>): Promise<bigint> => {
  const { height } = await ledgerOf(places)
  if (height < quietBlocks) await step(places, quietBlocks - height)
  const daemon = startDaemon(places)
  lives.push(daemon)
  const until = Date.now() + upMillisMax
  while (typeof (await statusOf(places))?.ageSeconds !== "number") {
    if (Date.now() > until) throw new Error(`the daemon read no balance: ${daemon.complaint()}`)
    await sleep(50)
  }
  return BigInt((await ledgerOf(places)).time)
}

const ledgerOf = async ({ networkUrl }: Places) =>
  (await ask("GET", { url: `${networkUrl}/sandbox/ledger` })).body as { readonly height: number; readonly time: string }

/** The daemon's answer; undefined where none listens. */
const control = ({ dataDir }: Places, method: "GET" | "POST", path: string, body: object = {}) =>
  // A comparison of all that was ever read takes its time.
  ask(
    method,
    { socketPath: join(dataDir, "cofferer.sock"), path },
    method === "POST" ? body : undefined,
    settleMillisMax,
  ).catch(() => undefined)

const statusOf = async (places: Places): Promise<View | undefined> => {
  const reply = await control(places, "GET", "/api/v1/status")
  return reply?.status === 200 ? (reply.body as View) : undefined
}

const step = async ({ networkUrl }: Places, count: number): Promise<void> => {
  const { status, body } = await ask("POST", { url: `${networkUrl}/sandbox/blocks` }, { count })
  if (status !== 200) throw new Error(`no block was made: ${JSON.stringify(body)}`)
}

const armFault = async ({ networkUrl }: Places, name: string): Promise<void> => {
  const fault = readFaults[name]
  if (fault === undefined) return
  const { status, body } = await ask("POST", { url: `${networkUrl}/sandbox/faults` }, fault)
  if (status !== 200) throw new Error(`no such fault: ${name}: ${JSON.stringify(body)}`)
}

/** Twenty blocks a second, late ones at once. */
const makeBlocks = async (places: Places, blocks: number): Promise<void> => {
  const began = performance.now()
  for (let n = 0; n < blocks; n++) {
    await sleep(Math.max(0, began + n * blockMillis - performance.now()))
    await step(places, 1)
  }
}

/** Lives of random length, one after the other, while blocks are made; the last one lives on. */
const killAll = async (places: Places, { blocks, kills, dice }: Part, lives: Array<Process>): Promise<void> => {
  const end = performance.now() + blocks * blockMillis
  for (let left = kills; left > 0; left--) {
    const share = Math.max(500, end - performance.now()) / (left + 0.5)
    await sleep(share * (0.2 + 1.6 * dice.next()))
    await kill(lives.at(-1))
    lives.push(startDaemon(places))
  }
}

const kill = async (daemon: Process | undefined): Promise<void> => {
  daemon?.child.kill("SIGKILL")
  const end = await daemon?.ended
  if (end?.signal !== "SIGKILL") throw new Error(`the daemon ended by itself: ${end?.code}: ${daemon?.complaint()}`)
}

const stop = async (running: Process | undefined): Promise<void> => {
  running?.child.kill("SIGTERM")
  const end = running && (await inTime("the end of a process", running.ended, 120_000))
  if (end?.code !== 0) throw new Error(`a process came to no good end: ${end?.code}: ${running?.complaint()}`)
}

/** Makes blocks without traffic until the daemon has read beyond the last one with any. */
const settle = async (places: Places, height: number): Promise<void> => {
  const until = Date.now() + settleMillisMax
  for (;;) {
    const status = await statusOf(places)
    if (status !== undefined && Number(status.height) >= height) return
    if (Date.now() > until) throw new Error(`the daemon read up to block ${status?.height}, not ${height}`)
    await step(places, 1)
    await sleep(100)
  }
}

/** A person asks, once the trouble is over, until all was compared. */
const reconcile = async (places: Places): Promise<void> => {
  const until = Date.now() + settleMillisMax
  for (;;) {
    const asked = control(places, "POST", "/api/v1/reconcile")
    // It waits for newer blocks.
    const [reply] = await Promise.all([asked, stepUntil(places, asked)])
    const found = reply?.status === 200 ? (reply.body as Reconciled) : undefined
    if (found !== undefined && found.accounts !== null && found.differences.length === 0) return
    if (Date.now() > until) throw new Error(`the daemon is not at one with the network: ${JSON.stringify(reply?.body)}`)
  }
}

/** An answer that leaves out rows without a word is made good by a person alone. */
const rebase = async (places: Places): Promise<void> => {
  const until = Date.now() + settleMillisMax
  const accounts = watchedNames.flatMap((party) => ["USDT", "VEGA"].map((asset) => ({ party, asset })))
  for (let done = 0; done < accounts.length; ) {
    const words = { ...accounts[done], reason: "rows were left out", author: "crash" }
    const reply = await control(places, "POST", "/api/v1/balances/rebase", words)
    // Not each of them has both assets.
    if (reply?.status === 200 || reply?.status === 404) {
      done++
      continue
    }
    if (Date.now() > until) throw new Error(`no account begins anew: ${JSON.stringify(reply?.body)}`)
    await sleep(100)
  }
  while (((await statusOf(places))?.backfills.length ?? 1) > 0) {
    if (Date.now() > until) throw new Error("its rows are not read again")
    await sleep(100)
  }
}

const stepUntil = async (places: Places, done: Promise<unknown>) => {
  let isDone = false
  const end = () => {
    isDone = true
  }
  done.then(end, end)
  while (!isDone) {
    await step(places, 1)
    await sleep(100)
  }
}
