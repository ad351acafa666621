import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import type { View } from "../../src/http/View.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { get, type Line, root, start } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { busySandbox } from "../support/fastSandbox.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { withSandbox } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"
import { inTime, waitUntil } from "../support/until.ts"
import { canLimit, canMount, limitedDisk, mountedDisk, type SmallDisk, type Started } from "./SmallDisk.ts"

const dir = tempDir("space")
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

/** Hashes of the payments that executed. */
const paidOn = async (url: string): Promise<ReadonlyArray<string>> => {
  const { executed } = JSON.parse((await get(`${url}/sandbox/ledger`)).body) as {
    executed: ReadonlyArray<{ readonly hash: string; readonly party: string; readonly code: number }>
  }
  return executed.filter(({ party, code }) => party === reserve && code === 0).map(({ hash }) => hash)
}

/** All texts in columns of a store. */
const storedIn = (data: string, query: string): ReadonlySet<unknown> => {
  const db = new DatabaseSync(join(data, "cofferer.db"))
  try {
    return new Set(
      db
        .prepare(query)
        .all()
        .flatMap((row) => Object.values(row)),
    )
  } finally {
    db.close()
  }
}

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status

type Open = typeof limitedDisk | typeof mountedDisk

/** A network, and a daemon on a disk of its own. `before` is done to the disk before the daemon starts. */
const onDisk = async (open: Open, before: (disk: SmallDisk) => void, use: (running: Running) => Promise<void>) => {
  const own = mkdtempSync(join(dir, "disk-"))
  const file = join(own, "treasury.yaml")
  writeFileSync(file, text("http://127.0.0.1:1"))
  const network = start(["sandbox", file, "--data", join(own, "network"), "--output", "json"], { cwd: own })
  const url = urlOf(await network.line((line) => line["msg"] === "sandbox listening"))
  writeFileSync(file, text(url))
  const disk = await open(join(own, "disk"))
  const data = join(disk.dir, "data")
  disk.take(join(own, "network"), "data")
  before(disk)
  const launcher = join(root, "src/cofferer.sh")
  const env = { COFFERER_LISTEN: "127.0.0.1:0" }
  const daemon = disk.start(`sh ${launcher} run ${file} --data ${data} --output json`, env)
  const cli = (verb: string) => disk.run(`sh ${launcher} ${verb} -c ${file} --data ${data}`)
  try {
    const { lines, line } = linesOf(daemon)
    const page = urlOf(await line(({ msg }) => msg === "page listening"))
    await use({ disk, daemon, file, network: url, page, data, lines, line, cli })
  } finally {
    daemon.kill("SIGKILL")
    await daemon.exit
    disk.end()
    await network.stop("SIGKILL")
  }
}

interface Running extends ReturnType<typeof linesOf> {
  readonly disk: SmallDisk
  readonly file: string
  readonly daemon: Started
  readonly network: string
  readonly page: string
  readonly data: string
  readonly cli: (verb: string) => string
}

/** Waits for six seconds of blocks, in which four payments were due, and asks for metrics meanwhile. */
const moreBlocks = async ({ network, page }: Running) => {
  const height = Effect.promise(() => heightOf(network))
  const before = await heightOf(network)
  const hasGrown = Effect.map(height, (now) => now >= before + 24)
  // Once a block: without a pause these requests would take all the processor time.
  const scrape = Effect.delay(
    Effect.promise(() => get(`${page}/metrics`)),
    100,
  )
  await Effect.runPromise(waitUntil("24 blocks", hasGrown, scrape))
}

/** What a daemon does whose store takes no writes, as it says itself since line `from`. */
const waitsForStore = async (running: Running, from: number, refill = () => {}) => {
  const { page, line, lines } = running
  await line(({ msg }) => msg === "database not writable", from)
  // What its log took is free now that the store is closed.
  refill()
  await Effect.runPromise(
    waitUntil(
      "503",
      Effect.promise(async () => (await statusOf(`${page}/readyz`).catch(() => 0)) === 503),
      Effect.sleep(50),
    ),
  )
  const paid = (await paidOn(running.network)).length
  await moreBlocks(running)
  assert.isAtMost((await paidOn(running.network)).length, paid + 1, "nothing is sent any more")
  assert.strictEqual(await statusOf(`${page}/readyz`), 503)
  assert.strictEqual(await statusOf(`${page}/livez`), 200)
  assert.match((await get(`${page}/metrics`)).body, /cofferer_store_writable 0/)
  const said = lines.slice(from).filter(({ msg }) => msg === "database not writable")
  assert.lengthOf(said, 1, "one line")
  // A disk that is being filled is low first.
  const words = ["database not writable", "alert raised", "signing halted"]
  const others = lines.slice(from).filter(({ level, cause }) => cause !== undefined || level === "error")
  assert.deepStrictEqual(
    others.filter(
      ({ msg, scope }) => !words.includes(String(msg)) || (msg === "signing halted" && scope !== "disk_full"),
    ),
    [],
    "no traces",
  )
}

/** The headline names what the daemon waits for: nobody starts another one. */
const isToldToWait = async ({ file, data, page }: Running) => {
  const { stdout } = await callCofferer(["status", "-c", file, "--data", data])
  const [headline = ""] = stdout.split("\n")
  assert.include(headline, `A daemon waits at ${new URL(page).host}: nothing is decided, signed or sent: `)
  assert.include(headline, `free space under ${data}`)
}

/** All goes on by itself: nothing is halted, and payments are made. */
const goesOn = async ({ page, line, lines }: Running, from: number) => {
  await line(({ msg }) => msg === "database writable", from)
  await line(({ msg }) => msg === "payment confirmed", lines.length)
  assert.strictEqual(await statusOf(`${page}/readyz`), 200)
  const metrics = (await get(`${page}/metrics`)).body
  assert.match(metrics, /cofferer_store_writable 1/)
  assert.notMatch(metrics, /cofferer_halted\{[^}]*\} 1/)
}

const configHash = async (page: string): Promise<string> =>
  /cofferer_config_hash\{[^}]*part="all"\} ([0-9.e+]+)/.exec((await get(`${page}/metrics`)).body)?.[1] ?? "none"

const pagesOf = (lines: ReadonlyArray<Line>, subject: string) =>
  lines.filter((line) => line["msg"] === "alert raised" && line["subject"] === subject && line["severity"] === "page")

describe.concurrent("a disk without room", () => {
  const lacksMount = canMount(join(dir, "probe")) ? undefined : "needs unshare that may mount"
  const disks: ReadonlyArray<readonly [string, string | undefined, Open]> = [
    ["for one process", canLimit() ? undefined : "needs prlimit", limitedDisk],
    ["that is full", lacksMount, mountedDisk],
  ]

  it.for(disks)(
    "%s lets the daemon live and pay nothing, with one page, until there is space",
    async ([, lacks, open], { skip }) => {
      skip(lacks !== undefined, lacks)
      const nothing = () => {}
      await onDisk(open, nothing, async (running) => {
        const { disk, daemon, file, page, data, lines, line, cli } = running
        await line(({ msg }) => msg === "payment confirmed")
        const written = readFileSync(file, "utf8")
        writeFileSync(file, written.replaceAll("transfersPer24h: 1000", "transfersPer24h: 999"))
        // By a signal: a command takes seconds under load. Once the write-ahead log is written over from its start, a
        // full disk is noticed only when that grows, minutes later.
        daemon.kill("SIGHUP")
        await line(({ msg }) => msg === "configuration reloaded")
        writeFileSync(file, written)
        const hash = await configHash(page)
        for (const isFirst of [true, false]) {
          const full = lines.length
          disk.fill()
          await waitsForStore(running, full, () => disk.fill())
          // A mount of its own is not seen from here.
          if (open === limitedDisk) await isToldToWait(running)
          const pages = pagesOf(lines.slice(full), "unwritable")
          assert.lengthOf(pages, isFirst ? 1 : 0, "one page an hour")
          for (const { detail } of pages) assert.include(String(detail), `free space under ${data}`)
          disk.empty()
          await goesOn(running, full)
          assert.strictEqual(await configHash(page), hash, "what was in force is, whatever the file says")
        }
        daemon.kill("SIGTERM")
        assert.strictEqual(await daemon.exit, 0)
        assert.include(cli("verify"), "journal intact")
        if (open !== limitedDisk) return
        const bytes = storedIn(data, "SELECT hash_bare, hash_prefixed FROM attempts")
        const sends = storedIn(data, "SELECT tx_hash FROM sends")
        for (const hash of await paidOn(running.network)) {
          assert.isTrue(bytes.has(hash), "the bytes are stored")
          assert.isTrue(sends.has(hash), "the send is stored")
        }
      })
    },
  )

  it("that nearly is one halts with one page, and the daemon pays again once there is space", async ({ skip }) => {
    skip(lacksMount !== undefined, lacksMount)
    const nothing = () => {}
    await onDisk(mountedDisk, nothing, async (running) => {
      const { disk, page, data, lines, line, cli } = running
      await line(({ msg }) => msg === "payment confirmed")
      const low = lines.length
      disk.fill(2_200)
      await line(({ msg, subject }) => msg === "alert raised" && subject === "disk_full", low)
      const view = JSON.parse((await get(`${page}/api/v1/status`)).body) as View
      assert.match(view.sentence.text, /^Halted since .* \(disk full\): .*it ends by itself/)
      assert.include(view.sentence.text, `free space under ${data}`)
      assert.include(cli("status"), `free space under ${data}`)
      const metrics = (await get(`${page}/metrics`)).body
      assert.match(metrics, /cofferer_halted\{[^}]*reason="disk_full"\} 1/)
      assert.match(metrics, /cofferer_store_free_bytes [0-9]/)
      assert.lengthOf(pagesOf(lines.slice(low), "disk_full"), 1, "one page")
      disk.empty()
      await line(({ msg, scope }) => msg === "payments resumed" && scope === "disk_full", low)
      await line(({ msg }) => msg === "payment confirmed", lines.length)
    })
  })

  it.for(["that may only be read", "that is full"])("%s at the start is waited for", async (what, { skip }) => {
    skip(lacksMount !== undefined, lacksMount)
    const mount = (how: string) => (disk: SmallDisk) => void disk.run(`mount -o remount,${how} '${disk.dir}'`)
    const [before, after] =
      what === "that is full"
        ? [(disk: SmallDisk) => disk.fill(), (disk: SmallDisk) => disk.empty()]
        : [mount("ro"), mount("rw")]
    await onDisk(mountedDisk, before, async (running) => {
      await waitsForStore(running, 0)
      assert.lengthOf(pagesOf(running.lines, "unwritable"), 1)
      after(running.disk)
      await goesOn(running, 0)
      await running.line(({ subject, severity }) => subject === "unwritable" && severity === "info")
    })
  })
})

describe("init on a disk that becomes full", () => {
  it("leaves no part of the treasury file behind", async ({ skip }) => {
    if (!canLimit()) skip("needs prlimit")
    const folder = join(dir, "part")
    mkdirSync(folder)
    const file = join(folder, "treasury.yaml")
    await Effect.runPromise(
      withSandbox({}, function* (_, { url }) {
        const args = ["init", file, "--gateway", url, "--asset", "USDT", "--below", "10", "--target", "25"]
        const command = ["--fsize=500:500", "sh", join(root, "src/cofferer.sh"), ...args]
        const stderr = yield* Effect.promise(
          () =>
            new Promise<string>((done) =>
              execFile("prlimit", command, { timeout: 60_000 }, (_, __, text) => done(text)),
            ),
        )
        assert.match(stderr, /^cofferer: cannot write \S+treasury\.yaml \(EFBIG\)/)
        assert.isFalse(existsSync(file))
      }).pipe(Effect.scoped) as Effect.Effect<void>,
    )
  })
})
