import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { storeLayer } from "../../src/layers.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer, startHere } from "../support/CommandLine.ts"
import { it } from "../support/it.ts"
import { chainId, powOf, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"
import { tempDir } from "../support/tempDir.ts"
import { type Fields, treasuryText } from "../support/treasury.ts"
import { canMount, mountedDisk } from "./SmallDisk.ts"

interface Printed {
  readonly ok: boolean
  readonly findings: ReadonlyArray<Readonly<Record<"check" | "severity" | "text", string> & { remedy: string | null }>>
}

const dir = tempDir("doctor")
const folder = (): string => mkdtempSync(join(dir, "one-"))

interface Place {
  readonly folder: string
  readonly file: string
  readonly data: string
}

/** A sound treasury with its key in a folder of its own, changed by what a test breaks. */
const written = async (url: string, change: Fields = {}): Promise<Place> => {
  const own = folder()
  const { stdout } = await callCofferer(["keys", "new", join(own, "reserve")])
  const file = join(own, "treasury.yaml")
  const network = { chainId, gateways: { main: url } }
  const text = treasuryText({
    name: "harbor",
    mode: "live",
    network,
    assets: { USDT: { id: usdt, decimals: 6 } },
    parties: { reserve: { publicKey: stdout.trim(), signer: { file: "reserve" } } },
    daemon: { listen: "127.0.0.1:0" },
    ...change,
  })
  writeFileSync(file, text)
  return { folder: own, file, data: join(own, "data") }
}

const examine = async (
  { file, data }: Pick<Place, "file" | "data">,
  surroundings: Parameters<typeof callCofferer>[1] = {},
) => {
  const { code, stdout, stderr } = await callCofferer(
    ["doctor", file, "--data", data, "--output", "json"],
    surroundings,
  )
  assert.notStrictEqual(stdout, "", stderr)
  const { ok, findings } = JSON.parse(stdout) as Printed
  const wrong = findings.filter(({ severity }) => severity !== "ok")
  return { code, ok, stderr, findings, wrong }
}

/** The one check that is not ok, with its text and its fix. */
const only = ({ wrong, code }: Awaited<ReturnType<typeof examine>>) => {
  const [first] = wrong
  assert.lengthOf(wrong, 1, JSON.stringify(wrong))
  return { ...first!, code }
}

const found = (
  change: Fields | ((url: string) => Fields),
  says: RegExp,
  options: Parameters<typeof withSandbox>[0] = {},
) =>
  withSandbox(options, (_, { url }) =>
    Effect.promise(async () => {
      const place = await written(url, typeof change === "function" ? change(url) : change)
      const { check, severity, text, remedy, code } = only(await examine(place))
      assert.match(`${check} ${severity}: ${text}; ${remedy}`, says)
      assert.strictEqual(code, severity === "bad" ? 8 : 0)
    }),
  )

describe("doctor", () => {
  it.live("finds nothing where all is well, changes nothing, and prints a line for each check", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const place = await written(url)
        const { code, ok, stderr, findings, wrong } = await examine(place)
        assert.deepStrictEqual([code, ok, stderr, wrong], [0, true, "", []])
        assert.deepStrictEqual(
          findings.map(({ check }) => check),
          [
            ...["chain", "gateway", "clock", "assets", "work", "keys"],
            ...["permissions", "disk", "port", "wire_form", "receivers", "daemon"],
          ],
        )
        assert.sameMembers(readdirSync(place.folder), ["reserve", "treasury.yaml"])
        const { stdout } = await callCofferer(["doctor", place.file, "--data", place.data])
        assert.lengthOf(stdout.trimEnd().split("\n"), 12)
        assert.match(stdout, /^ok {4}chain {8}sandbox-1, as the file says$/m)
      }),
    ),
  )

  it.live("finds a gateway on another chain", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const place = await written(url, { network: { chainId: "mainnet-1", gateways: { main: url } } })
        const { code, wrong, stderr } = await examine(place)
        assert.strictEqual(code, 8)
        assert.match(stderr, /^cofferer: 1 of \d+ checks failed$/m)
        assert.match(wrong[0]?.text ?? "", /^Wrong chain, not mainnet-1: gateway main is on chain sandbox-1$/)
        assert.match(wrong[0]?.remedy ?? "", /correct the address in network\.gateways/)
      }),
    ),
  )

  it.live("finds a gateway that does not answer, and goes on with the other", () =>
    found(
      (url) => ({ network: { chainId, quorum: 2, gateways: { main: url, other: "http://127.0.0.1:9" } } }),
      /^gateway bad: No usable answer from 1 gateway: other is down \(.*\); 2 must agree.*; check the node of gateway other/,
    ),
  )

  it.live("finds a clock that is wrong", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const place = await written(url)
        const { check, text, remedy, code } = only(await examine(place, { ahead: () => 600_000 }))
        assert.deepStrictEqual([check, code], ["clock", 8])
        assert.match(
          text,
          /^This host's clock is 1[01] min ahead of the blocks of gateway main; one of the two clocks is/,
        )
        assert.match(remedy ?? "", /^check NTP with "timedatectl"/)
      }),
    ),
  )

  it.live("finds decimals that differ from the listing", () =>
    found(
      { assets: { USDT: { id: usdt, decimals: 8 } } },
      /^assets bad: .*yaml:\d+:\d+ {2}USDT has 8 decimals.*; write 6/,
    ),
  )

  it.live("finds decimals that differ from those of the treasury's own network, which runs", () =>
    found(
      { assets: { USDT: { id: usdt, decimals: 8 } }, sandbox: { seed: "test", parties: [], assets: [] } },
      /^assets bad: .*yaml:\d+:\d+ {2}USDT has 8 decimals.*; write 6/,
    ),
  )

  it.live("finds an id that the gateway does not list", () =>
    found(
      { assets: { USDT: { id: "ab".repeat(32), decimals: 6 } } },
      /^assets warn: .*does not list USDT.*; compare the/,
    ),
  )

  it.live("finds work that takes longer than its window", () =>
    found(
      {},
      /^work bad: Proof of work is too slow: [0-9.]+ million hashes per second; difficulty 28 .*; run the daemon on/,
      {
        text: scenarioText({ pow: { ...powOf(5), difficulty: 28 } }),
      },
    ),
  )

  it.live("finds a secret that others can read, and says of the keys what they are", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const receivers = { log: { log: {} }, desk: { slack: { url: { file: "address" } } } }
        const place = await written(url, {
          alerts: { receivers, routes: [{ severity: ["page"], to: ["desk", "log"] }] },
        })
        writeFileSync(join(place.folder, "address"), "http://127.0.0.1:9/hook", { mode: 0o644 })
        const { findings } = await examine(place)
        const shown = findings.map(({ check, severity, text }) => `${check} ${severity}: ${text}`).join("\n")
        assert.match(shown, /^permissions warn: .*others may read the secret \(mode 644\)$/m)
        assert.match(shown, /^keys ok: private and public keys of reserve match$/m)
      }),
    ),
  )

  it.live("finds a key that others can read, one that is missing, and one of somebody else", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const place = await written(url)
        chmodSync(join(place.folder, "reserve"), 0o644)
        const loose = only(await examine(place))
        assert.match(`${loose.check} ${loose.text}`, /^keys .*others may read the key file \(mode 644\)$/)
        assert.match(loose.remedy ?? "", /^run: chmod 600 .*reserve$/)
        const parties = { reserve: { publicKey: "ab".repeat(32), signer: { file: "nowhere" } } }
        const missing = only(await examine(await written(url, { parties, mode: "shadow" })))
        assert.match(
          `${missing.check} ${missing.text}; ${missing.remedy}`,
          /^keys .*no such file: .* make it: cofferer/,
        )
        const beside = await written(url, { mode: "shadow" })
        const text = readFileSync(beside.file, "utf8")
        writeFileSync(beside.file, text.replace("parties:", `$&\n  spare: ${JSON.stringify(parties.reserve)}`))
        const { findings } = await examine(beside)
        const keys = findings
          .filter(({ check }) => check === "keys")
          .map(({ severity, text: line }) => `${severity} ${line}`)
        assert.match(keys.join("\n"), /^warn .*no such file: .*nowhere\nok private and public keys of reserve match$/)
        const other = await written(url, {
          parties: { reserve: { publicKey: "ab".repeat(32), signer: { file: "reserve" } } },
        })
        assert.match(only(await examine(other)).text, /holds the key of [0-9a-f]{64}$/)
      }),
    ),
  )

  it.live("finds a data directory that others may write, and leaves it as it is", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const place = await written(url)
        mkdirSync(place.data)
        chmodSync(place.data, 0o777)
        const { check, text, remedy, code } = only(await examine(place))
        assert.deepStrictEqual([check, code], ["permissions", 8])
        assert.match(text, /may be written by everybody \(mode 0777\)/)
        assert.match(remedy ?? "", /chmod/)
      }),
    ),
  )

  it.live("finds a data directory that is a file, lies under one, or is a link to nothing", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const place = await written(url)
        writeFileSync(place.data, "")
        symlinkSync(`${place.data}-gone`, `${place.data}-link`)
        for (const data of [place.data, join(place.data, "below"), `${place.data}-link`]) {
          const { code, wrong } = await examine({ ...place, data })
          assert.strictEqual(code, 8)
          const { severity, text, remedy } = wrong.find(({ check }) => check === "permissions")!
          assert.match(`${severity}: ${text}; ${remedy}`, /^bad: .*data.* \((ENOTDIR|ENOENT)\); name a/)
        }
      }),
    ),
  )

  it.live("finds a port that is taken", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const server = createServer()
        const port = await new Promise<number>((resolve) =>
          server.listen(0, "127.0.0.1", () => resolve((server.address() as { readonly port: number }).port)),
        )
        const place = await written(url, { daemon: { listen: `127.0.0.1:${port}` } })
        const { check, text, remedy } = only(await examine(place))
        const daemon = { listen: "127.0.0.1:0", metrics: `127.0.0.1:${port}` }
        const metrics = only(await examine(await written(url, { daemon })))
        server.close()
        assert.deepStrictEqual([check, text], ["port", `127.0.0.1:${port} is taken by another process`])
        assert.deepStrictEqual([metrics.check, metrics.text], [check, text])
        assert.match(metrics.remedy ?? "", /or set daemon\.metrics/)
        assert.match(remedy ?? "", /"ss -ltnp" names it: stop it, or set daemon\.listen/)
        const far = only(await examine(await written(url, { daemon: { listen: "192.0.2.1:80" } })))
        assert.match(far.text, /^Nothing can listen at 192\.0\.2\.1:80 \(EADDRNOTAVAIL\)$/)
      }),
    ),
  )

  it.live("finds a wire form that the chain does not execute", () =>
    withSandbox({}, function* (_, { url }) {
      const network = { chainId, gateways: { main: url }, framing: "bare" }
      const place = yield* Effect.promise(() => written(url, { network }))
      mkdirSync(place.data, { mode: 0o700 })
      const treasury = yield* loadTreasury(place.file)
      yield* Effect.flatMap(Settings, (settings) => settings.rememberFraming(chainId, "prefixed")).pipe(
        Effect.provide(storeLayer({ treasury, dataDir: place.data })),
      )
      const { check, text, remedy } = only(yield* Effect.promise(() => examine(place)))
      assert.deepStrictEqual(
        [check, text],
        ["wire_form", "network.framing is bare, and sandbox-1 executes the form prefixed"],
      )
      assert.strictEqual(remedy, "write network.framing: prefixed, or leave it out")
    }),
  )

  it.live("finds each receiver that gets nothing, and sends nothing to the others", () =>
    withSandbox({}, (_, { url }) =>
      Effect.promise(async () => {
        const arrived: Array<string> = []
        const server = createServer((socket) => void socket.on("data", (data) => arrived.push(data.toString())))
        const port = await new Promise<number>((resolve) =>
          server.listen(0, "127.0.0.1", () => resolve((server.address() as { readonly port: number }).port)),
        )
        const receivers = {
          good: { webhook: { url: `http://127.0.0.1:${port}/a` } },
          closed: { webhook: { url: "http://127.0.0.1:9/a" } },
          hidden: { webhook: { url: "https://receiver.invalid/a" } },
        }
        const { code, wrong } = await examine(await written(url, { alerts: { receivers } }))
        server.close()
        assert.strictEqual(code, 8)
        assert.isTrue(
          wrong.every(({ check }) => check === "receivers"),
          JSON.stringify(wrong),
        )
        const texts = wrong.map(({ text }) => text).join("\n")
        assert.match(texts, /^Receiver closed: no connection to 127\.0\.0\.1:9 \(ECONNREFUSED\)$/m)
        assert.match(texts, /^Receiver hidden: no connection to receiver\.invalid:443 \(E[A-Z_]+\)$/m)
        assert.notInclude(texts, "good")
        assert.deepStrictEqual(arrived, [])
      }),
    ),
  )

  it.live("repeats the conditions of a daemon that runs", function* () {
    const data = join(folder(), "data")
    const file = join(root, "config/sandbox.yaml")
    const surroundings = { env: { COFFERER_LISTEN: "127.0.0.1:0" } }
    const daemon = startHere(["run", "--sandbox", file, "--data", data, "--output", "json"], surroundings)
    const { code, wrong } = yield* Effect.promise(async () => {
      await daemon.line((line) => line["msg"] === "daemon ready")
      await callCofferer(["pause", "--reason", "audit", "--data", data])
      return await examine({ file, data }, surroundings).finally(daemon.stop)
    })
    assert.deepStrictEqual([code, wrong.map(({ check }) => check)], [0, ["daemon"]], JSON.stringify(wrong))
    assert.match(wrong[0]?.text ?? "", /^Paused \(all\) by .*: audit$/)
    assert.match(wrong[0]?.remedy ?? "", /cofferer resume/)
  })

  it.live("refuses a broken file as check does", function* () {
    const { file } = yield* Effect.promise(() => written("http://127.0.0.1:9", { moode: "live" }))
    const { code, stdout, stderr } = yield* Effect.promise(() => callCofferer(["doctor", file]))
    assert.deepStrictEqual([code, stdout], [3, ""])
    assert.match(stderr, /unknown key "moode"; did you mean "mode"\?/)
  })

  const disk = join(dir, "disk")
  it("finds a disk that is full, and one that takes no writes", async ({ skip }) => {
    skip(!canMount(disk), "needs unshare that may mount")
    const mounted = await mountedDisk(disk)
    try {
      const { file } = await written("http://127.0.0.1:9")
      const printed = (): Printed["findings"] => {
        const command = `sh '${join(root, "src/cofferer.sh")}' doctor '${file}' --data '${disk}/data' --output json || true`
        return (JSON.parse(mounted.run(command)) as Printed).findings
      }
      mounted.fill()
      const full = printed().find(({ check }) => check === "disk")
      assert.match(full?.text ?? "", /^The disk of .*disk is full: 0 MiB free, 4 MiB needed$/)
      assert.match(full?.remedy ?? "", /^free space under /)
      mounted.empty()
      mounted.run(`mount -o remount,ro '${disk}'`)
      const readOnly = printed().find(({ check }) => check === "permissions")
      assert.match(readOnly?.text ?? "", /^Nothing can be written to .*disk \(EROFS\)$/)
      assert.match(readOnly?.remedy ?? "", /name a directory of this user in --data or store\.dir/)
    } finally {
      mounted.end()
    }
  })
})
