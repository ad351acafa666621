import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { assert, beforeAll, describe, it } from "vitest"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { storeLayer } from "../../src/layers.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("backfill")
const file = join(dir, "treasury.yaml")
const [fresh, data] = [join(dir, "fresh"), join(dir, "data")]
const run = (dataDir: string, ...args: ReadonlyArray<string>) =>
  callCofferer([...args, "--config", file, "--data", dataDir])

const inStore = <A, E>(dataDir: string, program: Effect.Effect<A, E, Observations>) =>
  Effect.gen(function* () {
    const treasury = yield* loadTreasury(file)
    return yield* program.pipe(Effect.provide(storeLayer({ treasury, dataDir })))
  })

const nanos = (iso: string) => BigInt(Date.parse(iso)) * 1_000_000n

beforeAll(async () => {
  writeFileSync(file, readFileSync(join(root, "config/sandbox.yaml")))
  for (const made of [fresh, data]) mkdirSync(made)
  await Effect.runPromise(inStore(fresh, Effect.void))
  const read = Effect.gen(function* () {
    yield* (yield* Observations).rebase([], { timestamp: nanos("2026-11-20T00:00:00Z"), height: 5n })
    yield* (yield* Observations).noteGap({
      since: nanos("2026-11-01T00:00:00Z"),
      until: nanos("2026-11-03T00:00:00Z"),
      cause: "forgotten",
    })
  })
  await Effect.runPromise(inStore(data, read))
})
describe("backfill, where no daemon runs", () => {
  it("asks for the past once, and the status shows it beside what is lost", async () => {
    const asked = await run(data, "backfill", "--since", "2026-11-10T00:00:00Z")
    assert.strictEqual(asked.code, 0, asked.stderr)
    assert.match(asked.stdout, /^the next daemon reads the balance changes from 2026-11-10T.* to 2026-11-20T/)
    const again = await run(data, "backfill", "--since", "2026-11-12T00:00:00Z", "--output", "json")
    assert.deepStrictEqual(JSON.parse(again.stdout), {
      running: false,
      since: "2026-11-12T00:00:00.000Z",
      until: null,
    })
    const jobs = await Effect.runPromise(
      inStore(
        data,
        Effect.flatMap(Observations, (one) => one.backfills),
      ),
    )
    assert.deepStrictEqual(
      jobs.map(({ since, next, until }) => [since, next, until]),
      [[nanos("2026-11-10T00:00:00Z"), nanos("2026-11-10T00:00:00Z"), nanos("2026-11-20T00:00:00Z")]],
    )
    const { stdout } = await run(data, "status")
    const printed = JSON.parse((await run(data, "status", "--output", "json")).stdout)
    assert.isFalse(printed.running)
    assert.strictEqual(printed.sentence.severity, "bad", "a database alone never means that all is well")
    assert.match(stdout, /^past \(UTC\)\n.*2026-11-01 00:00:00 +2026-11-03 00:00:00 +lost: forgotten$/m)
    assert.match(stdout, /2026-11-10 00:00:00 +2026-11-20 00:00:00 +0 % read, now at 2026-11-10 00:00:00$/m)
  })

  it("refuses what makes no sense, with one line that says what to do", async () => {
    const cases: ReadonlyArray<readonly [number, RegExp, ReadonlyArray<string>]> = [
      [4, /no daemon runs in .*, and it has no database/, [join(dir, "nowhere"), "7d"]],
      [2, /no balance was read yet; run the daemon first/, [fresh, "7d"]],
      [2, /rows as old as that are not kept; let store.keep/, [data, "2024-01-01T00:00:00Z"]],
      [2, /no network is that old; give a time after 2020/, [data, "2019-01-01T00:00:00Z"]],
      [2, /that time is yet to come/, [data, "2090-01-01T00:00:00Z"]],
      [2, /a duration back from now, such as 5m/, [data, "yesterday"]],
    ]
    for (const [code, says, [dataDir = "", since = ""]] of cases) {
      const refused = await run(dataDir, "backfill", "--since", since)
      assert.deepStrictEqual([refused.code, refused.stdout], [code, ""], refused.stderr)
      assert.match(refused.stderr, says)
    }
  })
})
