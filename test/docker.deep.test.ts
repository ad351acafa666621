import { spawnSync } from "node:child_process"
import { chmodSync, cpSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { makeContainer, readSteps } from "./docker/image.ts"
import { codeTreasury } from "./support/RulesInCode.ts"
import { tempDir } from "./support/tempDir.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string) => readFileSync(join(root, path), "utf8")

describe("the image", () => {
  const folder = tempDir("image")
  const app = join(folder, "image/app")
  beforeAll(() => {
    makeContainer(readSteps(read("Dockerfile")), folder)
    // The user of the container is another one than the user of this test.
    for (const name of [folder, join(folder, "data"), join(folder, "config")]) chmodSync(name, 0o777)
  })
  afterAll(() => {
    // The image is read-only, for its owner too.
    spawnSync("chmod", ["-R", "u+w", folder])
  })

  it("holds the program in few files, the licences of what is in them, and no package", () => {
    assert.sameMembers(readdirSync(app), ["LICENSE", "LICENSES", "config", "package.json", "src"])
    assert.match(readFileSync(join(app, "LICENSES"), "utf8"), /^effect\n\nMIT License\n/m)
    const files = readdirSync(join(app, "src"))
    // A file for each command, and what some of them share: the sources are 400.
    assert.isBelow(files.length, 80)
    for (const file of files.filter((name) => name.endsWith(".mjs"))) {
      const text = readFileSync(join(app, "src", file), "utf8")
      const imported = [...text.matchAll(/^(?:import|export) (?:.* from )?"([^"]+)"/gm)].map(([, name]) => name!)
      assert.isTrue(
        imported.every((name) => /^(node:|\.\/)/.test(name)),
        `${file}: ${imported}`,
      )
    }
  })

  describe("confined", () => {
    const { error, status, stderr } = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"], {
      encoding: "utf8",
      timeout: 120_000,
    })
    const refusal = status === 0 ? undefined : `needs bwrap: ${error?.message ?? stderr.trim()}`

    beforeEach(({ skip }) => skip(refusal !== undefined, refusal))

    const run = (...command: ReadonlyArray<string>) => {
      const script = fileURLToPath(new URL("docker/run.sh", import.meta.url))
      const { status, stdout, stderr } = spawnSync(script, [folder, realpathSync(process.execPath), ...command], {
        encoding: "utf8",
        timeout: 200_000,
      })
      return { status, stdout, stderr }
    }

    it("is read-only but for /data and /tmp, and its user is nobody", () => {
      const probe = `
        const { writeFileSync } = require("node:fs")
        const may = (folder) => { try { writeFileSync(folder + "/probe", ""); return true } catch { return false } }
        const folders = ["/", "/app", "/app/src", "/app/node_modules", "/config", "/usr", "/usr/local/bin", "/data", "/tmp"]
        const capabilities = require("node:fs").readFileSync("/proc/self/status", "utf8").match(/CapEff:\\s*(\\w+)/)[1]
        console.log(JSON.stringify({ user: process.getuid(), group: process.getgid(), capabilities, env: process.env.NODE_ENV,
          data: process.env.COFFERER_DATA_DIR, writable: folders.filter(may) }))`
      const { status, stdout, stderr } = run("node", "-e", probe)
      assert.strictEqual(status, 0, stderr)
      assert.deepStrictEqual(JSON.parse(stdout), {
        user: 10001,
        group: 10001,
        capabilities: "0000000000000000",
        env: "production",
        data: "/data",
        writable: ["/data", "/tmp"],
      })
    })

    it("pays once, shows its page and ends on SIGTERM", () => {
      cpSync(join(root, "config/sandbox.yaml"), join(folder, "config/sandbox.yaml"))
      const script = `
        : >/tmp/lines
        /app/src/cofferer.sh run --sandbox /config/sandbox.yaml >/tmp/lines 2>&1 & daemon=$!
        tail -f -n +1 --pid=$daemon /tmp/lines | grep -m 1 -o '"msg":"payment confirmed"'
        for file in "" page/style.css page/page.js page/preact.js; do
          node -e 'fetch(process.argv[1]).then(({ status }) => console.log(status))' http://127.0.0.1:9464/$file
        done
        kill -TERM $daemon; wait $daemon; echo "ended with $?"
        /app/src/cofferer.sh intents -c /config/sandbox.yaml --output json`
      const { status, stdout, stderr } = run("/bin/sh", "-c", script)
      assert.strictEqual(status, 0, stderr)
      const lines = stdout.split("\n")
      assert.deepStrictEqual(lines.slice(0, 6), [
        '"msg":"payment confirmed"',
        "200",
        "200",
        "200",
        "200",
        "ended with 0",
      ])
      const payments = JSON.parse(lines.slice(6).join("\n")) as ReadonlyArray<{ readonly state: string }>
      assert.deepStrictEqual(
        payments.map(({ state }) => state),
        ["confirmed"],
      )
    })

    it("runs rules in code in a process of their own", () => {
      writeFileSync(join(folder, "config/coded.yaml"), codeTreasury("rules.ts"))
      writeFileSync(join(folder, "config/rules.ts"), 'import "node:fs"\nexport const rules = []\n')
      const { status, stderr } = run("/app/src/cofferer.sh", "check", "/config/coded.yaml")
      assert.strictEqual(status, 3)
      assert.include(stderr, '"node:fs" cannot be imported: rules decide from their input alone')
    })

    it("tells its version by the launcher", () => {
      const { status, stdout, stderr } = run("/app/src/cofferer.sh", "version")
      assert.strictEqual(status, 0, stderr)
      assert.include(stdout, (JSON.parse(read("package.json")) as { readonly version: string }).version)
    })

    it("halts, though its user has no name", () => {
      const { status, stdout, stderr } = run(
        "/bin/sh",
        "-c",
        "/app/src/cofferer.sh halt --reason drill; cat /data/HALT",
      )
      assert.strictEqual(status, 0, stderr)
      assert.match(stdout, /uid10001: drill/)
    })

    it("leaves no memory image of a daemon, whatever limit the engine gives", () => {
      cpSync(join(root, "config/sandbox.yaml"), join(folder, "config/sandbox.yaml"))
      const script = `
        ulimit -S -c "$(ulimit -H -c)"
        /app/src/cofferer.sh run --sandbox /config/sandbox.yaml >/dev/null 2>&1 & daemon=$!
        until [ -S /data/cofferer.sock ]; do kill -0 $daemon || exit 1; done
        grep "^Max core file size" /proc/$daemon/limits
        kill -KILL $daemon`
      const { status, stdout, stderr } = run("/bin/sh", "-c", script)
      assert.strictEqual(status, 0, stderr)
      assert.match(stdout, /^Max core file size +0 +0 /)
    })

    it("shows its page beyond loopback to a browser with the token, and metrics at a port of their own", () => {
      cpSync(join(root, "config/sandbox.yaml"), join(folder, "config/sandbox.yaml"))
      const visit = `
        const { readFileSync } = require("node:fs")
        const page = "http://127.0.0.1:9464/"
        const statusOf = async (url, init) => (await fetch(url, { redirect: "manual", ...init })).status
        const run = async () => {
          const body = new URLSearchParams({ token: readFileSync("/data/read-token", "utf8") })
          const entered = await fetch(page + "login", { method: "POST", body, redirect: "manual" })
          const cookie = entered.headers.get("set-cookie").split(";")[0]
          console.log(await statusOf(page), entered.status, await statusOf(page, { headers: { cookie } }),
            await statusOf("http://127.0.0.1:9465/metrics"))
        }
        run()`
      const script = `
        export COFFERER_LISTEN=0.0.0.0:9464 COFFERER_METRICS=0.0.0.0:9465
        /app/src/cofferer.sh run --sandbox /config/sandbox.yaml >/tmp/log 2>&1 & daemon=$!
        until grep -q '"msg":"metrics listening"' /tmp/log; do kill -0 $daemon || exit 1; done
        node -e "$0"
        kill -KILL $daemon`
      const { stdout, stderr } = run("/bin/sh", "-c", script, visit)
      assert.strictEqual(stdout, "401 303 200 200\n", stderr)
    })

    it("is found alive by its health check, which starts no second Node", () => {
      cpSync(join(root, "config/sandbox.yaml"), join(folder, "config/sandbox.yaml"))
      const script = `
        rm -f /data/page-address
        /app/src/health.sh && exit 1
        COFFERER_LISTEN=0.0.0.0:9464 /app/src/cofferer.sh run --sandbox /config/sandbox.yaml >/dev/null 2>&1 & daemon=$!
        until [ -s /data/page-address ]; do kill -0 $daemon || exit 1; done
        PATH= /app/src/health.sh; echo "health $?"
        kill -TERM $daemon; wait $daemon
        /app/src/health.sh`
      const { status, stdout, stderr } = run("/bin/sh", "-c", script)
      const said = "nothing listens on 127.0.0.1 port 9464"
      assert.match(stdout, new RegExp(`^no daemon has written /data/page-address: .*\\nhealth 0\\n${said}\\n$`), stderr)
      assert.strictEqual(status, 1)
    })

    it("checks a mounted configuration", () => {
      cpSync(join(root, "config/sandbox.yaml"), join(folder, "config/sandbox.yaml"))
      const { status, stderr } = run("/app/src/cofferer.sh", "check", "/config/sandbox.yaml")
      assert.strictEqual(status, 0, stderr)
    })
  })
})
