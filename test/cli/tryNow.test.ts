import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { suggestedCommands } from "../../src/cli/run/narrate.ts"
import { root } from "../support/Cofferer.ts"

const home = root.replace(/\/$/, "")
const npm = "npm run -s cofferer --"
const files = "-c treasury.yaml -c '/etc/my desk.yaml' --data /var/lib/x"

describe("commands that the daemon proposes", () => {
  it.each([
    [home, ".cofferer", ["config/sandbox.yaml"], "npm start", `${npm} status`],
    [
      home,
      "d",
      ["config/desks.yaml"],
      `${npm} run --sandbox config/desks.yaml --data d`,
      `${npm} status -c config/desks.yaml --data d`,
    ],
    ["/srv/ana", ".cofferer", ["treasury.yaml"], "cofferer run --sandbox treasury.yaml", "cofferer status"],
    [
      "/srv/ana",
      "/var/lib/x",
      ["treasury.yaml", "/etc/my desk.yaml"],
      `cofferer run --sandbox ${files}`,
      `cofferer status ${files}`,
    ],
  ])("in %s with the data directory %s name the files %j", (cwd, data, names, again, status) => {
    const paths = names.map((name) => (name.startsWith("/") ? name : join(cwd, name)))
    const dataDir = data.startsWith("/") ? data : join(cwd, data)
    const said = suggestedCommands(
      { treasury: { file: paths[0]!, files: [paths[0]!, ...paths.slice(1)] }, dataDir },
      cwd,
    )
    assert.deepStrictEqual([said.again, said.status], [again, status])
  })
})
