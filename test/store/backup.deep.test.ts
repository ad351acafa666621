import { execFileSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import { assert, beforeEach, describe, it } from "vitest"
import * as Database from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { storeFileProblem } from "../../src/store/database/StoreFile.ts"
import { asAdmin, serverUrl, takeDatabase, urlOf } from "../support/Postgres.ts"
import { startServer } from "../support/PostgresServer.ts"
import { tempDir } from "../support/tempDir.ts"

const root = "/usr/lib/postgresql"
const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
const tool = (name: string, ...args: ReadonlyArray<string>) =>
  execFileSync(join(root, versions[0] ?? "", "bin", name), args, { encoding: "utf8", stdio: "pipe", timeout: 120_000 })

describe("a backup of PostgreSQL", () => {
  const file = join(tempDir("backup"), "cofferer.dump")
  beforeEach(({ skip }) => skip(serverUrl() === "" || versions.length === 0, "needs PostgreSQL and its tools"))

  it("is made by an administrator alone, and is known as restored by each treasury", async () => {
    const name = await Effect.runPromise(takeDatabase)
    const url = Redacted.make(urlOf(serverUrl(), name))
    const problem = (treasury: string) => {
      const store = Database.layer({ treasury, postgres: { url, lease: { waitMillis: 0 } } })
      return Effect.runPromise(Effect.provide(storeFileProblem(""), Layer.provideMerge(Settings.layer, store)))
    }
    for (const treasury of ["harbor", "cove"]) assert.isUndefined(await problem(treasury))
    assert.throws(() => tool("pg_dump", "-Fc", "-f", file, Redacted.value(url)), /row-level security/)
    const admin = urlOf(serverUrl(), name, new URL(serverUrl()).username)
    tool("pg_dump", "-Fc", "-f", file, admin)
    const again = [`DROP DATABASE ${name}`, `CREATE DATABASE ${name} OWNER cofferer`]
    await Effect.runPromise(asAdmin("postgres", ...again))
    tool("pg_restore", "--exit-on-error", "--single-transaction", "-d", admin, file)
    for (const treasury of ["harbor", "cove"])
      assert.match((await problem(treasury)) ?? "", /^the database was restored/)
    await Effect.runPromise(asAdmin("postgres", `DROP DATABASE ${name}`))
  })
})

describe("a standby that was promoted", () => {
  it("is known as restored at once, before its first checkpoint", async ({ skip }) => {
    const server = startServer(["checkpoint_timeout=1h", "shared_buffers=64MB"])
    if (server === undefined) return skip("needs PostgreSQL")
    const psql = (text: string) => tool("psql", "-X", "-d", server.url, "-c", text)
    try {
      psql("CREATE ROLE cofferer LOGIN")
      psql("CREATE DATABASE promoted OWNER cofferer")
      const url = Redacted.make(urlOf(server.url, "promoted"))
      const store = Database.layer({ treasury: "harbor", postgres: { url, holder: "one" } })
      const problem = () =>
        Effect.runPromise(Effect.provide(storeFileProblem(""), Layer.provideMerge(Settings.layer, store)))
      assert.isUndefined(await problem())
      psql("CREATE TABLE dirty AS SELECT g, repeat('x', 900) FROM generate_series(1, 30000) g")
      server.promote()
      assert.match((await problem()) ?? "", /^the database was restored, or its server replaced/)
    } finally {
      server.stop()
    }
  })
})
