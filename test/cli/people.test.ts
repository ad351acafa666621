import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { assert, beforeAll, describe, it } from "vitest"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { decisionEntry } from "../../src/engine/record.ts"
import { storeLayer } from "../../src/layers.ts"
import { noteStart } from "../../src/store/controls/starts.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { cofferer, type Outcome, root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { attemptOf, intentOf } from "../support/Payments.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("people")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")
const ids = { proposed: intentOf("1").id, reserved: intentOf("2").id, manual: intentOf("3").id }

const run = (...args: ReadonlyArray<string>): Promise<Outcome> => {
  const [command = "", ...rest] = args
  return callCofferer([command, ...rest, "--config", file, "--data", data])
}
const ended = (...args: ReadonlyArray<string>) => run("intents", ...args, "--reason", "asked by the desk")

/** A stopped daemon's data: a payment that is proposed, one that is reserved, one that people must look at. */
const fill = Effect.gen(function* () {
  const treasury = yield* loadTreasury(file)
  yield* Effect.gen(function* () {
    const outbox = yield* Outbox
    for (const id of ["1", "2", "3"]) {
      const intent = intentOf(id)
      yield* outbox.record(intent, decisionEntry(intent, treasury.policy))
      if (id !== "1") yield* outbox.move(intent, "reserved", { detail: "permitted" })
    }
    const reserved = (yield* outbox.open).find((i) => i.id === ids.manual)!
    yield* outbox.persist(reserved, attemptOf(reserved, 1))
    const flying = (yield* outbox.open).find((i) => i.id === ids.manual)!
    yield* outbox.move(flying, "manual", { detail: "nothing tells" })
  }).pipe(Effect.provide(storeLayer({ treasury, dataDir: data })))
})

beforeAll(async () => {
  writeFileSync(file, readFileSync(join(root, "config/sandbox.yaml")))
  mkdirSync(data)
  await Effect.runPromise(fill)
})
describe("people at the data of a daemon that does not run", () => {
  it("end what may end, and are told who said so", async () => {
    const done = await ended("cancel", ids.proposed.slice(0, 8), "--output", "json")
    assert.strictEqual(done.code, 0, done.stderr)
    assert.containSubset(JSON.parse(done.stdout), { state: "cancelled", reason: "asked by the desk" })
    const resolved = await ended("resolve", ids.manual.slice(0, 8), "--never-executed")
    assert.match(
      resolved.stdout,
      /is resolved as never executed by \w+: asked by the desk\nnothing pays it any more; if it is still owed, pay it with "cofferer submit/,
    )
  })

  it("are refused with one line and the code of its kind", async () => {
    const cases: ReadonlyArray<readonly [number, RegExp, ReadonlyArray<string>]> = [
      [6, /is reserved: it cannot be abandoned; "intents cancel"$/, ["abandon", ids.reserved.slice(0, 8)]],
      [4, /no payment "9999"; see "cofferer intents .*--data .*"$/, ["cancel", "9999"]],
      [2, /either --executed TXHASH or --never-executed$/, ["resolve", ids.reserved.slice(0, 8)]],
    ]
    for (const [code, says, args] of cases) {
      const refused = await ended(...args)
      assert.deepStrictEqual([refused.code, refused.stdout], [code, ""], refused.stderr)
      assert.match(refused.stderr.trimEnd(), says)
      assert.lengthOf(refused.stderr.trimEnd().split("\n"), 1)
    }
  })

  it("are told to start it with the files that it was last run with", async () => {
    const command = async (...flags: ReadonlyArray<string>) => {
      const { stdout } = await cofferer(["status", ...flags, "--data", data], { cwd: dir })
      return /start it: "(.+?)"/.exec(stdout)?.[1]
    }
    assert.strictEqual(await command(), `cofferer run FILE --data ${data}`)
    assert.strictEqual(await command("-c", "treasury.yaml"), `cofferer run --sandbox treasury.yaml --data ${data}`)
    const other = `${dir}-other.yaml`
    copyFileSync(join(root, "config/sandbox-many.yaml"), other)
    const noteFiles = (files: readonly [string, ...ReadonlyArray<string>]) =>
      Effect.runPromise(
        Effect.flatMap(loadTreasury(file), (treasury) =>
          noteStart(files).pipe(Effect.provide(storeLayer({ treasury, dataDir: data }))),
        ),
      )
    await noteFiles([file, other])
    const both = `cofferer run --sandbox -c treasury.yaml -c ${other}`
    assert.strictEqual(await command(), `${both} --data ${data}`)
    const near = await cofferer(["status"], { cwd: dir, env: { COFFERER_DATA_DIR: data } })
    assert.include(near.stdout, `start it: "${both}"`)
    const spaced = join(dir, "my treasury.yaml")
    copyFileSync(file, spaced)
    assert.strictEqual(await command("-c", spaced), `cofferer run --sandbox '${spaced}' --data ${data}`)
    await noteFiles([spaced])
    assert.strictEqual(await command(), `cofferer run --sandbox 'my treasury.yaml' --data ${data}`)
  })

  it("are told when a list of payments is not whole", async () => {
    const [whole, cut, none] = await Promise.all([
      run("intents", "--limit", "3", "--output", "json"),
      run("intents", "--limit", "2", "--output", "json"),
      run("intents", "--limit", "0"),
    ])
    assert.deepStrictEqual([JSON.parse(whole.stdout).length, whole.stderr], [3, ""])
    assert.deepStrictEqual(
      [cut.code, JSON.parse(cut.stdout).length, cut.stderr],
      [0, 2, "the newest 2 payments; --limit N shows more\n"],
    )
    assert.deepStrictEqual([none.code, none.stdout], [2, ""])
    assert.include(none.stderr, 'flag --limit: "0". Expected: a number from 1 to 1000')
  })

  it("export what was decided", async () => {
    const { code, stdout } = await callCofferer(["export", "--config", file, "--data", data])
    assert.strictEqual(code, 0)
    const lines = stdout.split("\r\n")
    assert.match(lines[0] ?? "", /^id,state,decidedAt,/)
    assert.deepStrictEqual(
      lines
        .slice(1, 4)
        .map((line) => line.split(",")[1])
        .toSorted(),
      ["abandoned", "cancelled", "reserved"],
    )
  })

  it("get no receipt for an unsigned payment, and hear what explains it", async () => {
    const out = join(dir, "receipt.json")
    for (const id of [ids.proposed, ids.reserved]) {
      const { code, stdout, stderr } = await run("receipt", id, "--file", out)
      assert.deepStrictEqual([code, stdout, existsSync(out)], [6, "", false])
      assert.match(
        stderr,
        /^cofferer: it was never signed, and without a signature there is no receipt; "intents show" /,
      )
    }
    writeFileSync(out, '{"receipt":2,"journal":{"entries":[],"links":[]}}')
    const broken = await callCofferer(["receipt", "verify", out])
    assert.deepStrictEqual([broken.code, broken.stdout], [1, ""])
    assert.match(broken.stderr, /^cofferer: receipt broken: it holds no journal entry\n$/)
  })

  it("learn where the journal is broken", async () => {
    const database = new DatabaseSync(join(data, databaseFile))
    database.exec("UPDATE journal SET body = replace(body, 'asked by the desk', 'forgotten') WHERE kind = 'intent'")
    database.close()
    const { code, stdout, stderr } = await run("verify", "--output", "json")
    assert.strictEqual(code, 1)
    assert.match(stderr, /^cofferer: journal broken: entry \d+ \(intent, .*was changed: its hash is another\n$/)
    assert.containSubset(JSON.parse(stdout), { intents: 0 })
  })
})
