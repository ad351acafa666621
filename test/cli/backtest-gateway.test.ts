import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { one, usdt, withSandbox } from "../support/TestSandbox.ts"
import { treasuryText } from "../support/treasury.ts"

const past = (url: string) =>
  treasuryText({
    name: "past",
    network: { chainId: "sandbox-1", gateways: { only: url } },
    assets: { USDT: { id: usdt, decimals: 6 } },
    parties: {
      alice: { publicKey: publicKeyOf("test", "alice"), signer: { file: "nowhere/alice" } },
      bob: { publicKey: publicKeyOf("test", "bob") },
    },
    rules: [
      {
        name: "keep-bob",
        topUp: { from: "alice", levels: [{ party: "bob", asset: "USDT", below: "40", target: "100" }] },
      },
      { name: "bob-low", notify: { when: { balance: { party: "bob", asset: "USDT", below: "40" } } } },
    ],
    policy: {
      allow: [{ from: "alice", to: ["bob"], asset: "USDT", perTransfer: "100", per24h: "400", transfersPer24h: 4 }],
    },
  })

const blocks = Effect.fnUntraced(function* (sandbox: Sandbox["Service"], count: number) {
  for (let i = 0; i < count; i++) yield* sandbox.stepBlock
})

const spend = Effect.fnUntraced(function* (client: TestClient, sandbox: Sandbox["Service"], units: bigint) {
  const command = payment(client, "eve", units * one, { asset: usdt })
  yield* submit(client, signed(client, { from: "bob", command, ...(yield* head(client)) }))
  yield* blocks(sandbox, 2)
})

const blockTime = (sandbox: Sandbox["Service"]) =>
  Effect.map(sandbox.ledger.head, ({ time }) => new Date(Number(time / 1_000_000n)).toISOString())

describe("backtest of what the gateway holds", () => {
  it.live("runs without a store and says where it lacks knowledge", () =>
    withSandbox({}, function* (client, sandbox) {
      const dir = mkdtempSync(join(tmpdir(), "cofferer-past-"))
      const file = join(dir, "treasury.yaml")
      const data = join(dir, "data")
      writeFileSync(file, past(client.url))
      const run = (...more: ReadonlyArray<string>) =>
        Effect.promise(() => callCofferer(["backtest", "-c", file, "-d", data, "--history", "gateway", ...more]))
      yield* Effect.gen(function* () {
        yield* blocks(sandbox, 3)
        const between = yield* blockTime(sandbox)
        yield* blocks(sandbox, 3)
        yield* spend(client, sandbox, 20n)
        const all = yield* run("-o", "json")
        assert.strictEqual(all.code, 0, all.stderr)
        const { past, payments, alerts, accounts } = JSON.parse(all.stdout)
        assert.deepInclude(past, { rows: 3, taken: 0, gaps: [], unknown: [] })
        assert.deepStrictEqual(
          payments.map(({ rule, from, to, state }: Record<string, string>) => [rule, from, to, state].join(" ")),
          ["keep-bob alice bob confirmed"],
        )
        assert.deepStrictEqual(
          alerts.map(({ kind }: Record<string, string>) => kind),
          ["firing", "cleared"],
        )
        assert.deepStrictEqual(
          accounts.map(({ account }: Record<string, string>) => account),
          ["alice/USDT", "bob/USDT"],
        )
        assert.match(all.stderr, /^read 3 balance changes, 100 %, up to /m)
        const late = yield* run("--from", between)
        assert.strictEqual(late.code, 0, late.stderr)
        assert.match(late.stdout, /^2 past balances/m, "alice's stood still and is known, bob's row is one")
        assert.match(late.stdout, /^bob\/USDT is not known before .*: no data$/m)
        assert.match(late.stdout, /^1 payment: /m)
        for (const day of ["2019-01-01", "2024-01-01"]) {
          const before = yield* run("--to", day)
          assert.deepStrictEqual([before.code, before.stdout], [4, ""])
          assert.match(before.stderr, /has no balance change of that time/)
        }
        const early = yield* run("--from", "2026-01-01", "-o", "json")
        assert.lengthOf(JSON.parse(early.stdout).past.gaps, 1, "before its first row it tells nothing")
        assert.isFalse(existsSync(data))
      }).pipe(Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true, force: true }))))
    }),
  )
})
