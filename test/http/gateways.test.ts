import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { treasuryOf } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { daemonHere } from "../support/daemonHere.ts"
import { type FlowSetup, flow } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { deskFields } from "../support/Operators.ts"

type Json = Record<string, unknown>

/** The same treasury with another part. */
const changed = (options: DaemonOptions, change: (file: Json) => Json) => {
  const { document } = options.treasury
  const file = JSON.parse(JSON.stringify(document.value)) as Json
  return Effect.map(treasuryOf({ ...document, value: change(file) }), (treasury) => ({ ...options, treasury }))
}

const withGateways = (gateways: Json, quorum: string) => (file: Json) => ({
  ...file,
  network: { ...(file["network"] as Json), gateways, quorum },
})

/** What one start tells people, and what the journal's newest entry of the configuration says. */
const start = (options: DaemonOptions) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const all = sql`SELECT severity, detail FROM alerts WHERE kind = 'config' ORDER BY seq`
    const before = (yield* all).length
    yield* prepare(options)
    const alerts = (yield* all).slice(before).map((row) => `${row["severity"]}: ${row["detail"]}`)
    const [entry] = yield* sql`SELECT body FROM journal WHERE kind = 'config' ORDER BY seq DESC LIMIT 1`
    return { alerts, entry: JSON.parse(String(entry?.["body"])) as Json }
  }).pipe(Effect.provide(daemonHere(options), { local: true }))

const three = { a: "https://a.example/v1/SECRET", b: "https://b.example", c: "https://c.example" }

/** Starts on an empty store, one after the other. */
const starts = (
  files: ReadonlyArray<(file: Json) => Json>,
  judge: (told: ReadonlyArray<Effect.Success<ReturnType<typeof start>>>) => void,
  setup: FlowSetup = {},
) =>
  flow(function* (options) {
    const dataDir = mkdtempSync(join(tmpdir(), "cofferer-gateways-"))
    cpSync(join(options.dataDir, "sandbox"), join(dataDir, "sandbox"), { recursive: true })
    const lives = Effect.forEach(files, (file) => Effect.flatMap(changed({ ...options, dataDir }, file), start))
    const removed = Effect.sync(() => rmSync(dataDir, { recursive: true, force: true }))
    judge(yield* Effect.ensuring(lives, removed))
  }, setup)

describe("a start with other gateways", () => {
  it.effect("that leaves too few old ones pages people, and the journal names all", () =>
    starts(
      [
        withGateways(three, "2"),
        withGateways(three, "2"),
        withGateways({ a: three.a, d: "https://d.example", e: "https://e.example/KEY" }, "2"),
      ],
      ([, same, other]) => {
        assert.deepStrictEqual(same?.alerts, [])
        const words = "gateways removed: b (b.example), c (c.example); gateways added: d (d.example), e (e.example)"
        assert.lengthOf(other?.alerts ?? [], 1)
        assert.include(other?.alerts[0], `page: ${words}; of the former gateways 1 is left, and 2 must agree`)
        assert.include(String(other?.entry["detail"]), words)
        assert.notInclude(JSON.stringify(other), "KEY")
      },
    ),
  )

  it.effect("that adds one raises a ticket, and a rename or reorder does not", () =>
    starts(
      [
        withGateways(three, "2"),
        withGateways({ ...three, d: "https://d.example" }, "3"),
        withGateways({ other: "https://d.example", c: three.c, b: three.b, a: three.a }, "3"),
      ],
      ([, more, renamed]) => {
        assert.deepStrictEqual(
          more?.alerts.map((text) => text.split(";")[0]),
          ["ticket: gateways added: d (d.example)"],
        )
        assert.deepStrictEqual(renamed?.alerts, [])
      },
    ),
  )
})

describe("a start with other operators", () => {
  const same = (file: Json) => file
  const without = (name: string) => (file: Json) =>
    JSON.parse(JSON.stringify(file, (key, v) => (key === name ? undefined : v)))

  it.effect("tells of the first that are named", () =>
    starts(
      [without("approvals"), same],
      ([, named]) => {
        assert.match(named?.alerts.join() ?? "", /ticket: operators are named for the first time: .*chloe/)
      },
      { more: deskFields() },
    ),
  )
})
