import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { faultKinds } from "../../src/sandbox/Faults.ts"
import { get, root } from "../support/Cofferer.ts"
import { callCofferer, type Here, startHere } from "../support/CommandLine.ts"
import { urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("fault")

const file = join(dir, "sandbox.yaml")

const fault = (...args: ReadonlyArray<string>) => callCofferer(["sandbox", "fault", ...args, "--data", dir])

describe("sandbox fault", () => {
  let network: Here
  let url = ""

  beforeAll(async () => {
    const text = readFileSync(join(root, "config/sandbox.yaml"), "utf8")
    writeFileSync(file, text.replace('listen: "127.0.0.1:3008"', 'listen: "127.0.0.1:0"'))
    network = startHere(["sandbox", file, "--data", dir, "--output", "json"], {
      env: {},
    })
    url = urlOf(await network.line((line) => line["msg"] === "sandbox listening"))
  })

  afterAll(async () => {
    await network.stop()
  })

  it("arms, lists and clears the faults of the network in the data directory", async () => {
    const lost = await fault("arm", "accept_drop_answer", "--operation", "submit", "--count", "1")
    assert.deepStrictEqual(lost, {
      code: 0,
      signal: null,
      stdout: "armed 1: the next answer will be lost after the network took the payment\n",
      stderr: "",
    })
    const more = ["--operation", "height", "--status", "503", "--rate", "0.5", "--for", "90s", "--count", "3"]
    assert.strictEqual((await fault("arm", "http_status", ...more)).code, 0)
    const slow = await fault("arm", "clock_skew", "--skew=-90s", "--output", "json")
    assert.include(JSON.parse(slow.stdout).fault, { id: 3, operation: "any", skewMillis: -90_000, rate: 1 })

    const armed = JSON.parse((await get(`${url}/sandbox/faults`)).body).faults
    assert.lengthOf(armed, 3)
    assert.include(armed[1], { kind: "http_status", status: 503, rate: 0.5, durationMillis: 90_000, count: 3 })

    const listed = await fault("list")
    assert.match(listed.stdout, /^armed\n {2}1 {2}accept_drop_answer {2}the next answer will be lost .*hit 0\n/)
    assert.include(listed.stdout, "with probability 0.5, 3 times, for 90 s")
    const json = JSON.parse((await fault("list", "--output", "json")).stdout)
    assert.deepStrictEqual(
      json.kinds.map(({ kind }: { kind: string }) => kind),
      [...faultKinds],
    )

    assert.strictEqual((await fault("clear", "2")).stdout, "cleared 1\n")
    assert.strictEqual((await fault("clear", "--output", "json")).stdout, '{\n  "gone": 2\n}\n')
    assert.strictEqual((await fault("clear")).stdout, "no fault was armed\n")
  })

  it.each([
    [["arm", "delay"], 2, "cofferer: a delay needs its length: write --delay=2s\n"],
    [
      ["arm", "http_status"],
      2,
      "cofferer: http_status needs a status that the sandbox can send: write --status with one of 403, 429, 500, 502, 503, 504\n",
    ],
    [
      ["arm", "delay", "--delay", "1s", "--rate", "2"],
      2,
      'cofferer: Expected a value between 0.000001 and 1 at ["rate"]\n',
    ],
    [["arm", "clock_skew", "--skew", "x"], 2, "cofferer: --skew x is not a duration; write one such as --skew=-90s\n"],
    [
      ["arm", "stale_read", "--operation", "submit"],
      2,
      "cofferer: stale_read cannot hit submit: it hits reads: write --operation=any\n",
    ],
    [
      ["arm", "html_body", "--status", "503", "--delay", "2s"],
      2,
      "cofferer: html_body does not take --status, --delay: leave it out\n",
    ],
    [["arm", "delay", "--delay", "2s", "--effect"], 2, "cofferer: delay does not take --effect: leave it out\n"],
    [["clear", "77"], 4, "cofferer: no fault 77 is armed\n"],
    [["list", "--url", "http://127.0.0.1:1"], 4, "cofferer: no play-money network answers at http://127.0.0.1:1\n"],
    [["list", "--url", "here"], 2, "cofferer: --url here is not an address; write one such as http://127.0.0.1:3008\n"],
  ])("%j exits %i with one message", async (args, code, message) => {
    assert.deepStrictEqual(await fault(...args), { code, signal: null, stdout: "", stderr: message })
  })

  it("says where no network runs, and when the one that ran has ended", async () => {
    const nowhere = await callCofferer(["sandbox", "fault", "list", "--data", join(dir, "none")])
    assert.include(nowhere, { code: 4, stdout: "" })
    assert.match(
      nowhere.stderr,
      /^cofferer: no play-money network runs in .*none\/sandbox; name one with --url or --data\n$/,
    )
    await network.stop()
    assert.match((await fault("list")).stderr, /^cofferer: no play-money network runs in /)
  })
})
