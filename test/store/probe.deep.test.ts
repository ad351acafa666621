import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { databaseFile } from "../../src/store/Database.ts"
import { root } from "../support/Cofferer.ts"

const program = (dir: string): string => `
  import { Effect } from "effect"
  import { DiskSpace } from "./src/store/DiskSpace.ts"
  const probe = Effect.flatMap(DiskSpace, ({ probe }) => probe)
  console.log(await Effect.runPromise(Effect.provide(probe, DiskSpace.layer(${JSON.stringify(dir)}))))
`

/** What a process finds whose files may have 2,048,000 bytes, beside files of these sizes. */
const probed = (sizes: Readonly<Record<string, number>>): string => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-probe-"))
  try {
    for (const [name, size] of Object.entries(sizes)) {
      writeFileSync(join(dir, name), "")
      truncateSync(join(dir, name), size)
    }
    const node = `${JSON.stringify(process.execPath)} --disable-warning=ExperimentalWarning`
    const command = `ulimit -f 2000 && exec ${node} --input-type=module-typescript -e "$0"`
    const said = execFileSync("bash", ["-c", command, program(dir)], {
      cwd: root,
      encoding: "utf8",
      timeout: 120_000,
    }).trim()
    assert.deepStrictEqual(readdirSync(dir).sort(), Object.keys(sizes).sort(), "nothing is left behind")
    return said
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

describe("the probe of a disk", () => {
  it("takes a few pages where the files are small", () => {
    assert.strictEqual(probed({ [databaseFile]: 1_000_000, [`${databaseFile}-wal`]: 500_000 }), "true")
  })

  it.each([
    ["its write-ahead log", { [databaseFile]: 4_096, [`${databaseFile}-wal`]: 2_040_000 }],
    ["its database", { [databaseFile]: 2_040_000, [`${databaseFile}-wal`]: 0 }],
    ["its database once the log is in it", { [databaseFile]: 1_500_000, [`${databaseFile}-wal`]: 600_000 }],
  ])("takes none where a limit keeps the store from growing: %s", (_, sizes) => {
    assert.strictEqual(probed(sizes), "false")
  })
})
