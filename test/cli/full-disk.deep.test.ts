import { spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { type Daemon, get, root, start } from "../support/Cofferer.ts"
import { busySandbox } from "../support/fastSandbox.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime } from "../support/until.ts"

const dir = tempDir("full")
const file = join(dir, "treasury.yaml")
const reserve = publicKeyOf("first-minute", "reserve")

/** The demonstration, quick, and with a spender that keeps it paying. */
const text = (url: string) => busySandbox(url)

interface Paid {
  readonly hash: string
  readonly party: string
  readonly code: number
}

const paidOn = async (url: string): Promise<ReadonlyArray<Paid>> => {
  const { executed } = JSON.parse((await get(`${url}/sandbox/ledger`)).body) as { executed: ReadonlyArray<Paid> }
  return executed.filter(({ party, code }) => party === reserve && code === 0)
}

describe("a daemon whose files may grow no more", () => {
  let network: Daemon
  let url = ""

  beforeAll(async () => {
    writeFileSync(file, text("http://127.0.0.1:1"))
    network = start(["sandbox", file, "--data", join(dir, "network"), "--output", "json"], { cwd: dir, env: {} })
    url = String((await network.line((line) => line["msg"] === "sandbox"))["url"])
    writeFileSync(file, text(url))
  })

  afterAll(async () => {
    await network.stop("SIGKILL")
  })

  it("sends nothing that it does not keep, and calls people", async () => {
    const data = join(dir, "data")
    cpSync(join(dir, "network"), data, { recursive: true })
    const daemon = spawn(
      "bash",
      ["-c", 'ulimit -f 2000 && exec sh src/cofferer.sh run "$0" --data "$1" --output json', file, data],
      {
        cwd: root,
        env: { PATH: process.env["PATH"] ?? "", COFFERER_LISTEN: "127.0.0.1:0" },
        stdio: ["ignore", "pipe", "ignore"],
      },
    )
    const ended = once(daemon, "exit")
    let said = ""
    const alerted = new Promise<void>((resolve, reject) => {
      daemon.stdout.on("data", (chunk: Buffer) => {
        said += chunk.toString()
        const [full, alert] = ["unwritable", '"msg":"ALERT"']
        if (new RegExp(`${alert}[^\\n]*${full}|${full}[^\\n]*${alert}`).test(said)) resolve()
      })
      daemon.on("exit", (code) => reject(new Error(`ended with ${code}: ${said.slice(-2_000)}`)))
    })
    await inTime("the alert of a full disk", alerted, 120_000)
    assert.notMatch(said, /"reason":"(?:disk_full|store_error)"/, "nothing that could not be stored halts")
    const before = await paidOn(url)
    assert.isAtLeast(before.length, 1, "it paid while it could")
    await fetch(`${url}/sandbox/blocks`, { method: "POST", body: '{ "count": 10 }' })
    const after = await paidOn(url)
    daemon.kill("SIGKILL")
    await inTime("the end of the daemon", ended)

    const db = new DatabaseSync(join(data, "cofferer.db"))
    const stored = new Set(
      db
        .prepare("SELECT hash_bare, hash_prefixed FROM attempts")
        .all()
        .flatMap((row) => Object.values(row)),
    )
    const begun = new Set(
      db
        .prepare("SELECT tx_hash FROM sends")
        .all()
        .flatMap((row) => Object.values(row)),
    )
    db.close()
    for (const { hash } of after) {
      assert.isTrue(stored.has(hash), "the bytes are stored")
      assert.isTrue(begun.has(hash), "the send is stored")
    }
  })
})
