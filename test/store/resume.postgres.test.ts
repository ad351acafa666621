import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger } from "effect"
import { resumeScope } from "../../src/http/controlVerbs.ts"
import { storeLayer } from "../../src/layers.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import * as Database from "../../src/store/database/Database.ts"
import { it } from "../support/it.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"
import { asAdmin, giveBack, serverUrl, takeDatabase, urlOf } from "../support/Postgres.ts"
import { aliceKey, assetId, bobKey, treasuryFrom } from "../support/treasury.ts"
import { waitUntil } from "../support/until.ts"

/** The answer to a resume that more operators must sign. */
interface Missing {
  readonly text: string
  readonly missing: number
}

const database = Effect.acquireRelease(takeDatabase, (name) => Effect.sync(() => giveBack(name)))

describe("a resume as a guest", () => {
  it.live("ends no halt that came since, which no operator signed", function* () {
    const name = yield* database
    const dataDir = mkdtempSync(join(tmpdir(), "cofferer-resume-"))
    const postgresUrlFile = join(dataDir, "url")
    writeFileSync(postgresUrlFile, `${urlOf(serverUrl(), name)}\n`, { mode: 0o600 })
    const treasury = yield* treasuryFrom({
      name: "harbor",
      network: { chainId: "c-1", gateways: { node: "http://127.0.0.1:1" } },
      assets: { USDT: { id: assetId, decimals: 6 } },
      parties: { alice: { publicKey: aliceKey }, bob: { publicKey: bobKey } },
      ...deskFields(),
    })
    const place = { treasury, dataDir, postgresUrlFile }
    const holder = yield* Layer.build(Layer.fresh(storeLayer(place)))
    const controls = Context.get(holder, Controls)
    const { write } = Context.get(holder, Database.Database)
    const resume = (signature?: string) =>
      resumeScope(
        { treasury, dataDir },
        { scope: "all", reason: "looked", author: "x", ...(signature && { signature }) },
      ).pipe(Effect.provide(Layer.merge(Layer.fresh(storeLayer(place, "guest")), Logger.layer([]))))
    yield* controls.halt("operator", "first")
    const { text } = (yield* resume()) as Missing
    assert.strictEqual(((yield* resume(operatorSigns("ana", text))) as Missing).missing, 1)
    const isAwaited = Effect.map(
      asAdmin(name, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '${name}'`),
      ([rows]) => rows?.length === 1,
    )
    const late = yield* write(
      Effect.gen(function* () {
        yield* controls.halt("duplicate", "a payment executed twice")
        const resuming = yield* Effect.forkDetach(resume(operatorSigns("ben", text)))
        yield* waitUntil("a guest that waits", isAwaited, Effect.void)
        return resuming
      }),
    )
    yield* Fiber.join(late)
    assert.deepStrictEqual(
      (yield* write(controls.halts)).map(({ reason }) => reason),
      ["operator", "duplicate"],
    )
  })
})
