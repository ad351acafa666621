import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import { layerControl } from "../../src/http/ControlServer.ts"
import { refusedReload } from "../../src/http/putInForce.ts"
import { type DaemonOptions, storeLayer } from "../../src/layers.ts"
import { termsHash } from "../../src/rules/policy/storedTerms.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { ask } from "../support/Control.ts"
import { type FlowServices, flow } from "../support/Flow.ts"
import { halts } from "../support/Intents.ts"
import { type Body, effectOf } from "../support/it.ts"
import { deskFields } from "../support/Operators.ts"
import type { Fields } from "../support/treasury.ts"

interface Halted {
  readonly options: DaemonOptions
  readonly hash: string
  /** Calls the command line with the file and the data directory of the treasury. */
  readonly run: (...args: ReadonlyArray<string>) => Effect.Effect<Awaited<ReturnType<typeof callCofferer>>>
}

const storeOf = (options: DaemonOptions) => storeLayer(options)

/** A treasury whose daemon was last started with weaker terms than before. */
const halted = (more: Fields, use: Body<[where: Halted], FlowServices>) =>
  flow(
    ({ treasury }) => {
      const dir = mkdtempSync(join(tmpdir(), "cofferer-accept-"))
      const [file, dataDir] = [join(dir, "t.yaml"), join(dir, "data")]
      mkdirSync(dataDir)
      const start = Effect.fnUntraced(function* (each: string) {
        writeFileSync(file, treasury.document.text.replace('perTransfer: "200"', `perTransfer: "${each}"`))
        const options = { treasury: yield* loadTreasury(file), mode: "live" as const, dataDir }
        yield* prepare(options).pipe(Effect.provide(storeOf(options), { local: true }))
        return options
      })
      const run = (...args: ReadonlyArray<string>) =>
        Effect.promise(() => callCofferer([...args, "-c", file, "--data", dataDir]))
      return Effect.gen(function* () {
        yield* start("200")
        assert.strictEqual((yield* run("terms", "accept", "0".repeat(8))).code, 4)
        const options = yield* start("300")
        yield* effectOf(use({ options, hash: termsHash(treasuryTermsOf(options)).slice(0, 8), run }))
      }).pipe(Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true, force: true }))))
    },
    { more },
  )

describe("terms accept", () => {
  it.effect("takes the terms of a file that name nobody, where no daemon runs", () =>
    halted({}, function* ({ options, hash, run }) {
      const inStore = Effect.provide(storeOf(options), { local: true })
      yield* Effect.flatMap(refusedReload, ({ note }) => note("t.yaml: restart to change it")).pipe(inStore)
      const { stdout } = yield* run("status")
      assert.match(stdout, /^\S+\s+No daemon runs: .*Its database says:\n.*terms/s)
      assert.lengthOf(stdout.match(/No daemon runs/g) ?? [], 1)
      const other = yield* run("terms", "accept", "0".repeat(8))
      assert.strictEqual(other.code, 6)
      assert.include(
        other.stderr,
        `"cofferer terms accept ${hash} -c ${options.treasury.file} --data ${options.dataDir}"`,
      )
      const resumed = yield* run("resume", "--reason", "go")
      assert.include(
        resumed.stderr,
        `still halted: terms; operators approve the new file: "cofferer approve terms ${hash}`,
      )
      const done = yield* run("terms", "accept", hash)
      assert.deepStrictEqual([done.code, done.stdout], [0, `terms ${hash} are in force\n`], done.stderr)
      const refusal = yield* Effect.flatMap(refusedReload, ({ now }) => now).pipe(inStore)
      assert.isUndefined(refusal, "an earlier reload of the same file was refused")
      const started = Effect.andThen(prepare(options), halts)
      assert.deepStrictEqual(yield* started.pipe(Effect.provide(storeOf(options), { local: true })), [])
    }),
  )

  it.effect("begins an hour over the socket where operators are named, with a reason alone", () =>
    halted(deskFields(), ({ options, hash, run }) =>
      Effect.gen(function* () {
        const { treasury, mode, dataDir } = options
        assert.deepStrictEqual(yield* halts, ["terms"])
        const asked = yield* run("terms", "accept", hash)
        assert.strictEqual(asked.code, 6)
        assert.match(asked.stderr, /the terms in force name operators: ana, ben, chloe; "cofferer approve terms /)
        const done = yield* run("terms", "accept", hash, "--reason", "both keys burnt")
        assert.strictEqual(done.code, 0, done.stderr)
        assert.match(
          done.stdout,
          /after an hour in which nothing is signed; "cofferer halt --reason TEXT -c .*" stops it/,
        )
        assert.match(
          (yield* run("status")).stdout,
          /accepted without operators by .*: both keys burnt; in force after one hour .*: "cofferer halt --reason TEXT/,
        )
        const gone = yield* ask({ ...options, treasury, mode, dataDir }, "/api/v1/object", {
          hash,
          author: "a",
          reason: "b",
        })
        assert.strictEqual(gone.status, 404)
        assert.strictEqual((yield* run("halt", "--reason", "not ours")).code, 0)
        assert.isUndefined(yield* Effect.flatMap(Approvals, ({ acceptance }) => acceptance))
      }).pipe(Effect.provide(layerControl(options).pipe(Layer.provideMerge(storeOf(options))), { local: true })),
    ),
  )
})

describe("plan", () => {
  it.effect("says that a restart halts where the daemon runs in shadow and the file is live again", () =>
    halted({}, ({ options, run }) =>
      Effect.gen(function* () {
        const planned = yield* run("plan")
        assert.deepStrictEqual([planned.code, planned.stderr], [8, "cofferer: a restart with this file would halt\n"])
        assert.match(planned.stdout, /^\S+ {2}mode live, /)
        assert.match(planned.stdout, /^HALT +a restart with this file halts all signing.* 300 each, before 200/m)
      }).pipe(
        Effect.provide(
          Effect.gen(function* () {
            const { file, document } = options.treasury
            writeFileSync(file, document.text.replace("mode: live", "mode: shadow"))
            const treasury = yield* loadTreasury(file)
            writeFileSync(file, document.text)
            const shadow = { ...options, treasury, mode: "shadow" as const }
            return layerControl(shadow).pipe(Layer.provideMerge(storeOf(shadow)))
          }).pipe(Layer.unwrap),
          { local: true },
        ),
      ),
    ),
  )
})
