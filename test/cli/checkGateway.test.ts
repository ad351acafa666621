import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { it } from "../support/it.ts"
import { chainId, usdt, withSandbox } from "../support/TestSandbox.ts"
import { treasuryText } from "../support/treasury.ts"

/** Output of `check` for a file with this pin and network. */
const check = (pin: object, network: { readonly chainId?: string; readonly url?: string } = {}) =>
  withSandbox({}, (_, sandbox) =>
    Effect.promise(async () => {
      const dir = mkdtempSync(join(tmpdir(), "cofferer-check-gateway-"))
      const file = join(dir, "treasury.yaml")
      const text = treasuryText({
        name: "pinned",
        mode: "observe",
        network: { chainId: network.chainId ?? chainId, gateways: { main: network.url ?? sandbox.url } },
        assets: { USDT: { id: usdt, decimals: 6, ...pin } },
        parties: { bob: { publicKey: publicKeyOf("test", "bob") } },
      })
      writeFileSync(file, text)
      const said = await callCofferer(["check", file])
      rmSync(dir, { recursive: true, force: true })
      return said
    }),
  )

describe("check, where a gateway answers", () => {
  it.live("refuses a pin of other decimals, with its place and both numbers", function* () {
    const { code, stderr } = yield* check({ decimals: 8 })
    assert.strictEqual(code, 3)
    assert.match(
      stderr,
      /treasury\.yaml:\d+:\d+ +USDT has 8 decimals here and 6 at the gateway; write 6 unless the gateway is wrong/,
    )
  })

  it.live("refuses another chain", function* () {
    const { code, stderr } = yield* check({}, { chainId: "mainnet" })
    assert.strictEqual(code, 3)
    assert.match(stderr, /the gateway is on chain sandbox-1, not on mainnet; correct network.chainId/)
  })

  it.live("warns of an id that is not listed, and of nothing else", function* () {
    const unlisted = yield* check({ id: "ab".repeat(32) })
    assert.strictEqual(unlisted.code, 0, unlisted.stderr)
    assert.match(unlisted.stdout, /^warn .*the gateway does not list USDT/m)
    const right = yield* check({})
    assert.deepStrictEqual([right.code, right.stderr], [0, ""])
  })

  it.live("says that nothing was compared where none answers", function* () {
    const { code, stderr } = yield* check({}, { url: "http://127.0.0.1:9" })
    assert.deepStrictEqual(
      [code, stderr],
      [0, "note: no gateway answered; chain id, asset ids and decimals were not compared\n"],
    )
  })
})
