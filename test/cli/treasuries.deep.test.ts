import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { get } from "../support/Cofferer.ts"
import { callCofferer, type Here, startHere } from "../support/CommandLine.ts"
import { lineWith, urlOf } from "../support/SteppedDaemon.ts"
import { networkOf, treasuryFile, writeTreasuries } from "../support/Treasuries.ts"
import { tempDir } from "../support/tempDir.ts"

const json = async (url: string) => JSON.parse((await get(url)).body)
const poll = "200ms"
const hangUp = () => process.emit("SIGHUP", "SIGHUP")

describe("several treasuries in one process", () => {
  const dir = tempDir("treasuries")
  const files = join(dir, "files")
  let daemon: Here
  let network: { readonly url: string; readonly stop: () => Promise<unknown> }
  let page: string
  const call = (...args: ReadonlyArray<string>) => callCofferer([...args, "-c", files])
  const lineOf = (treasury: string, msg: string) =>
    daemon.line((line) => line["treasury"] === treasury && line["msg"] === msg)

  beforeAll(async () => {
    const falls = [0, 1, 2, 3].map((treasury) => ({ treasury, block: 2 }))
    network = await networkOf(4, falls, "250ms")
    writeTreasuries(files, 4, network.url, { poll })
    // One that comes later, one that was written for a process of its own, and one that nobody can read.
    renameSync(join(files, "t0002.yaml"), join(dir, "t0002.yaml"))
    const daemonPart = 'daemon: { listen: "127.0.0.1:9999" }'
    writeFileSync(join(files, "t0001.yaml"), treasuryFile("t0001", network.url, { more: daemonPart, poll }))
    writeFileSync(join(files, "<b>broken.yaml"), "version: 1\nnetwork: 5\n")
    // A folder of parts is a treasury too.
    mkdirSync(join(files, "t0003"))
    const text = readFileSync(join(files, "t0003.yaml"), "utf8").replace("file: keys/", "file: ../keys/")
    writeFileSync(join(files, "t0003", "all.yaml"), text)
    rmSync(join(files, "t0003.yaml"))
    daemon = startHere(["run", files, "--output", "json"])
    page = urlOf(await daemon.line(lineWith("page listening")))
  })

  afterAll(async () => {
    await daemon.stop()
    await network.stop()
    assert.strictEqual(process.listenerCount("SIGHUP") + process.listenerCount("SIGUSR2"), 0, "nothing is left behind")
    rmSync(dir, { recursive: true, force: true })
  })

  it("pays for each of them, whatever is wrong with another", async () => {
    for (const name of ["t0000", "t0001", "t0003"]) await lineOf(name, "payment confirmed")
    const ended = await lineOf("<b>broken", "treasury ended")
    assert.match(String(ended["reason"]), /<b>broken.yaml:2:\d+ {2}.*network.*; /)
  })

  it("names settings of a file that do not count beside others", async () => {
    const { detail } = await lineOf("t0001", "configuration doubtful")
    assert.match(String(detail), /t0001.yaml:\d+:\d+ {2}daemon.listen is not used.*; .*daemon.yaml/)
  })

  it("is ready while one of them is, and names those that are not", async () => {
    const { status, body } = await get(`${page}/readyz`)
    assert.deepStrictEqual([status, JSON.parse(body)], [200, { notReady: ["<b>broken"] }])
  })

  it("lists them with the worst first, and escapes what files are called", async () => {
    const list = (await json(`${page}/api/v1/treasuries`)) as ReadonlyArray<Record<string, string>>
    const [worst, ...others] = list.map(({ name, state }) => `${name} ${state}`)
    assert.strictEqual(worst, "<b>broken ended")
    assert.deepStrictEqual(others.toSorted(), ["t0000 running", "t0001 running", "t0003 running"])
    const { body } = await get(`${page}/`)
    assert.include(body, '<a href="treasury/%3Cb%3Ebroken/">&#60;b&#62;broken</a>')
    assert.notInclude(body, "<b>")
  })

  it("says since when one is down, however often it was started again", async () => {
    const first = await lineOf("<b>broken", "treasury ended")
    await daemon.line((line) => line["treasury"] === "<b>broken" && Number(line["seconds"]) > 1)
    const list = (await json(`${page}/api/v1/treasuries`)) as ReadonlyArray<Record<string, string>>
    assert.isAtMost(Date.parse(list[0]!["since"]!), Date.parse(String(first["time"])))
  })

  it("serves page, API and metrics of each behind its name", async () => {
    assert.strictEqual((await json(`${page}/treasury/t0003/api/v1/status`)).treasury, "t0003")
    assert.include((await get(`${page}/treasury/t0003/`)).body, 'src="page/page.js"')
    assert.strictEqual((await get(`${page}/treasury/t0003/page/page.js`)).status, 200)
    assert.strictEqual((await get(`${page}/treasury/nobody/`)).status, 404)
    assert.deepStrictEqual((await get(`${page}/treasury/%3Cb%3Ebroken/api/v1/status`)).status, 503)
    const { body } = await get(`${page}/metrics`)
    for (const sample of [
      'cofferer_treasury_up{treasury="<b>broken"} 0',
      'cofferer_treasury_up{treasury="t0000"} 1',
      'cofferer_intents_finished_total{treasury="t0000",outcome="confirmed"} 1',
      'cofferer_gateway_up{gateway="node",treasury="t0003"} 1',
    ]) {
      assert.include(body, sample)
    }
    assert.strictEqual(body.split("# TYPE cofferer_gateway_up ").length, 2, "each metric is described once")
    assert.strictEqual(body.split("# TYPE process_resident_memory_bytes ").length, 2)
  })

  it("works on the treasury that --treasury names, and names them all without it", async () => {
    assert.strictEqual((await call("halt", "--reason", "a test", "--treasury", "t0000")).code, 0)
    const halted = (await call("status", "--treasury", "t0000")).stdout
    const resume = `"cofferer resume --reason TEXT -c ${files} --treasury t0000"`
    assert.match(halted, /Halted (by \S+ )?since/)
    assert.include(halted, resume)
    for (const msg of ["signing halted", "alert raised"]) {
      const line = await daemon.line((one) => one["treasury"] === "t0000" && one["msg"] === msg)
      assert.include(String(line["remedy"] ?? line["detail"]), resume, msg)
    }
    assert.match((await call("status", "--treasury", "t0001")).stdout, /^ok/)
    // It reads the treasury's file, by the folder's name alone.
    const planned = await call("plan", "--treasury", "t0001")
    assert.deepStrictEqual([planned.code, planned.stderr], [0, ""])
    assert.include(planned.stdout, "the file equals what is in force")
    const all = (await call("status")).stdout
    assert.match(all, /^BAD +<b>broken +\S*broken.yaml:\d+:\d+ {2}/)
    // On a busy machine one of the others may be behind.
    for (const line of [/^BAD +t0000 +Halted /m, /^ok +t0001 +\S/m]) assert.match(all, line)
    const cases = [
      [
        ["intents"],
        /files {2}holds 4 treasuries; name one with --treasury; known here: <b>broken, t0000, t0001, t0003/,
      ],
      [["status", "--treasury", "t001"], /files {2}holds no treasury t001; did you mean "t0001"\?/],
      [["run", "--sandbox"], /--sandbox is for one treasury, and .*files holds several; .*cofferer sandbox FILE/],
    ] as const
    for (const [args, words] of cases) assert.match((await call(...args)).stderr, words)
    const alone = await callCofferer(["status", "--treasury", "x", "-c", join(files, "t0000.yaml")])
    assert.match(alone.stderr, /t0000.yaml is no folder of several treasuries; .*daemon.yaml/)
  })

  it("checks the files of all", async () => {
    const { code, stdout, stderr } = await call("check")
    assert.strictEqual(code, 3)
    assert.match(stderr, /broken.yaml:2:/)
    assert.match(stdout, /t0000.yaml {2}ok {3}t0000, mode live, policy \w+\n/)
  })

  it("starts at SIGHUP what came, ends what went, and reloads the others", async () => {
    renameSync(join(dir, "t0002.yaml"), join(files, "t0002.yaml"))
    rmSync(join(files, "t0001.yaml"))
    hangUp()
    await lineOf("t0001", "daemon stopped")
    await lineOf("t0002", "payment confirmed")
    const list = (await json(`${page}/api/v1/treasuries`)) as ReadonlyArray<Record<string, string>>
    assert.sameMembers(
      list.map(({ name }) => name ?? ""),
      ["<b>broken", "t0000", "t0002", "t0003"],
    )
  })

  it("starts a mended file at the next SIGHUP, and refuses a name that another has", async () => {
    rmSync(join(files, "<b>broken.yaml"))
    writeFileSync(join(files, "copy.yaml"), treasuryFile("t0003", network.url))
    hangUp()
    const twice = await daemon.line((line) => /the name t0003 is also that of t0003/.test(String(line["reason"])))
    assert.match(String(twice["reason"]), /copy.yaml {2}.*; give each a name of its own/)
    assert.match((await call("status", "--treasury", "t0003")).stderr, /the name t0003 is also that of/)
  })

  it("refuses one that signs with a key of another that runs", async () => {
    // The signer is not its first party.
    const twin = treasuryFile("t0003", network.url)
      .replace("name: t0003", "name: twin")
      .replace("parties:\n", `parties:\n  first: { publicKey: "${"ab".repeat(32)}" }\n`)
    writeFileSync(join(files, "twin.yaml"), twin)
    hangUp()
    const { reason } = await lineOf("twin", "treasury ended")
    assert.match(String(reason), /twin.yaml:\d+:\d+ {2}treasury t0003 signs with the same key.*; give each/)
    rmSync(join(files, "twin.yaml"))
  })

  it("lets no twin take the place of one that has ended and may start again", async () => {
    // On another chain than its gateway: it ends once its keys are taken.
    const write = (name: string, more = "") => {
      const text = treasuryFile("t0001", network.url).replace("name: t0001", `name: ${name}`)
      writeFileSync(join(files, `${name}.yaml`), `${text.replace("many-1", "other-1")}${more}`)
    }
    write("ends")
    hangUp()
    assert.match(String((await lineOf("ends", "treasury ended"))["reason"]), /other-1/)
    write("ends", "unknown: 5\n")
    write("takes")
    hangUp()
    const { reason } = await lineOf("takes", "treasury ended")
    assert.match(String(reason), /takes.yaml:\d+:\d+ {2}treasury ends signs with the same key/)
    rmSync(join(files, "ends.yaml"))
    hangUp()
    await daemon.line((line) => line["treasury"] === "takes" && /other-1/.test(String(line["reason"])))
    rmSync(join(files, "takes.yaml"))
  })

  it("shows the state of a treasury whose file was renamed", async () => {
    rmSync(join(files, "t0002.yaml"))
    writeFileSync(join(files, "renamed.yaml"), "name: t0002\nversion: 1\nnetwork: 5\n")
    hangUp()
    await lineOf("t0002", "treasury ended")
    const list = (await json(`${page}/api/v1/treasuries`)) as ReadonlyArray<Record<string, string>>
    assert.strictEqual(list.find(({ name }) => name === "t0002")?.state, "ended")
    assert.match((await get(`${page}/metrics`)).body, /cofferer_treasury_up\{treasury="t0002"\} 0/)
  })

  it("says that the folder has no treasury any more", async () => {
    for (const name of ["t0000.yaml", "t0003", "copy.yaml", "renamed.yaml"])
      rmSync(join(files, name), { recursive: true })
    hangUp()
    const { detail } = await daemon.line(lineWith("configuration doubtful", "has no treasury"))
    assert.match(String(detail), /files {2}has no treasury: nothing is watched or paid; put NAME.yaml there/)
  })
})

describe("treasuries of one process that do not run", () => {
  const dir = tempDir("treasuries-down")
  const file = (name: string, mode = "observe") =>
    writeFileSync(
      join(dir, `${name}.yaml`),
      `version: 1\nname: ${name}\nmode: ${mode}\nnetwork: { chainId: c-1, gateways: { node: "http://127.0.0.1:9" } }\n`,
    )
  const data = (name: string) => join(dir, ".data", name)
  let daemon: Here
  let page: string
  const lineOf = (treasury: string, msg: string) =>
    daemon.line((line) => line["treasury"] === treasury && line["msg"] === msg)

  beforeAll(async () => {
    writeFileSync(join(dir, "daemon.yaml"), 'version: 1\nlisten: "127.0.0.1:0"\ndataDir: .data\n')
    file("broken", "no mode")
    file("runs")
    file("waits")
    // No database can be opened there.
    for (const one of [join(dir, ".data"), data("waits"), join(data("waits"), "cofferer.db")]) {
      mkdirSync(one, { mode: 0o700 })
    }
    daemon = startHere(["run", dir, "--output", "json"])
    page = urlOf(await daemon.line(lineWith("page listening")))
    await Promise.all([
      lineOf("broken", "treasury ended"),
      lineOf("runs", "daemon starting"),
      lineOf("waits", "alert raised"),
    ])
  })

  afterAll(async () => {
    await daemon.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  it("are listed as bad while their store takes no writes", async () => {
    const list = (await json(`${page}/api/v1/treasuries`)) as ReadonlyArray<Record<string, string>>
    const found = list.find(({ name }) => name === "waits")
    assert.containSubset(found, { state: "running", severity: "bad" })
    assert.match(found!["text"]!, /^nothing is decided, signed or sent: .*unable to open database file; free space/)
  })

  it("are examined at the address of their process, which no treasury file names", async () => {
    const { port } = new URL(page)
    const other = join(dir, ".other")
    mkdirSync(other)
    writeFileSync(join(other, "daemon.yaml"), `version: 1\nlisten: "127.0.0.1:${port}"\ndataDir: .data\n`)
    writeFileSync(join(other, "alone.yaml"), readFileSync(join(dir, "runs.yaml")))
    const set = "set listen in daemon.yaml"
    const { stderr } = await callCofferer(["run", other])
    assert.include(stderr, `127.0.0.1:${port} is taken by another process; stop it or ${set}\n`)
    const { stdout } = await callCofferer(["doctor", other])
    assert.include(stdout, `warn  port         127.0.0.1:${port} is in use, and this treasury does not run\n`)
    assert.include(stdout, `stop it, or ${set} or COFFERER_LISTEN to a free address`)
  })

  it("are halted by SIGUSR2 as those that run", async () => {
    process.emit("SIGUSR2", "SIGUSR2")
    for (const name of ["broken", "runs", "waits"]) {
      await lineOf(name, "HALT file written")
      assert.strictEqual(readFileSync(join(data(name), "HALT"), "utf8"), "the signal SIGUSR2\n")
    }
    file("broken")
    hangUp()
    await lineOf("broken", "signing halted")
  })
})
