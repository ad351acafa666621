import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import type { View } from "../../src/status/View.ts"
import { get, type Line, root, start } from "../support/Cofferer.ts"
import { busySandbox } from "../support/fastSandbox.ts"
import { canLimit, canMount, limitedDisk, mountedDisk, type Started } from "../support/SmallDisk.ts"
import { inTime, waitUntil } from "../support/until.ts"

const dir = mkdtempSync(join(tmpdir(), "cofferer-space-"))
const reserve = publicKeyOf("first-minute", "reserve")

/** The demonstration, quick, and with a spender that keeps it paying. */
const text = (url: string) => busySandbox(url)

/** The lines of a process, past and to come. */
const linesOf = ({ stdout, exit }: Started) => {
  const lines: Array<Line> = []
  const waiting: Array<() => void> = []
  let rest = ""
  stdout.on("data", (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split("\n")
    rest = parts.pop() ?? ""
    lines.push(...parts.map((part) => JSON.parse(part) as Line))
    for (const look of waiting) look()
  })
  const line = (accept: (line: Line) => boolean, after = 0): Promise<Line> =>
    inTime("a line of the daemon", lineOf(accept, after), 120_000)
  const lineOf = (accept: (line: Line) => boolean, after: number) =>
    new Promise<Line>((resolve, reject) => {
      exit.then((code) => reject(new Error(`ended with ${code}: ${JSON.stringify(lines.slice(-5))}`)))
      const look = () => {
        const found = lines.find((one, i) => i >= after && accept(one))
        if (found !== undefined) resolve(found)
      }
      waiting.push(look)
      look()
    })
  return { lines, line }
}

const heightOf = async (url: string): Promise<number> =>
  Number((JSON.parse((await get(`${url}/blockchain/height`)).body) as { height: string }).height)

const paidOn = async (url: string): Promise<number> => {
  const { executed } = JSON.parse((await get(`${url}/sandbox/ledger`)).body) as {
    executed: ReadonlyArray<{ readonly party: string; readonly code: number }>
  }
  return executed.filter(({ party, code }) => party === reserve && code === 0).length
}

describe("a disk without room", () => {
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  const mounts = canMount(join(dir, "probe"))
  const disks: ReadonlyArray<readonly [string, string | undefined, typeof limitedDisk | typeof mountedDisk]> = [
    ["for one process", canLimit() ? undefined : "needs prlimit", limitedDisk],
    ["that is full", mounts ? undefined : "needs unshare that may mount", mountedDisk],
  ]

  it.for(disks)(
    "%s halts with one page, and the daemon pays again once there is space",
    { timeout: 180_000 },
    async ([, lacks, open], { skip }) => {
      skip(lacks !== undefined, lacks)
      const own = mkdtempSync(join(dir, "disk-"))
      const file = join(own, "treasury.yaml")
      writeFileSync(file, text("http://127.0.0.1:1"))
      const network = start(["sandbox", file, "--data", join(own, "network"), "--output", "json"], { cwd: own })
      const url = String((await network.line((line) => line["msg"] === "sandbox"))["url"])
      writeFileSync(file, text(url))
      const disk = await open(join(own, "disk"))
      const data = join(disk.dir, "data")
      disk.take(join(own, "network"), "data")
      const env = { COFFERER_LISTEN: "127.0.0.1:0" }
      const launcher = join(root, "src/cofferer.sh")
      const daemon = disk.start(`sh ${launcher} run ${file} --data ${data} --output json`, env)
      try {
        const { lines, line } = linesOf(daemon)
        const page = String((await line(({ msg }) => msg === "page"))["url"])
        await line(({ msg }) => msg === "confirmed")
        const full = lines.length
        disk.fill()
        await line(({ msg, subject }) => msg === "ALERT" && subject === "disk_full", full)
        const before = { paid: await paidOn(url), height: await heightOf(url) }
        const height = Effect.promise(() => heightOf(url))
        const hasGrown = Effect.map(height, (now) => now >= before.height + 60)
        await Effect.runPromise(
          waitUntil(
            "sixty blocks",
            hasGrown,
            Effect.promise(() => get(`${page}/metrics`)),
          ),
        )

        const said = lines.slice(full).filter(({ msg }) => !["confirmed", "balance", "accepted"].includes(String(msg)))
        const of = (word: string) => said.filter(({ msg, subject }) => msg === word && subject === "disk_full")
        assert.lengthOf(of("halted"), 1, "one line")
        assert.lengthOf(of("ALERT"), 1, "one page")
        assert.deepStrictEqual(
          said.filter(
            ({ level, cause, msg }) =>
              cause !== undefined || (Number(level) >= 50 && msg !== "halted" && msg !== "ALERT"),
          ),
          [],
          "no traces",
        )
        for (const { detail } of [...of("halted"), ...of("ALERT")])
          assert.include(String(detail), `free space under ${data}`)
        assert.isAtMost(await paidOn(url), before.paid + 1, "nothing is decided any more")
        const view = JSON.parse((await get(`${page}/api/v1/status`)).body) as View
        assert.match(view.sentence.text, /^Halted since .*, disk full: .*it ends by itself/)
        assert.include(view.sentence.text, `free space under ${data}`)
        assert.include(disk.run(`sh ${launcher} status -c ${file} --data ${data}`), `free space under ${data}`)
        const metrics = (await get(`${page}/metrics`)).body
        assert.match(metrics, /cofferer_halted\{[^}]*reason="disk_full"\} 1/)
        assert.match(metrics, /cofferer_store_free_bytes [0-9]/)

        disk.empty()
        await line(({ msg, subject }) => msg === "resumed" && subject === "disk_full", full)
        const again = lines.length
        await line(({ msg }) => msg === "confirmed", again)
        daemon.kill("SIGTERM")
        assert.strictEqual(await daemon.exit, 0)
        assert.include(disk.run(`sh ${launcher} verify -c ${file} --data ${data}`), "journal whole")
      } finally {
        daemon.kill("SIGKILL")
        await daemon.exit
        disk.end()
        await network.stop("SIGKILL")
      }
    },
  )
})
