import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { findTreasury, isTreasuries, loadDaemon, treasuriesIn } from "../../src/config/DaemonFile.ts"
import { treasuriesPage } from "../../src/http/access/pages.ts"
import { mergeMetrics } from "../../src/telemetry/Metrics.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("daemon-file")
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const folder = (name: string, files: Readonly<Record<string, string>>): string => {
  for (const [file, text] of Object.entries(files)) {
    const path = join(dir, name, file)
    mkdirSync(join(path, ".."), { recursive: true })
    writeFileSync(path, text)
  }
  return join(dir, name)
}

describe("a folder of several treasuries", () => {
  it("is told from the parts of one by the key daemon", () => {
    assert.isTrue(isTreasuries(folder("several", { "daemon.yaml": "version: 1\n" })))
    assert.isFalse(isTreasuries(folder("one", { "daemon.yaml": "daemon:\n  logLevel: info\n" })))
    assert.isFalse(isTreasuries(folder("none", { "treasury.yaml": "version: 1\n" })))
  })

  it("names each by its file or by what the file says", () => {
    const files = {
      "daemon.yaml": "version: 1\n",
      "b.yaml": "version: 1\nname: harbor # the first\n",
      "c.yml": 'version: 1\nname: "quay"\n',
      "desk.yaml": "broken: [",
      "parts/network.yaml": "network: {}\n",
      "parts/head.yaml": "version: 1\nname: pier\n",
      "keys/reserve": "00",
      ".hidden/x.yaml": "name: hidden\n",
      "data/cofferer/notes.txt": "",
      "readme.md": "",
    }
    const names = treasuriesIn({ dir: folder("names", files), dataDir: join(dir, "names/data") })
    assert.deepStrictEqual(
      names.map(({ name, file }) => `${name} ${file.slice(dir.length + 7)}`),
      ["desk desk.yaml", "harbor b.yaml", "pier parts", "quay c.yml"],
    )
  })

  it("has the others beside what cannot be read, and knows the folder that file systems make", () => {
    const files = folder("unreadable", { "daemon.yaml": "version: 1\n", "harbor.yaml": "", "lost+found/a.yaml": "" })
    symlinkSync("quay", join(files, "quay"))
    const names = treasuriesIn({ dir: files, dataDir: join(files, ".data") }).map(({ name }) => name)
    assert.deepStrictEqual(names, ["harbor", "quay"])
  })

  const mistakes: ReadonlyArray<readonly [text: string, error: RegExp]> = [
    ["version: 2\n", /daemon.yaml:1:10 {2}/],
    ["version: 1\nlistn: x\n", /daemon.yaml:2:1 {2}unknown key "listn"; did you mean "listen"\?/],
    ["version: 1\nrequestsPerSecond: 0\n", /daemon.yaml:2:20 {2}.*number/],
    ["version: 1\ntracing: { url: 'https://x', headers: { a: { file: gone } } }\n", /gone/],
    ["version: 1\ndatabase: { postgres: { urlFile: none } }\n", /daemon.yaml:2:34 {2}no such file: .*none; /],
  ]
  for (const [text, error] of mistakes) {
    it.effect(`names place and remedy of ${JSON.stringify(text)}`, function* () {
      const failure = yield* Effect.flip(loadDaemon(folder("mistake", { "daemon.yaml": text })))
      assert.match(failure.message, error)
    })
  }

  it.effect("finds one by its name alone", function* () {
    const all = ["harbor", "quay"].map((name) => ({ name, file: `/x/${name}.yaml` }))
    const twin = [...all, { name: "quay", file: "/x/copy.yaml" }]
    const find = (name: string | undefined, among = all) => Effect.result(findTreasury({ dir: "/x" }, name, among))
    assert.strictEqual((yield* find("harbor"))._tag, "Success")
    const errors = [yield* find("harbour"), yield* find(undefined), yield* find("quay", twin)].map((result) =>
      result._tag === "Failure" ? result.failure.message : "",
    )
    assert.deepStrictEqual(errors, [
      '/x  holds no treasury harbour; did you mean "harbor"?',
      "/x  holds 2 treasuries; name one with --treasury; known here: harbor, quay",
      '/x/quay.yaml  the name quay is also that of copy.yaml; give each a name of its own: "name: ..."',
    ])
  })
})

describe("the list of treasuries", () => {
  it("shows what files and errors say, and runs none of it", () => {
    const row = {
      name: '<img src="x">',
      file: "x",
      state: "ended",
      severity: "bad",
      text: "<script>",
      since: "",
    } as const
    const body = JSON.stringify(treasuriesPage([row]).body)
    assert.include(body, "&#60;img src=&#34;x&#34;&#62;")
    assert.include(body, "&#60;script&#62;")
    assert.notMatch(Buffer.from((treasuriesPage([row]).body as { body: Uint8Array }).body).toString(), /<img|<script>/)
  })
})

describe("metrics of several treasuries", () => {
  it("stand together by their names, each described once", () => {
    const text = (name: string) =>
      `# HELP a first\n# TYPE a gauge\na{t="${name}"} 1\n\n# HELP b second\n# TYPE b gauge\n`
    const merged = mergeMetrics([text("x"), text("y")])
    assert.strictEqual(
      merged,
      '# HELP a first\n# TYPE a gauge\na{t="x"} 1\na{t="y"} 1\n\n# HELP b second\n# TYPE b gauge\n',
    )
  })
})
