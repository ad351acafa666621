import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { type Caller, tryNow } from "../../src/cli/narrate.ts"
import { root } from "../support/Cofferer.ts"

const home = root.replace(/\/$/, "")
const at = (cwd: string, env: Caller["env"] = {}): Caller => ({ cwd, env: { PATH: "/bin:/usr/local/bin", ...env } })
const found = (dataDir: string, ...files: readonly [string, ...ReadonlyArray<string>]) => {
  return { treasury: { file: files[0], files }, dataDir }
}

describe("commands that the daemon proposes", () => {
  it("are npm's in the package's own folder", () => {
    assert.deepStrictEqual(tryNow(found(join(home, ".cofferer"), join(home, "config/sandbox.yaml")), at(home)), {
      again: "npm start",
      status: "npm run -s cofferer -- status",
      intents: "npm run -s cofferer -- intents",
    })
    const other = tryNow(found(join(home, "d"), join(home, "config/desks.yaml")), at(home))
    assert.strictEqual(other.status, "npm run -s cofferer -- status -c config/desks.yaml --data d")
  })

  it("are typed as the program was called, with its file and directory", () => {
    const called = at("/srv/ana", { COFFERER_LAUNCHER: "/opt/cofferer/src/cofferer.sh" })
    const wrong = tryNow(found("/srv/ana/wd", "/srv/ana/wrongdesk.yaml"), called)
    assert.strictEqual(wrong.status, "/opt/cofferer/src/cofferer.sh status -c wrongdesk.yaml --data wd")
    assert.strictEqual(wrong.again, "/opt/cofferer/src/cofferer.sh run --sandbox wrongdesk.yaml --data wd")
    const plain = tryNow(found("/srv/ana/.cofferer", "/srv/ana/treasury.yaml"), called)
    assert.strictEqual(plain.intents, "/opt/cofferer/src/cofferer.sh intents")
    const two = tryNow(found("/var/lib/x", "/srv/ana/treasury.yaml", "/etc/my desk.yaml"), called)
    const files = "-c treasury.yaml -c '/etc/my desk.yaml' --data /var/lib/x"
    assert.strictEqual(two.again, `/opt/cofferer/src/cofferer.sh run --sandbox ${files}`)
    assert.strictEqual(two.status, `/opt/cofferer/src/cofferer.sh status ${files}`)
  })

  it("are short where the program is found by its name, or by npx", () => {
    const plain = found("/srv/ana/.cofferer", "/srv/ana/treasury.yaml")
    const linked = at("/srv/ana", { COFFERER_LAUNCHER: "/usr/local/bin/cofferer" })
    assert.strictEqual(tryNow(plain, linked).status, "cofferer status")
    assert.strictEqual(tryNow(plain, at("/srv/ana", { npm_command: "exec" })).status, "npx cofferer status")
  })
})
