import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { readSteps, type Step } from "./docker/image.ts"

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
    [" AS build", ""],
  ],
  [
    "builds on the slim image of Node 24",
    (s) =>
      s[0]!.text === "ARG NODE_IMAGE=node:24-slim" && all(s, "FROM").every(({ words }) => words[0] === "$NODE_IMAGE"),
    ["$NODE_IMAGE AS runtime", "node:latest AS runtime"],
  ],
  [
    "names the base image once, so that one digest pins both stages",
    (s) => s.filter(({ text }) => /\bnode:/.test(text)).length === 1,
    ["$NODE_IMAGE AS build", "node:24-slim AS build"],
  ],
  ["installs by the lock file", (s) => runs(s).some((run) => /^RUN npm ci /.test(run)), ["npm ci", "npm install"]],
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
    "takes nothing but the bundle of the first stage",
    (s) => only(s, "COPY")?.text === "COPY --from=build /image ./" && runs(s).includes("RUN node .ci/bundle.ts /image"),
    ["COPY --from=build /image ./", "COPY --from=build /app ./"],
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
    "lets nobody write the sources, and everybody read them",
    (s) =>
      all(s, "COPY")
        .find(({ words }) => words[0] === "src")
        ?.flags.get("chmod") === "0555",
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
    "asks the daemon whether it lives, without a second Node",
    (s) => only(s, "HEALTHCHECK")?.words.join(" ") === "/app/src/health.sh" && only(s, "HEALTHCHECK")!.isExec,
    ['CMD ["/app/src/health.sh"]', "CMD curl -f http://127.0.0.1:9464/livez"],
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
      ["!.ci/bundle.ts", "!config/sandbox.yaml", "!LICENSE", "!package.json", "!package-lock.json", "!src"],
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
