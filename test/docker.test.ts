import { spawnSync } from "node:child_process"
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { makeContainer, productionPackages, readSteps, type Step } from "./docker/image.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string) => readFileSync(join(root, path), "utf8")
const dockerfile = read("Dockerfile")
const packageJson: { version: string; license: string } = JSON.parse(read("package.json"))

type Steps = ReadonlyArray<Step>
const all = (steps: Steps, keyword: string) => steps.filter((step) => step.keyword === keyword)
const last = (steps: Steps) => steps.filter((step) => step.stage === steps.at(-1)!.stage)
const only = (steps: Steps, keyword: string): Step | undefined => {
  const found = all(last(steps), keyword)
  return found.length === 1 ? found[0] : undefined
}
const variables = (steps: Steps) => all(last(steps), "ENV").flatMap(({ words }) => words)
const labels = (steps: Steps) =>
  all(last(steps), "LABEL")
    .map(({ text }) => text)
    .join(" ")
const runs = (steps: Steps) => all(steps, "RUN").map(({ text }) => text)
const argument = (steps: Steps, name: string) =>
  all(last(steps), "ARG")
    .map(({ words }) => words[0]!.split("="))
    .find(([n]) => n === name)?.[1]

/** [what holds, how it is seen, an edit after which it does not hold] */
const rules: ReadonlyArray<readonly [string, (steps: Steps) => boolean, readonly [string | RegExp, string]]> = [
  [
    "has two stages, each with a name",
    (s) => all(s, "FROM").length === 2 && all(s, "FROM").every(({ words }) => words[1] === "AS"),
    [" AS deps", ""],
  ],
  [
    "builds on the slim image of Node 24",
    (s) => all(s, "FROM").every(({ words }) => words[0] === "node:24-slim"),
    ["node:24-slim AS runtime", "node:latest AS runtime"],
  ],
  ["installs by the lock file", (s) => runs(s).some((run) => /^RUN npm ci /.test(run)), ["npm ci", "npm install"]],
  ["installs no development packages", (s) => runs(s).some((run) => run.includes(" --omit=dev ")), ["--omit=dev ", ""]],
  [
    "installs no second Node",
    (s) => runs(s).some((run) => run.includes(" --omit=optional ")),
    ["--omit=optional ", ""],
  ],
  [
    "runs no install scripts",
    (s) => runs(s).some((run) => run.includes(" --ignore-scripts")),
    ["--ignore-scripts ", ""],
  ],
  [
    "installs before it copies the sources",
    (s) => all(s, "COPY")[0]?.words.join(" ") === "package.json package-lock.json ./",
    ["COPY package.json package-lock.json ./", "COPY package.json package-lock.json src ./"],
  ],
  [
    "takes the packages from the first stage",
    (s) =>
      only(
        s.filter(({ flags }) => flags.has("from")),
        "COPY",
      )?.flags.get("from") === "deps",
    ["--from=deps", "--from=other"],
  ],
  [
    "installs nothing in the last stage",
    (s) => all(last(s), "RUN").every(({ text }) => !/\bnpm\b/.test(text)),
    [/RUN install .*/, "RUN npm install -g x"],
  ],
  ["adds nothing by ADD", (s) => all(s, "ADD").length === 0, ["COPY --chmod=0555 src", "ADD src"]],
  [
    "fetches nothing",
    (s) => runs(s).every((run) => !/\b(curl|wget|apt|apt-get|apk|git)\b/.test(run)),
    ["RUN install", "RUN curl -O x && install"],
  ],
  [
    "copies named paths",
    (s) => all(s, "COPY").every(({ words }) => words.slice(0, -1).every((w) => !/[*?]|^\.{0,2}\/?$|\.\./.test(w))),
    ["src ./src", ". ./"],
  ],
  [
    "lets nobody write what it copies",
    (s) => all(last(s), "COPY").every(({ flags }) => flags.has("from") || /^0[45]{3}$/.test(flags.get("chmod") ?? "")),
    ["--chmod=0555", "--chmod=0777"],
  ],
  [
    "runs as a user by number, not root",
    (s) => only(s, "USER")?.words[0] === "10001:10001",
    ["USER 10001:10001", "USER node"],
  ],
  [
    "gives up root after the last command",
    (s) => last(s).findIndex((x) => x.keyword === "USER") > last(s).findLastIndex((x) => x.keyword === "RUN"),
    ["RUN install", "USER 10001:10001\nRUN install"],
  ],
  [
    "works in /app",
    (s) => all(s, "WORKDIR").every(({ words }) => words[0] === "/app"),
    [/WORKDIR \/app\nCOPY --from/, "WORKDIR app\nCOPY --from"],
  ],
  [
    "keeps its data in the volume /data",
    (s) => only(s, "VOLUME")?.words[0] === "/data" && variables(s).includes("COFFERER_DATA_DIR=/data"),
    ['VOLUME ["/data"]', 'VOLUME ["/var/data"]'],
  ],
  [
    "gives the volume to the user alone",
    (s) => runs(s).includes("RUN install -d -o 10001 -g 10001 -m 0700 /data"),
    ["-m 0700", "-m 0777"],
  ],
  [
    "owns the volume before it declares it",
    (s) => last(s).findIndex((x) => x.keyword === "VOLUME") > last(s).findIndex((x) => x.text.endsWith(" /data")),
    ["RUN install -d", 'VOLUME ["/data"]\nRUN install -d'],
  ],
  [
    "runs in production",
    (s) => variables(s).includes("NODE_ENV=production"),
    ["NODE_ENV=production", "NODE_ENV=development"],
  ],
  [
    "sets no other variable",
    (s) => variables(s).length === 2,
    ["COFFERER_DATA_DIR=/data", "COFFERER_DATA_DIR=/data NODE_OPTIONS=--inspect"],
  ],
  [
    "holds no secret",
    (s) => [...all(s, "ARG"), ...all(s, "ENV")].every(({ text }) => !/KEY|TOKEN|SECRET|PASS/i.test(text)),
    ["ARG REVISION=unknown", "ARG REVISION=unknown\nARG API_TOKEN"],
  ],
  [
    "exposes the page and metrics, above the privileged ports",
    (s) => only(s, "EXPOSE")?.words.join() === "9464",
    ["EXPOSE 9464", "EXPOSE 9464 80"],
  ],
  [
    "stops by SIGTERM",
    (s) => only(s, "STOPSIGNAL")?.words[0] === "SIGTERM",
    ["STOPSIGNAL SIGTERM", "STOPSIGNAL SIGKILL"],
  ],
  [
    "asks the program itself whether it lives",
    (s) =>
      only(s, "HEALTHCHECK")?.words.join(" ") === "/app/src/cofferer.sh status --live" &&
      only(s, "HEALTHCHECK")!.isExec,
    ['CMD ["/app/src/cofferer.sh", "status", "--live"]', "CMD curl -f http://127.0.0.1:9464/livez"],
  ],
  [
    "bounds the health check in time",
    (s) => ["interval", "timeout", "start-period", "retries"].every((f) => only(s, "HEALTHCHECK")?.flags.has(f)),
    [" --timeout=10s", ""],
  ],
  [
    "starts by the launcher, as process 1",
    (s) => only(s, "ENTRYPOINT")?.isExec === true && only(s, "ENTRYPOINT")!.words.join(" ") === "/app/src/cofferer.sh",
    ['ENTRYPOINT ["/app/src/cofferer.sh"]', "ENTRYPOINT /app/src/cofferer.sh"],
  ],
  [
    "runs the mounted treasury by default",
    (s) => only(s, "CMD")?.isExec === true && only(s, "CMD")!.words.join(" ") === "run /config/treasury.yaml",
    ['CMD ["run", "/config/treasury.yaml"]', "CMD run /config/treasury.yaml"],
  ],
  [
    "is labelled",
    (s) =>
      ["title", "description", "licenses", "version", "revision"].every((l) =>
        labels(s).includes(`org.opencontainers.image.${l}=`),
      ),
    [/ org.opencontainers.image.revision=.*\n/, ""],
  ],
  [
    "carries the version and licence of the package",
    (s) => argument(s, "VERSION") === packageJson.version && labels(s).includes(`licenses="${packageJson.license}"`),
    [`VERSION=${packageJson.version}`, "VERSION=9.9.9"],
  ],
  [
    "changes no shell and leaves no triggers",
    (s) => all(s, "SHELL").length + all(s, "ONBUILD").length === 0,
    ["USER 10001:10001", 'SHELL ["/bin/bash", "-c"]\nUSER 10001:10001'],
  ],
]

describe("the Dockerfile", () => {
  it.each([...rules])("%s", (_, holds, [from, to]) => {
    assert.isTrue(holds(readSteps(dockerfile)))
    const broken = dockerfile.replace(from, to)
    assert.notStrictEqual(broken, dockerfile, "the edit no longer applies")
    assert.isFalse(holds(readSteps(broken)), "the rule does not see the edit")
  })
})

describe("the build context", () => {
  const lines = read(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))

  it("leaves out everything that is not named", () => {
    assert.strictEqual(lines[0], "*")
    assert.sameMembers(
      lines.filter((line) => line.startsWith("!")),
      ["!LICENSE", "!package.json", "!package-lock.json", "!src"],
    )
  })

  it("names what the Dockerfile copies, and that exists", () => {
    const sources = all(readSteps(dockerfile), "COPY").flatMap((s) => (s.flags.has("from") ? [] : s.words.slice(0, -1)))
    assert.isNotEmpty(sources)
    for (const source of sources) {
      assert.include(lines, `!${source}`)
      assert.isTrue(existsSync(join(root, source)), source)
    }
  })
})

describe("the image", () => {
  const folder = mkdtempSync(join(tmpdir(), "cofferer-image-"))
  const app = join(folder, "image/app")
  beforeAll(() => {
    makeContainer(readSteps(dockerfile), folder)
    // The user of the container is another one than the user of this test.
    for (const name of [folder, join(folder, "data"), join(folder, "config")]) chmodSync(name, 0o777)
  })
  afterAll(() => {
    // The image is read-only, for its owner too.
    spawnSync("chmod", ["-R", "u+w", folder])
    rmSync(folder, { recursive: true, force: true })
  })

  it("holds the program, its packages and nothing else", () => {
    assert.sameMembers(readdirSync(app), ["LICENSE", "package.json", "node_modules", "src"])
    assert.include(productionPackages(), "node_modules/effect")
    assert.isFalse(existsSync(join(app, "node_modules/vitest")))
    assert.isFalse(existsSync(join(app, "node_modules/.bin/node")))
  })

  it("contains every package that the sources import", () => {
    const imported = new Set<string>()
    for (const file of readdirSync(join(app, "src"), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue
      const text = readFileSync(join(app, "src", file), "utf8")
      for (const [, name] of text.matchAll(/from "((?:@[\w-]+\/)?[\w-]+)[/"]/g)) imported.add(name!)
    }
    assert.include([...imported], "effect")
    // What operators import of the program itself.
    imported.delete("cofferer")
    for (const name of imported) assert.isTrue(existsSync(join(app, "node_modules", name, "package.json")), name)
  })

  const refusal = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"], { encoding: "utf8" })
  if (refusal.status !== 0) {
    const why = `not run as a container: ${refusal.error?.message ?? refusal.stderr.trim()}`
    it("runs confined", () => {
      console.warn(why)
      assert.notStrictEqual(process.env["CI"], "true", why)
    })
    return
  }

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

  it("opens its database and starts its threads there", () => {
    const program = `
      import { existsSync } from "node:fs"
      import { DatabaseSync } from "node:sqlite"
      import { Effect, Layer } from "effect"
      import { ProofOfWork } from "/app/src/pow/ProofOfWork.ts"
      import { Metrics } from "/app/src/telemetry/Metrics.ts"
      const db = new DatabaseSync(process.env.COFFERER_DATA_DIR + "/probe.db")
      db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
      const metrics = Metrics.layer({ treasury: "t", mode: "observe", gateways: [], rules: [], receivers: [], version: "0",
        revision: "0" })
      const solve = ProofOfWork.use((pow) => pow.solve({ blockHash: "0".repeat(64), tid: "1", difficulty: 4 }))
      await Effect.runPromise(Effect.provide(solve, ProofOfWork.layer.pipe(Layer.provide(metrics))))
      console.log("solved", existsSync("/data/probe.db"))`
    const { status, stdout, stderr } = run("node", "--input-type=module-typescript", "-e", program)
    assert.deepStrictEqual([status, stdout], [0, "solved true\n"], stderr)
  })

  // The command line composes the whole program; a checkout without it has nothing to start.
  if (!existsSync(join(root, "src/main.ts"))) return

  it("tells its version by the launcher", () => {
    const { status, stdout, stderr } = run("/app/src/cofferer.sh", "version")
    assert.strictEqual(status, 0, stderr)
    assert.include(stdout, packageJson.version)
  })

  it("halts, though its user has no name", () => {
    const { status, stdout, stderr } = run("/bin/sh", "-c", "/app/src/cofferer.sh halt --reason drill; cat /data/HALT")
    assert.strictEqual(status, 0, stderr)
    assert.match(stdout, /uid10001: drill/)
  })

  it("leaves no memory image of a daemon that holds keys, whatever limit the engine gives", () => {
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

  it("checks a mounted configuration", () => {
    cpSync(join(root, "config/sandbox.yaml"), join(folder, "config/sandbox.yaml"))
    const { status, stderr } = run("/app/src/cofferer.sh", "check", "/config/sandbox.yaml")
    assert.strictEqual(status, 0, stderr)
  })
})
