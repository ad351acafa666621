import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { byOneConfig } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { prepare } from "../../src/daemon.ts"
import { layerControl } from "../../src/http/ControlServer.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { payersOf, pollWorkAndEpoch } from "../../src/poller/pollNetwork.ts"
import { writeKeys } from "../../src/sandbox/Keys.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { ask } from "../support/Control.ts"
import { daemonHere } from "../support/daemonHere.ts"
import { type FlowServices, paid, pass, round } from "../support/Flow.ts"
import { type Body, effectOf } from "../support/it.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"
import { at, head, payment, type Reply, signed, submit, type TestClient } from "../support/TestClient.ts"
import { chainId, one, powOf, scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"
import { type Fields, treasuryText } from "../support/treasury.ts"

const begin = 1_800_000_000_000
/** Rows of balances are believed some blocks later, and with them a payment. */
const settling = 14

interface World {
  readonly options: DaemonOptions
  readonly sandbox: Sandbox["Service"]
  readonly client: TestClient
  /** Writes the treasury's file anew and reloads it. */
  readonly reload: (change: Change) => Effect.Effect<Reply>
  readonly file: string
}

interface Change {
  readonly per24h?: string
  /** A rule that tells people, and moves nothing. */
  readonly alerts?: ReadonlyArray<Fields>
}

type Use = Body<[world: World], FlowServices>

/** A treasury before a gateway with the three operations of the specification. */
const specification = (use: Use) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-specification-"))
  const pow = { ...powOf(500), txPerBlock: 20 }
  return TestClock.setTime(begin).pipe(
    Effect.andThen(
      withSandbox({ text: scenarioText({ profile: "specification", pow }) }, function* (client, sandbox) {
        const dataDir = join(dir, "data")
        writeKeys(join(dataDir, "sandbox"), client.seed, ["alice"])
        const alice = { publicKey: sandbox.publicKey("alice"), signer: { sandbox: "alice" }, floor: { USDT: "10" } }
        const line = { from: "alice", asset: "USDT", perTransfer: "200" }
        const textOf = ({ per24h = "600", alerts = [] }: Change) =>
          treasuryText({
            name: "specification",
            mode: "live",
            network: {
              chainId,
              gateways: { sandbox: sandbox.url },
              fee: { factor: "0.001", maxQuantum: "1" },
            },
            assets: { USDT: { id: usdt, decimals: 6 } },
            parties: {
              alice,
              bob: { publicKey: sandbox.publicKey("bob") },
              eve: { publicKey: sandbox.publicKey("eve") },
            },
            rules: [
              {
                name: "keep-bob",
                topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "100", target: "200" }] },
              },
              ...alerts,
            ],
            policy: {
              maxFee: "0.5%",
              allow: [
                { ...line, to: ["bob"], per24h, transfersPer24h: 6 },
                { ...line, to: ["eve"], per24h: "400", transfersPer24h: 4, approval: "desk" },
              ],
            },
            ...deskFields(),
          })
        const file = join(dir, "t.yaml")
        writeFileSync(file, textOf({}))
        const treasury = yield* loadTreasury(file)
        const options = { treasury, mode: treasury.mode, dataDir }
        const reload = (change: Change) => {
          writeFileSync(file, textOf(change))
          return ask(options, "/api/v1/reload", { reason: "a change", author: "ana" })
        }
        yield* prepare(options).pipe(
          Effect.andThen(pollWorkAndEpoch(payersOf(treasury.parties.values())).pipe(Effect.ignore)),
          Effect.andThen(pollAssets()),
          // A new store waits for a window to pass.
          Effect.andThen(Effect.flatMap(Settings, ({ set }) => set(`waited/${alice.publicKey}`, "once"))),
          Effect.andThen(Effect.suspend(() => effectOf(use({ options, sandbox, client, reload, file })))),
          Effect.provide(layerControl(options).pipe(Layer.provideMerge(daemonHere(options)))),
        )
      }),
    ),
    Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true, force: true }))),
  )
}

const rounds = Effect.fnUntraced(function* ({ options, sandbox }: World, count = settling) {
  const seen = byOneConfig(round(options, sandbox))
  for (let i = 0; i < Math.min(count, 5); i++) yield* seen
  yield* pass(sandbox, count - 5, seen)
})

/** Somebody takes money out of the account that is kept filled. */
const spend = Effect.fnUntraced(function* ({ client }: World, amount: bigint) {
  const command = payment(client, "eve", amount * one, { asset: usdt })
  const tx = signed(client, { from: "bob", command, framing: "prefixed", ...(yield* head(client)) })
  assert.strictEqual((yield* submit(client, tx)).status, 200)
})

const intents = Effect.flatMap(Outbox, (outbox) => outbox.recent(20))
/** All payments came to their end, each seen in the balances alone, and the ledger executed as many. */
const allPaid = Effect.fnUntraced(function* ({ sandbox }: World, count: number) {
  for (const { state, detail } of yield* intents) {
    assert.strictEqual(state, "confirmed", detail)
    assert.include(detail, "seen in the balances")
  }
  assert.lengthOf(yield* intents, count)
  assert.lengthOf(yield* paid(sandbox), count)
})

const isHeldByAPause = Effect.fnUntraced(function* (world: World, before: number) {
  const pause = { scope: "rule:keep-bob", reason: "audit", author: "ana" }
  yield* ask(world.options, "/api/v1/pause", pause)
  yield* spend(world, 110n)
  yield* rounds(world)
  yield* allPaid(world, before)
  yield* ask(world.options, "/api/v1/resume", pause)
  yield* rounds(world)
  yield* allPaid(world, before + 1)
})

/** A payment of a person waits for two operators, each of whom signs before a reload that changes nothing of it. */
const waitsForOperators = Effect.fnUntraced(function* (world: World, before: number) {
  const { options, reload } = world
  const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "100" }
  const taken = yield* ask(options, "/api/v1/submit", { idempotencyKey: "rent", author: "zoe", transfer })
  const path = `/api/v1/intents/${String(at(taken, "intentId"))}`
  // A rule pays from the same account before the balances show this payment.
  yield* spend(world, 115n)
  yield* rounds(world, 2)
  for (const name of ["ana", "ben"]) {
    const text = String(at(yield* ask(options, `${path}/approval`), "text"))
    const given = yield* ask(options, `${path}/approve`, { signature: operatorSigns(name, text) })
    assert.strictEqual(given.status, 200, given.text)
    const when = { balance: { party: "eve", asset: "USDT", below: "1" } }
    const reloaded = yield* reload({ alerts: [{ name: `low-${name}`, notify: { when } }] })
    assert.containSubset(reloaded.json, { _tag: "Reloaded", weaker: [] })
    yield* rounds(world, 1)
  }
  yield* rounds(world, 24)
  yield* allPaid(world, before + 2)
})

const weakerTermsNeedOperators = Effect.fnUntraced(function* ({ options, reload, file }: World) {
  const change = { per24h: "900" }
  const refused = yield* reload(change)
  assert.notStrictEqual(refused.status, 200, refused.text)
  for (const name of ["ana", "chloe"]) {
    const text = String(at(yield* ask(options, "/api/v1/terms/approve", { files: [file] }), "text"))
    const given = { files: [file], signature: operatorSigns(name, text) }
    assert.strictEqual((yield* ask(options, "/api/v1/terms/approve", given)).status, 200)
  }
  assert.strictEqual((yield* reload(change)).status, 200)
})

const isHeldByAHalt = Effect.fnUntraced(function* (world: World, before: number) {
  yield* ask(world.options, "/api/v1/halt", { reason: "audit", author: "ana" })
  yield* spend(world, 120n)
  yield* rounds(world)
  yield* allPaid(world, before)
  const resume = { scope: "all", reason: "audited", author: "ana" }
  let answer = yield* ask(world.options, "/api/v1/resume", resume)
  for (const name of ["ana", "ben"]) {
    assert.strictEqual(answer.status, 202, answer.text)
    const signature = operatorSigns(name, String(at(answer, "text")))
    answer = yield* ask(world.options, "/api/v1/resume", { ...resume, signature })
  }
  assert.strictEqual(answer.status, 200, answer.text)
  yield* rounds(world)
  yield* allPaid(world, before + 1)
})

/** No block for ten minutes: nothing is signed on what was known before, and all goes on with the next ones. */
const outlivesSilence = Effect.fnUntraced(function* (world: World, before: number) {
  yield* spend(world, 130n)
  yield* rounds(world, 4)
  yield* TestClock.adjust("10 minutes")
  yield* rounds(world)
  yield* allPaid(world, before + 1)
})

describe("a network of the three operations", () => {
  it.effect("passes every guard: payments are confirmed by the balances alone", () =>
    specification(function* (world) {
      const { options } = world
      yield* rounds(world, 24)
      yield* allPaid(world, 1)
      yield* isHeldByAPause(world, 1)
      yield* waitsForOperators(world, 2)
      yield* weakerTermsNeedOperators(world)
      yield* isHeldByAHalt(world, 4)
      yield* outlivesSilence(world, 5)
      assert.containSubset((yield* ask(options, "/api/v1/verify")).json, { problem: null })
      const exported = yield* ask(options, `/api/v1/export?what=payments&from=0&to=${begin * 2}&after=`)
      assert.lengthOf(at(exported, "rows") as ReadonlyArray<unknown>, 6)
    }),
  )
})
