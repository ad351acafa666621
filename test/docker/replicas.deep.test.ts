import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { startServer } from "../support/PostgresServer.ts"

describe("the PostgreSQL of the compose file", () => {
  it("gets a role with the password of the one secret, and an administrator without any", ({ skip }) => {
    const server = startServer()
    if (server === undefined) return skip("needs PostgreSQL")
    const psql = (...args: ReadonlyArray<string>) => {
      const common = ["-X", "-h", server.dir, "-U", "postgres", "-v", "ON_ERROR_STOP=1", ...args]
      const env = { ...process.env, POSTGRES_PASSWORD: "postgres://cofferer:0123abcd@127.0.0.1/cofferer" }
      const { status, stdout, stderr } = spawnSync("psql", common, { encoding: "utf8", timeout: 120_000, env })
      assert.strictEqual(status, 0, stderr)
      return stdout.trim()
    }
    try {
      psql("-c", "ALTER ROLE postgres PASSWORD 'another'")
      psql("-c", "SET password_encryption = md5", "-f", join(root, "config/postgres.sql"))
      const md5 = "'md5' || md5('0123abcd' || 'cofferer')"
      const roles = `SELECT rolname, rolsuper, rolbypassrls, rolpassword = ${md5} FROM pg_authid WHERE rolcanlogin`
      assert.strictEqual(psql("-At", "-c", `${roles} ORDER BY 1`), "cofferer|f|f|t\npostgres|t|t|")
      const owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'cofferer'"
      assert.strictEqual(psql("-At", "-c", owner), "cofferer")
    } finally {
      server.stop()
    }
  })
})
