import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Result } from "effect"
import { decodeInputData } from "../../../src/tx/InputData.ts"
import { isSolved } from "../../../src/tx/ProofOfWork.ts"
import { deskText, operatorKey, operatorNames } from "../../support/Operators.ts"
import { head, request } from "../../support/TestClient.ts"
import { until } from "./doors.ts"
import type { Heard, Plan, World } from "./World.ts"

/** Something that goes wrong for real. */
export interface Outage {
  readonly name: string
  readonly plan?: Plan
  /** Seconds to the alert by its documented bound. */
  readonly bound: number
  readonly begin: (world: World) => Promise<void>
  /** What the alert, or the remedy that it names, tells people to do. Returns what was done, in words. */
  readonly mend: (world: World, first: Heard) => Promise<string>
  /** In the text of the first alert. */
  readonly cause: RegExp
  /** Seconds to the all-clear after the remedy, at most. Default 120. */
  readonly mendSeconds?: number
  /** Rule of config/monitoring that fires, and the seconds until a receiver behind Alertmanager has it, at most. */
  readonly rule?: readonly [name: string, seconds: number]
}

const reason = ["--reason", "drill"]

/** Runs a command that the alert has in its text, and fails where it is not there or fails. */
const follow = async (world: World, { detail }: Heard, command: string, ...args: ReadonlyArray<string>) => {
  if (!detail.includes(`cofferer ${command}`))
    throw new Error(`the alert does not name "cofferer ${command}": ${detail}`)
  const { code, out } = await world.run(...command.split(" "), ...args)
  if (code !== 0) throw new Error(`cofferer ${command} exits ${code}: ${out}`)
  return `\`cofferer ${[command, ...args].join(" ")}\``
}

const spend = (world: World) => world.pay("hot", "eve", 20_000n)

/** Follows "cofferer plan", which must name the reason, and does what that asks for. */
const planned = async (world: World, first: Heard, word: RegExp) => {
  if (!first.detail.includes('"cofferer plan')) throw new Error(`no plan in: ${first.detail}`)
  const { out } = await world.run("plan")
  const found = word.exec(out)
  if (found === null) throw new Error(`plan does not say ${word}: ${out}`)
  return `\`cofferer plan\` says "${found[0]}"`
}

/** Sends the newest payment once more, with work of another sender, in the last block of its window. */
const replay = async (world: World) => {
  const { tx } = JSON.parse(world.sent.at(-1)!) as { readonly tx: { readonly inputData: string } }
  const input = decodeInputData(Buffer.from(tx.inputData, "base64"))
  if (Result.isFailure(input)) throw new Error(input.failure)
  const height = Number(input.success.blockHeight)
  const blockHash = world.hashes.get(height) ?? ""
  const tid = "ab".repeat(32)
  let nonce = 0n
  while (!isSolved({ blockHash, tid }, nonce, 4)) nonce++
  const heightNow = async () => (await Effect.runPromise(head(world.client))).height
  await until(40, async () => (await heightNow()) >= height + 19)
  const body = JSON.stringify({ tx: { ...tx, pow: { tid, nonce: String(nonce) } }, type: "TYPE_SYNC" })
  const { text } = await Effect.runPromise(request(world.client, "/transaction", { body }))
  if (!text.includes('"success":true')) throw new Error(`the network takes no replay: ${text}`)
}

const skewed = (name: string, skewMillis: number, gateways: 1 | 3, cause: RegExp): Outage => ({
  name,
  plan: { gateways },
  bound: 90,
  rule: ["CoffererClockSkew", 400],
  begin: (world) => world.fault({ operation: "any", kind: "clock_skew", skewMillis }),
  mend: async (world) => {
    await world.clearFaults()
    return "the clock was set right"
  },
  cause,
})

const receiverFails = (name: string, manner: "hangs" | "is closed"): Outage => ({
  name,
  bound: 70,
  rule: ["CoffererReceiverFails", 240],
  begin: async (world) => {
    await world.receivers.desk.set(manner)
    await world.run("halt", ...reason)
    await world.run("resume", ...reason)
  },
  mend: async (world) => {
    await world.receivers.desk.set("answers")
    return "answers again"
  },
  cause: /desk has not taken/,
})

export const outages: ReadonlyArray<Outage> = [
  {
    name: "kill loop: `kill -9` three times",
    bound: 10,
    begin: async (world) => {
      for (let n = 0; n < 3; n++) {
        await world.stopDaemon("SIGKILL")
        await world.startDaemon()
      }
    },
    mend: async () => "nothing kills it any more",
    cause: /ended 3 times in 15 min without being stopped: killed/,
    mendSeconds: 1_000,
  },
  {
    name: "the only gateway's process killed",
    bound: 60,
    rule: ["CoffererNoGateway", 110],
    begin: (world) => world.stopNetwork().then(() => world.fronts["main"]!.set("is closed")),
    mend: async (world) => {
      await world.startNetwork()
      await world.fronts["main"]!.set("answers")
      return "started again"
    },
    cause: /gateway: main is down.*ECONNREFUSED/,
  },
  {
    name: "one of three gateways: port closed",
    plan: { gateways: 3 },
    bound: 60,
    rule: ["CoffererGatewayDown", 140],
    begin: (world) => world.fronts["b"]!.set("is closed"),
    mend: async (world) => {
      await world.fronts["b"]!.set("answers")
      return "opened again"
    },
    cause: /1 gateway: b is down/,
  },
  {
    name: "quorum lost: two of three hang",
    plan: { gateways: 3 },
    bound: 60,
    begin: async (world) => {
      await world.fronts["a"]!.set("hangs")
      await world.fronts["c"]!.set("hangs")
    },
    mend: async (world) => {
      await world.fronts["a"]!.set("answers")
      await world.fronts["c"]!.set("answers")
      return "answer again"
    },
    cause: /2 gateways: a is down.*2 must agree, and nothing is signed/,
  },
  {
    name: "wrong chain",
    bound: 10,
    rule: ["CoffererHalted", 50],
    begin: (world) => world.fault({ operation: "any", kind: "chain_id_change", chainId: "other-1" }),
    mend: async (world, first) => {
      await world.clearFaults()
      await sleep(5_000)
      return follow(world, first, "resume", ...reason)
    },
    cause: /other-1/,
  },
  {
    name: "stale: the network makes no blocks",
    bound: 90,
    rule: ["CoffererBalancesStale", 230],
    begin: async (world) => {
      await world.stopNetwork()
      await world.startNetwork("1d")
    },
    mend: async (world) => {
      await world.stopNetwork()
      await world.startNetwork()
      return "the node makes blocks again"
    },
    cause: /Balances are .* old, more than 30 s, and no newer block was read/,
  },
  {
    name: "limit used up",
    plan: { line: "1" },
    bound: 70,
    rule: ["CoffererLimitReached", 140],
    begin: spend,
    mend: async (world, first) => {
      const said = await planned(world, first, /limit[^\n]*/)
      writeFileSync(world.file, readFileSync(world.file, "utf8").replace("transfersPer24h: 1 ", "transfersPer24h: 9 "))
      const { code, out } = await world.run("reload", "--allow-weaker", ...reason)
      if (code !== 0) throw new Error(out)
      return `${said}; a larger limit, \`reload --allow-weaker\``
    },
    cause: /Out of band .*hot\/USDT .*keep-hot: limit/,
  },
  {
    name: "quota of the network used up",
    plan: { network: "transfersPerEpoch: 1\n  epochLength: 240s" },
    bound: 70,
    begin: spend,
    mend: (world, first) => planned(world, first, /quota[^\n]*/).then((said) => `${said}; waited for the epoch`),
    cause: /Out of band .*hot\/USDT .*keep-hot: quota/,
    mendSeconds: 330,
  },
  {
    name: "funder short",
    plan: { reserve: "20_000", rule: "onShort: hold" },
    bound: 70,
    begin: spend,
    mend: async (world, first) => {
      const said = await planned(world, first, /short[^\n]*/)
      await world.pay("eve", "reserve", 100_000n)
      return `${said}; sent money to reserve`
    },
    cause: /Out of band .*hot\/USDT .*keep-hot: short/,
  },
  {
    name: "look-ups failing, and no submission arrives",
    bound: 200,
    begin: async (world) => {
      await spend(world)
      for (const operation of ["transfers", "ledgerEntries"]) {
        await world.fault({ operation, kind: "http_status", status: 503 })
      }
      await world.fault({ operation: "submit", kind: "drop_before" })
    },
    mend: async (world) => {
      const manual = () => world.heard.find(({ severity, detail }) => severity === "page" && detail.includes("manual"))
      if (!(await until(200, () => manual() !== undefined))) throw new Error("nobody is called to the payment")
      await world.clearFaults()
      const id = manual()!.subject
      const { code, out } = await world.run("intents", "resolve", id, "--never-executed", ...reason)
      return code === 0
        ? `page: manual; \`cofferer intents resolve ${id} --never-executed\``
        : `page: manual; ended by itself (${out.trim()})`
    },
    cause: /payment \w{4} is unknown/,
  },
  receiverFails("receiver hangs", "hangs"),
  receiverFails("receiver down: port closed", "is closed"),
  {
    name: "disk full",
    plan: { isSmallDisk: true },
    bound: 10,
    rule: ["CoffererStoreNotWritable", 80],
    begin: (world) => world.fillDisk(),
    mend: async (world) => {
      rmSync(world.ballast)
      return "freed space"
    },
    cause: /free space under/,
  },
  skewed(
    "clock 1 h fast, beside three gateways",
    -3_600_000,
    3,
    /This host's clock is (1 h|6\d min|59 min) ahead of the blocks of 3 gateways/,
  ),
  skewed(
    "clock 1 h slow, beside one gateway",
    3_600_000,
    1,
    /This host's clock is (1 h|6\d min|59 min) behind the blocks of gateway main; one of the two/,
  ),
  {
    name: "reload refused",
    bound: 5,
    rule: ["CoffererReloadRefused", 370],
    begin: async (world) => {
      cpSync(world.file, `${world.file}.good`)
      writeFileSync(world.file, "version: 1\nname: 3\n")
      await world.run("reload", ...reason)
    },
    mend: async (world, first) => {
      cpSync(`${world.file}.good`, world.file)
      return follow(world, first, "reload", ...reason)
    },
    cause: /refused/,
  },
  {
    name: "approval lapsing",
    plan: { more: deskText(1, "1m"), line: '100, approval: desk, approvalAbove: "17_000"' },
    bound: 10,
    begin: spend,
    mend: async (world, first) => {
      const isLapsed = await until(100, () => world.heard.some(({ detail }) => detail.includes("the approval lapsed")))
      if (!isLapsed) throw new Error("it does not lapse")
      const file = join(world.dir, "ana")
      writeFileSync(file, keyHex(), { mode: 0o600 })
      const asked = () =>
        world.heard.filter(({ kind, subject }) => kind === "approval" && subject !== first.subject).at(-1)
      if (!(await until(60, () => asked() !== undefined))) throw new Error("it is not asked for anew")
      const id = asked()!.subject
      const { code, out } = await world.run("approve", id, "--key", file)
      if (code !== 0) throw new Error(out)
      return `it lapsed (ticket), the rule decided anew; \`cofferer approve ${id} --key ana\``
    },
    cause: /waits for 1 of ana, ben, chloe/,
  },
  {
    name: "foreign payment",
    bound: 30,
    rule: ["CoffererForeignPayment", 60],
    begin: (world) => world.pay("reserve", "eve", 10n),
    mend: (world, first) => follow(world, first, "adopt", ...reason),
    cause: /key of reserve signed 1 payment .* 10\.00/,
  },
  {
    name: "duplicate execution",
    bound: 30,
    rule: ["CoffererDuplicateExecution", 60],
    begin: replay,
    mend: (world, first) => follow(world, first, "resume", ...reason),
    cause: /twice|2 times|again|more than once/,
  },
  {
    name: "halt by a person",
    bound: 5,
    begin: async (world) => void (await world.run("halt", ...reason)),
    mend: (world, first) => follow(world, first, "resume", ...reason),
    cause: /drill/,
  },
  {
    name: "store restored from an older copy",
    bound: 10,
    rule: ["CoffererHalted", 60],
    begin: async (world) => {
      await world.stopDaemon()
      const copy = join(world.dir, "copy")
      cpSync(world.data, copy, { recursive: true })
      await world.startDaemon()
      const before = world.sent.length
      await spend(world)
      if (!(await until(40, () => world.sent.length > before))) throw new Error("no second payment")
      await sleep(4_000)
      await world.stopDaemon()
      rmSync(world.data, { recursive: true })
      cpSync(copy, world.data, { recursive: true })
      await world.startDaemon()
    },
    mend: (world, first) => follow(world, first, "recover", ...reason),
    cause: /.*/,
  },
]

const keyHex = (): string =>
  Buffer.from(String(operatorKey(operatorNames[0]).key.export({ format: "jwk" }).d), "base64url").toString("hex")
