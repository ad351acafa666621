import { resolve } from "node:path"
import { assert, describe, it } from "vitest"
import { suggestedCommands } from "../../src/cli/run/runLog.ts"
import { root } from "../support/Cofferer.ts"

const home = root.replace(/\/$/, "")
const npm = "npm run -s cofferer --"
const inShell = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path}'`)
const desk = `-c ${inShell(`${home}/config/desks.yaml`)} --data ${inShell(`${home}/d`)}`
const files = "-c /srv/ana/treasury.yaml -c '/etc/my desk.yaml' --data /var/lib/x"

describe("commands that the daemon proposes", () => {
  it.each([
    [home, ".cofferer", ["config/sandbox.yaml"], undefined, "npm start", `${npm} status`],
    [home, "d", ["config/desks.yaml"], undefined, `${npm} run --sandbox ${desk}`, `${npm} status ${desk}`],
    [
      "/srv/ana",
      "/var/lib/x",
      ["treasury.yaml", "/etc/my desk.yaml"],
      undefined,
      `cofferer run --sandbox ${files}`,
      `cofferer status ${files}`,
    ],
    [
      "/srv/ana",
      "/var/lib/x",
      ["treasury.yaml"],
      "/var/lib/x",
      "cofferer run --sandbox -c /srv/ana/treasury.yaml",
      "cofferer status -c /srv/ana/treasury.yaml",
    ],
  ])("in %s with the data directory %s name the files %j", (cwd, data, names, storeDir, again, status) => {
    const treasury = { files: [resolve(cwd, names[0]!), ...names.slice(1)] as const, storeDir }
    const said = suggestedCommands({ treasury, dataDir: resolve(cwd, data) }, cwd)
    assert.deepStrictEqual([said.again, said.status], [again, status])
  })
})
