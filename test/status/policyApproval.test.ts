import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { reloadConfig } from "../../src/status/reloadConfig.ts"
import { approvePolicy } from "../../src/status/sharedApprovals.ts"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { policyText } from "../../src/tx/Approval.ts"
import { flow } from "../support/Flow.ts"
import { deskText, operatorSigns } from "../support/Operators.ts"
import { aliceKey, assetId, bobKey } from "../support/treasury.ts"

const limits = `asset: TOK, perTransfer: "100", per24h: "100", transfersPer24h: 2`
const textOf = (per24h: string, more = deskText(), floor = "5", line = "") => `
version: 1
name: flow
network: { chainId: c-1, gateways: { node: "https://gateway.example" } }
assets: { TOK: { id: ${assetId}, decimals: 2 } }
parties:
  alice: { publicKey: ${aliceKey}, signer: { sandbox: alice }, floor: { TOK: "${floor}" }, transfersKept: 3 }
  bob: { publicKey: ${bobKey} }
policy:
  allow:
    - { from: alice, to: [bob], asset: TOK, perTransfer: "100", per24h: "${per24h}", transfersPer24h: 2${line} }
${more}`

/** A configuration in force from a file, and what writing another and reloading says. */
const inForce = (text: string, use: (write: (text: string) => void) => Effect.Effect<void, unknown, Services>) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-policy-"))
  const file = join(dir, "t.yaml")
  const write = (next: string) => writeFileSync(file, next)
  write(text)
  return flow(() =>
    Effect.gen(function* () {
      const treasury = yield* loadTreasury(file)
      yield* use(write).pipe(Effect.provide(ConfigInForce.layer({ treasury, mode: treasury.mode })))
    }).pipe(Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true, force: true })))),
  )
}
type Services = Effect.Services<ReturnType<typeof reloadConfig>> | Effect.Services<ReturnType<typeof approvePolicy>>

const reload = reloadConfig({ author: "ana", reason: "more room", allowWeaker: false })

const policyOf = Effect.fnUntraced(function* (text: string) {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-policy-"))
  writeFileSync(join(dir, "t.yaml"), text)
  const { policy } = yield* loadTreasury(join(dir, "t.yaml"))
  rmSync(dir, { recursive: true })
  return policy
})

/** The operator signs the policy of the file for the configuration in force. */
const signs = Effect.fnUntraced(function* (name: string, text: string, replaced?: string) {
  const { treasury } = (yield* ConfigInForce).now()
  const { digest } = yield* policyOf(text)
  const message = policyText(treasury.name, replaced ?? treasury.policy.digest, digest)
  return yield* approvePolicy(treasury, { digest, signature: operatorSigns(name, message) })
})

describe("a policy that permits more", () => {
  it.effect("comes into force once two operators have approved exactly it", () =>
    inForce(textOf("100"), (write) =>
      Effect.gen(function* () {
        const wider = textOf("200")
        assert.containSubset(yield* signs("ana", textOf("100")), {
          status: 409,
          problem: "this policy is in force already",
        })
        write(wider)
        assert.containSubset(yield* reload, { _tag: "Refused" })
        assert.containSubset(yield* signs("ana", wider), { operator: "ana", missing: 1 })
        assert.containSubset(yield* signs("ana", wider), { isNew: false, missing: 1 })
        assert.containSubset(yield* signs("eve", wider), { status: 403 })
        assert.containSubset(yield* signs("ben", wider, "0".repeat(64)), { status: 403 })
        assert.containSubset(yield* reload, { _tag: "Refused" })
        assert.containSubset(yield* signs("ben", wider), { operator: "ben", missing: 0 })
        write(textOf("300"))
        assert.containSubset(yield* reload, { _tag: "Refused" })
        write(wider)
        assert.containSubset(yield* reload, { _tag: "Reloaded" })
      }),
    ),
  )

  it.effect("holds the floors of those who pay, and the transfers that they keep for people", () =>
    inForce(textOf("100"), (write) =>
      Effect.gen(function* () {
        for (const [lower, words] of [
          [textOf("100", undefined, "1"), "alice keeps 1 TOK, before 5"],
          [
            textOf("100", undefined, "1").replace("transfersKept: 3", "transfersKept: 2"),
            "alice keeps 2 transfers for people, before 3",
          ],
        ] as const) {
          write(lower)
          const refused = yield* reload
          assert.containSubset(refused, { _tag: "Refused" })
          assert.include(refused._tag === "Refused" ? refused.detail : "", words)
          const { hash } = yield* policyOf(lower)
          assert.notStrictEqual(hash, (yield* ConfigInForce).now().treasury.policy.hash)
          assert.include(refused._tag === "Refused" ? refused.remedy : "", `"cofferer approve policy ${hash}"`)
          for (const name of ["ana", "ben"]) yield* signs(name, lower)
          assert.containSubset(yield* reload, { _tag: "Reloaded", weaker: [words] })
        }
      }),
    ),
  )

  it.effect("says who has approved it and who is still to, while it is refused", () =>
    inForce(textOf("100"), (write) =>
      Effect.gen(function* () {
        write(textOf("200"))
        yield* signs("ana", textOf("200"))
        const refused = yield* reload
        assert.include(refused._tag === "Refused" ? refused.remedy : "", "approved by ana, 1 more of ben, chloe")
      }),
    ),
  )

  it.effect("is approved alone: what else is weaker stays refused, and no approval is advised", () =>
    inForce(textOf("100"), (write) =>
      Effect.gen(function* () {
        const wider = textOf("200").replace("} }\nassets", "}, maxAge: 10m }\nassets")
        write(wider)
        for (const name of ["ana", "ben"]) yield* signs(name, wider)
        const refused = yield* reload
        assert.containSubset(refused, { _tag: "Refused" })
        assert.notInclude(refused._tag === "Refused" ? refused.remedy : "", "approve policy")
        assert.include(refused._tag === "Refused" ? refused.remedy : "", "--allow-weaker")
      }),
    ),
  )

  it.effect("that is refused is told whole in the alert, who must approve first", () =>
    inForce(textOf("100", deskText(), "5", ", approval: desk"), (write) =>
      Effect.gen(function* () {
        write(textOf("200", deskText(1), "1", ", approval: desk").replace("policy:", 'policy:\n  maxFee: "1%"'))
        yield* reload
        const told = (yield* (yield* AlertQueue).due(10)).find(({ kind }) => kind === "config")?.detail ?? ""
        const places = ["1 of ana, ben, chloe", "200 in 24 h", "fee of 1 %", "keeps 1 TOK"].map((words) =>
          told.indexOf(words),
        )
        assert.isTrue(
          places.every((place) => place > 0),
          told,
        )
        assert.strictEqual(Math.min(...places), places[0])
        assert.notInclude(told, ":;")
      }),
    ),
  )

  it.effect("that weakens more than an alert can say says how much is left out", () =>
    inForce(textOf("100"), (write) =>
      Effect.gen(function* () {
        const lines = Array.from({ length: 30 }, (_, i) => `    - { from: alice, to: [p${i}], ${limits} }`)
        const parties = Array.from({ length: 30 }, (_, i) => `  p${i}: { publicKey: "${String(i + 10).repeat(32)}" }`)
        write(textOf("100", `${lines.join("\n")}\n${deskText()}`).replace("policy:", `${parties.join("\n")}\npolicy:`))
        yield* reload
        const told = (yield* (yield* AlertQueue).due(10)).find(({ kind }) => kind === "config")?.detail ?? ""
        assert.match(told, /policy line 2, alice -> p0, TOK: no line allowed it before; .*; and [12][0-9] more/)
        assert.include(told, "--allow-weaker")
      }),
    ),
  )

  it.effect("is approved by nobody where there are no operators", () =>
    inForce(textOf("100", ""), (write) =>
      Effect.gen(function* () {
        write(textOf("200"))
        assert.containSubset(yield* signs("ana", textOf("200")), { status: 403 })
        assert.containSubset(yield* reload, { _tag: "Refused" })
      }),
    ),
  )
})
