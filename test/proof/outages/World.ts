import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, writeFileSync } from "node:fs"
import { open } from "node:fs/promises"
import { request as httpRequest } from "node:http"
import { join } from "node:path"
import { Effect } from "effect"
import type { View } from "../../../src/http/View.ts"
import { publicKeyOf } from "../../../src/sandbox/Keys.ts"
import { cofferer, type Daemon, start } from "../../support/Cofferer.ts"
import { head, payment, request, signed, submit, type TestClient } from "../../support/TestClient.ts"
import { one, usdt } from "../../support/TestSandbox.ts"
import { type Answer, type Door, freePort, openDoor, until } from "./doors.ts"
import { type Monitoring, monitor } from "./Monitoring.ts"

/** A message that a receiver took. */
export interface Heard {
  /** Milliseconds of this process. */
  readonly at: number
  readonly receiver: string
  readonly key: string
  readonly state: "firing" | "resolved" | "event"
  readonly severity: string
  readonly kind: string
  readonly subject: string
  readonly detail: string
  readonly resolves?: ReadonlyArray<string>
}

const passOn = (url: string, method: string, path: string, body: string) =>
  new Promise<Answer>((resolve, reject) => {
    const passed = httpRequest(`${url}${path}`, { method, agent: false, timeout: 10_000 }, (answer) => {
      let text = ""
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString()
      })
      answer.on("end", () => {
        const { "content-length": _, "transfer-encoding": __, connection: ___, ...headers } = answer.headers
        resolve({ status: answer.statusCode ?? 502, headers, body: text })
      })
    })
    passed.on("error", reject)
    passed.on("timeout", () => passed.destroy())
    passed.end(body)
  })

const seed = "drill"
const key = (name: string) => publicKeyOf(seed, name)

/** What a drill's files have besides the usual. */
export interface Plan {
  readonly gateways?: 1 | 3
  /** Keys of the policy's line. */
  readonly line?: string
  /** Keys of the rule. */
  readonly rule?: string
  /** More top-level lines. */
  readonly more?: string
  readonly reserve?: string
  /** Keys of the network. */
  readonly network?: string
  /** The data directory has 48 MiB of its own, and needs a root that may mount. */
  readonly isSmallDisk?: true
}

const treasuryText = (
  plan: Plan,
  urls: Readonly<Record<string, string>>,
  receivers: Readonly<Record<string, string>>,
  daemonPort: number,
) => {
  const pairs = (of: Readonly<Record<string, string>>, form: (url: string) => string) =>
    Object.entries(of)
      .map(([name, url]) => `${name}: ${form(url)}`)
      .join(", ")
  return `version: 1
name: drill
mode: live
network: { chainId: drill-1, gateways: { ${pairs(urls, (url) => `"${url}"`)} }, requestDeadline: 2s, poll: { busy: 1s, idle: 1s } }
assets: { USDT: { id: ${usdt}, decimals: 6 } }
parties:
  reserve: { publicKey: "${key("reserve")}", signer: { sandbox: reserve } }
  hot: { publicKey: "${key("hot")}" }
rules:
  - name: keep-hot
    topUp: { from: reserve, levels: [{ party: hot, asset: USDT, below: "10_000", target: "25_000" }] }
    ${plan.rule ?? ""}
    for: 1s
    cooldown: 5s
policy:
  allow:
    - { from: reserve, to: [hot], asset: USDT, perTransfer: "25_000", per24h: "1_000_000", transfersPer24h: ${plan.line ?? "100"} }
alerts:
  receivers: { ${pairs(receivers, (url) => `{ webhook: { url: "${url}" } }`)} }
  routes: [{ severity: [page], to: [desk] }, { severity: [ticket, info], to: [office] }]
daemon: { listen: "127.0.0.1:${daemonPort}" }
${plan.more ?? ""}
`
}

const networkText = (plan: Plan, port: number, blockInterval: string) => `version: 1
name: drill
network: { chainId: drill-1, gateways: { main: "http://127.0.0.1:${port}" } }
sandbox:
  seed: ${seed}
  listen: "127.0.0.1:${port}"
  profile: "0.75"
  blockInterval: ${blockInterval}
  rateLimit: off
  pow: { difficulty: 4, pastBlocks: 20, txPerBlock: 2, increaseDifficulty: true }
  ${plan.network ?? "transfersPerEpoch: 1000"}
  parties: [reserve, hot, eve]
  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }
  deposits:
    - { party: hot, asset: USDT, amount: "9_000" }
    - { party: eve, asset: USDT, amount: "1_000_000" }
    - { party: reserve, asset: USDT, amount: "${plan.reserve ?? "1_000_000"}" }
`

/** A daemon, its network, what stands between them, and who is alerted: all real processes and sockets. */
export interface World {
  readonly dir: string
  readonly file: string
  readonly data: string
  readonly client: TestClient
  readonly heard: ReadonlyArray<Heard>
  readonly monitoring: Monitoring | undefined
  readonly fronts: Readonly<Record<string, Door>>
  readonly receivers: Readonly<Record<"desk" | "office", Door>>
  /** Bodies of transactions that the daemon sent and the network accepted, and hashes of blocks by their heights. */
  readonly sent: ReadonlyArray<string>
  readonly hashes: ReadonlyMap<number, string>
  readonly startDaemon: () => Promise<void>
  readonly stopDaemon: (signal?: NodeJS.Signals) => Promise<void>
  readonly stopNetwork: () => Promise<void>
  readonly startNetwork: (blockInterval?: string) => Promise<void>
  readonly fault: (fault: Readonly<Record<string, unknown>>) => Promise<void>
  readonly clearFaults: () => Promise<void>
  /** Pays in whole USDT past the daemon. */
  readonly pay: (from: string, to: string, amount: bigint) => Promise<void>
  /** The command line, as an operator runs it. */
  readonly run: (...args: ReadonlyArray<string>) => Promise<{ readonly code: number | null; readonly out: string }>
  /** Takes what is left of the disk, by a file. */
  readonly fillDisk: () => Promise<void>
  readonly ballast: string
  readonly end: () => Promise<void>
}

export const makeWorld = async (dir: string, plan: Plan, isMonitored: boolean): Promise<World> => {
  const heard: Array<Heard> = []
  const sent: Array<string> = []
  const hashes = new Map<number, string>()
  const port = await freePort()
  const daemonPort = await freePort()
  const networkUrl = `http://127.0.0.1:${port}`
  const receiver = (name: string) =>
    openDoor(async (_, __, body) => {
      heard.push({ ...(JSON.parse(body) as Heard), at: Date.now(), receiver: name })
      return { status: 204, body: "" }
    })
  const front = () =>
    openDoor(async (method, path, body) => {
      const answer = await passOn(networkUrl, method, path, body)
      const told = JSON.parse(answer.body || "{}") as { height?: string; hash?: string; success?: boolean }
      if (path === "/transaction" && told.success === true) sent.push(body)
      if (path.startsWith("/blockchain/height")) hashes.set(Number(told.height), String(told.hash))
      return answer
    })
  const receivers = { desk: await receiver("desk"), office: await receiver("office") }
  const names = plan.gateways === 3 ? ["a", "b", "c"] : ["main"]
  const fronts: Record<string, Door> = {}
  for (const name of names) fronts[name] = await front()
  const urls = (of: Readonly<Record<string, Door>>) =>
    Object.fromEntries(Object.entries(of).map(([name, { url }]) => [name, url]))
  const file = join(dir, "treasury.yaml")
  const networkFile = join(dir, "network.yaml")
  const disk = join(dir, "disk")
  const data = join(disk, "data")
  const ballast = join(disk, "ballast")
  mkdirSync(disk, { recursive: true })
  if (plan.isSmallDisk === true) execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", disk])
  writeFileSync(file, treasuryText(plan, urls(fronts), urls(receivers), daemonPort))
  const monitoring = isMonitored ? await monitor(join(dir, "monitoring"), daemonPort) : undefined
  const client = { url: networkUrl, chainId: "drill-1", seed }
  let network: Daemon | undefined
  let daemon: Daemon | undefined
  const world: World = {
    dir,
    file,
    data,
    client,
    heard,
    monitoring,
    fronts,
    receivers,
    sent,
    hashes,
    startNetwork: async (blockInterval = "1s") => {
      writeFileSync(networkFile, networkText(plan, port, blockInterval))
      network = start(["sandbox", networkFile, "--data", join(dir, "network")], { cwd: dir })
      await network.line((line) => line["urls"] !== undefined)
    },
    stopNetwork: async () => void (await network?.stop("SIGKILL")),
    startDaemon: async () => {
      daemon = start(["run", file, "--data", data], { cwd: dir })
      await daemon.line(({ msg }) => msg === "page listening")
    },
    stopDaemon: async (signal = "SIGTERM") => void (await daemon?.stop(signal)),
    fault: async (fault) =>
      void (await Effect.runPromise(request(client, "/sandbox/faults", { body: JSON.stringify(fault) }))),
    clearFaults: async () => void (await Effect.runPromise(request(client, "/sandbox/faults", { method: "DELETE" }))),
    pay: async (from, to, amount) => {
      const command = payment(client, to, amount * one, { asset: usdt })
      const draft = Effect.map(head(client), (block) => signed(client, { from, command, ...block }))
      await Effect.runPromise(Effect.flatMap(draft, (tx) => submit(client, tx)))
    },
    run: async (...args) => {
      const { code, stdout, stderr } = await cofferer([...args, "-c", file, "--data", data])
      return { code, out: code === 0 ? stdout : `${stdout}${stderr}` }
    },
    ballast,
    fillDisk: async () => {
      const file = await open(ballast, "a")
      const block = Buffer.alloc(4_096)
      // It ends where nothing is left.
      for (let isFull = false; !isFull; )
        isFull = await file.write(block).then(
          () => false,
          () => true,
        )
      await file.close()
    },
    end: async () => {
      await daemon?.stop("SIGKILL")
      await network?.stop("SIGKILL")
      await monitoring?.end()
      if (plan.isSmallDisk === true) execFileSync("umount", [disk])
      for (const door of [...Object.values(fronts), ...Object.values(receivers)]) await door.close()
    },
  }
  try {
    await begin(world)
    return world
  } catch (error) {
    await world.end()
    throw error
  }
}

/** Ends once the first payment is made and nothing is wrong. */
const begin = async (world: World): Promise<void> => {
  const { dir, data } = world
  await world.startNetwork()
  const keys = join(dir, "network", "sandbox", "keys")
  mkdirSync(data, { mode: 0o700 })
  cpSync(keys, join(data, "sandbox", "keys"), { recursive: true })
  await world.startDaemon()
  const isReady = async () => {
    const { code, out } = await world.run("status", "--fail", "--output", "json")
    if (code !== 0) return false
    const view = JSON.parse(out) as Pick<View, "accounts" | "intents">
    return view.intents[0]?.state === "confirmed" && view.accounts.every(({ inBand }) => inBand)
  }
  if (!(await until(90, isReady))) throw new Error("the treasury does not become healthy")
}
