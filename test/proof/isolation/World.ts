import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, request, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { publicKeyOf } from "../../../src/sandbox/Keys.ts"
import { get, start } from "../../support/Cofferer.ts"
import { callCofferer } from "../../support/CommandLine.ts"
import { networkOf, treasuryFile, treasuryName, writeTreasuries } from "../../support/Treasuries.ts"
import { verdictOf } from "../verdictOf.ts"

/** Blocks a second. */
export const pace = 2
/** A treasury that does what a person asks of it only later is broken. */
const verbMillisMax = 60_000

const listening = (server: Server) =>
  new Promise<string>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })

const bodyOf = async (incoming: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Passes requests on to the network, but those of a key that hangs and of no other. */
const frontOf = (target: string, hangs: (keys: ReadonlyArray<string>) => boolean) =>
  createServer(async (incoming, outgoing) => {
    const body = await bodyOf(incoming)
    const sent = incoming.method === "POST" ? Buffer.from(String(JSON.parse(String(body))["tx"]), "base64") : ""
    if (hangs(`${incoming.url}${sent}`.match(/[0-9a-f]{64}/g) ?? [])) return
    const { method, headers } = incoming
    const onward = request(new URL(incoming.url ?? "/", target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on("error", () => outgoing.destroy())
    onward.end(body)
  })

/** One process with many treasuries on SQLite, each on a small disk of its own, before a network that passes by. */
export const makeWorld = async ({ treasuries, blocks }: Readonly<Record<"treasuries" | "blocks", number>>) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-isolation-"))
  const names = Array.from({ length: treasuries }, (_, n) => treasuryName(n))
  const keys = new Map(names.map((name) => [publicKeyOf("many", `${name}-reserve`) as string, name]))
  // One a second, each treasury's after all the others'.
  const falls = Array.from({ length: Math.floor(blocks / pace) }, (_, n) => ({
    treasury: n % treasuries,
    block: 80 + n * pace,
  }))
  const network = await networkOf(treasuries, falls, `${1_000 / pace}ms`)
  const hanging = { gateway: "", receiver: "" }
  const front = frontOf(network.url, (found) => {
    const named = new Set(found.flatMap((key) => keys.get(key) ?? []))
    return named.size === 1 && named.has(hanging.gateway)
  })
  const receivers = createServer(async (incoming, outgoing) => {
    await bodyOf(incoming)
    if (incoming.url !== `/${hanging.receiver}`) outgoing.end()
  })
  const [url, receiverUrl] = await Promise.all([listening(front), listening(receivers)])
  writeTreasuries(dir, treasuries, url, { poll: "1s" })
  const fileOf = (name: string) => join(dir, `${name}.yaml`)
  const dataOf = (name: string) => join(dir, ".data", name)
  mkdirSync(join(dir, ".data"), { mode: 0o700 })
  for (const name of names) {
    const more = `alerts: { receivers: { desk: { webhook: { url: "${receiverUrl}/${name}", allowPrivate: true } } } }`
    writeFileSync(fileOf(name), treasuryFile(name, url, { poll: "1s", more }))
    mkdirSync(dataOf(name), { mode: 0o700 })
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m,mode=700", "tmpfs", dataOf(name)])
  }
  const texts = new Map(names.map((name) => [name, readFileSync(fileOf(name), "utf8")]))
  const daemon = start(["run", dir, "--output", "json"], { cwd: dir })
  const ledger = async () => JSON.parse((await get(`${network.url}/sandbox/ledger`)).body)
  const executed = async (): Promise<ReadonlyArray<Record<string, unknown>>> =>
    (await ledger()).executed.filter((tx: { code: number; party: string }) => tx.code === 0 && keys.has(tx.party))
  return {
    names,
    daemon,
    hanging,
    falls,
    fileOf,
    dataOf,
    keyFileOf: (name: string) => join(dir, "keys", `${name}-reserve`),
    textOf: (name: string) => texts.get(name)!,
    calm: network.calm,
    height: async () => Number((await ledger()).height),
    /** Blocks in which the payments of each treasury were executed. */
    paid: async () => {
      const heights = new Map<string, Array<number>>(names.map((name) => [name, []]))
      for (const { party, height } of await executed()) heights.get(keys.get(String(party))!)!.push(Number(height))
      return heights
    },
    /** Lets the process read its folder again. */
    hangUp: () => daemon.child.kill("SIGHUP"),
    /** Waits for a log line of a treasury that comes after now. */
    next: (name: string, ...msgs: ReadonlyArray<string>) => {
      const from = daemon.lines.length
      return daemon.line(
        (line) => line["treasury"] === name && msgs.includes(String(line["msg"])) && daemon.lines.indexOf(line) >= from,
      )
    },
    /** Runs a verb on a treasury, again while it fails: it may still start. Fails where it does not succeed. */
    call: async (name: string, ...verb: ReadonlyArray<string>) => {
      for (const end = Date.now() + verbMillisMax; ; await sleep(1_000)) {
        const { code, stderr } = await callCofferer([...verb, "-c", dir, "--treasury", name])
        if (code === 0) return
        if (Date.now() > end) throw new Error(`${name}: ${verb.join(" ")} ended with ${code}: ${stderr}`)
      }
    },
    /** Stops the process, and judges every treasury by its rows and the ledger. */
    verdict: async () => {
      await daemon.stop()
      const all = await executed()
      const verdicts = []
      for (const name of names) {
        const db = new DatabaseSync(join(dataOf(name), "cofferer.db"))
        const rows = (sql: string) =>
          db
            .prepare(sql.replace("$", "1"))
            .all()
            .map((row) => Object.values(row))
        const own = all.filter((tx) => keys.get(String(tx["party"])) === name)
        const { lines } = daemon
        const of = { name, rows, lines, executed: own.map((tx) => String(tx["transferId"])) }
        verdicts.push({ name, verdict: await verdictOf(of) })
        db.close()
      }
      return verdicts.flatMap(({ name, verdict }) =>
        [...verdict.lost, ...verdict.duplicate].map((text) => `${name}: ${text}`),
      )
    },
    close: async () => {
      await daemon.stop("SIGKILL")
      for (const server of [front, receivers]) {
        server.close()
        server.closeAllConnections()
      }
      await network.stop()
      // A process that was killed may take a moment to let go.
      await sleep(200)
      for (const name of names) execFileSync("umount", ["-l", dataOf(name)])
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export type World = Awaited<ReturnType<typeof makeWorld>>
