import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { approve } from "../../src/http/approvals.ts"
import { receiptOf } from "../../src/http/stories.ts"
import { approvalOf } from "../../src/payments/approvalOf.ts"
import type { Receipt } from "../../src/store/journal/receipt.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { type Flow, flow, round } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"
import { tempDir } from "../support/tempDir.ts"
import { copyOf } from "./Forged.ts"
import { fromElsewhere, fromPublicData, fromReceipt, vault } from "./forgeries.ts"

const dir = tempDir("forged")

const setup = {
  line: { approval: "desk" },
  rules: [{ name: "to-vault", withdraw: { from: "alice", asset: "USDT", above: "600", target: "500", to: "vault" } }],
  allow: [{ from: "alice", to: ["vault"], asset: "USDT", perTransfer: "900", per24h: "900", transfersPer24h: 2 }],
  more: { addresses: { vault }, ...deskFields() },
}

/** Plays until three payments are confirmed: two that ana and ben approved, and a withdrawal. */
const receipts = (told: Array<Receipt>): Flow =>
  Effect.fnUntraced(function* (options, sandbox) {
    const outbox = yield* Outbox
    const { treasury } = options
    for (let i = 0; i < 3; i++) yield* round(options, sandbox)
    const transfer = { from: "alice", to: "eve", asset: "USDT", amount: "60" }
    yield* submitPayment(treasury, "live", { idempotencyKey: "a", author: "zoe", transfer })
    for (let i = 0; i < 16; i++) {
      for (const intent of (yield* outbox.open).filter(({ state }) => state === "awaiting_approval")) {
        const needed = approvalOf(treasury, intent)
        for (const one of ["ana", "ben"]) {
          yield* approve(treasury, intent.id, { signature: operatorSigns(one, needed!.text) })
        }
      }
      yield* round(options, sandbox)
    }
    for (const { id, state, command } of yield* outbox.recent(10)) {
      assert.strictEqual(state, "confirmed", command)
      const receipt = yield* receiptOf(id)
      if ("problem" in receipt) return assert.fail(receipt.problem)
      told.push(copyOf(receipt))
    }
  })

/** What `receipt verify` says of a document. */
const verified = async (document: unknown) => {
  const file = join(dir, "receipt.json")
  writeFileSync(file, JSON.stringify(document))
  return callCofferer(["receipt", "verify", file])
}
/** The lines that it shows as proven, without those that it shows as claimed. */
const provenIn = (stdout: string): ReadonlyArray<string> =>
  (stdout.split(/^claimed by the payer/m)[0] ?? "").split("\n").slice(1).filter(Boolean)

describe("a receipt that somebody forged", () => {
  it.effect("is broken, or shows as claimed what is not true", function* () {
    const [here, there]: [Array<Receipt>, Array<Receipt>] = [[], []]
    yield* flow(receipts(here), setup)
    yield* flow(receipts(there), setup)
    const byRule = (all: ReadonlyArray<Receipt>, rule: string) =>
      all.find(({ claimed }) => claimed.payment.rule === rule) ?? assert.fail(rule)
    const [paid, second, twin] = [byRule(here, "submit"), byRule(here, "keep-bob"), byRule(there, "submit")]
    const withdrawn = byRule(here, "to-vault")
    const truth = new Set<string>()
    for (const one of [paid, second, twin, withdrawn]) {
      const { code, stdout, stderr } = yield* Effect.promise(() => verified(one))
      assert.strictEqual(code, 0, stderr)
      for (const line of provenIn(stdout)) truth.add(line)
    }
    const bare = (yield* Effect.promise(() => verified(withdrawn))).stdout
    assert.notInclude(bare, "proven to be the payer's own record")
    assert.match(bare, /\n {2}attempt 1: its bytes carry no hash of a permit: its policy line, decision and approvals/)
    const own = (yield* Effect.promise(() => verified(paid))).stdout
    assert.match(own, /approved by ana, ben \(desk needs 2\)/)
    assert.match(own, /calls that 60\.00 USDT \(6 decimals\) alice -> eve\n/)
    assert.match(own, /statements of people, as the payer recorded them:\n {2}submitted by zoe\n/)

    const tried = [...fromPublicData(paid), ...fromReceipt(paid, second), ...fromElsewhere(paid, twin, withdrawn)]
    assert.strictEqual(new Set(tried.map(([title]) => title)).size, tried.length, "each is another one")
    const real = new Set([paid, second, twin, withdrawn].map((one) => JSON.stringify(one)))
    for (const [title, document] of tried) assert.isFalse(real.has(JSON.stringify(document)), title)
    const through: Array<string> = []
    let broken = 0
    for (const [title, document] of tried) {
      const { code, stdout, stderr } = yield* Effect.promise(() => verified(document))
      if (code !== 0) {
        broken++
        assert.match(stderr, /^cofferer: receipt broken: .+\n$/, title)
        continue
      }
      const untrue = provenIn(stdout).filter((line) => !truth.has(line))
      if (untrue.length > 0) through.push(`${title}: ${untrue.join(" | ")}`)
      else console.log(`shown as claimed alone: ${title}`)
    }
    console.log(`receipts: tried ${tried.length} through ${through.length}`)
    assert.deepStrictEqual(through, [])
    assert.isAtLeast(broken, 40)
  })
})
