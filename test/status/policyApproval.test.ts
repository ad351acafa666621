import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { reloadConfig } from "../../src/status/reloadConfig.ts"
import { approvePolicy } from "../../src/status/sharedApprovals.ts"
import { policyText } from "../../src/tx/Approval.ts"
import { flow } from "../support/Flow.ts"
import { deskText, operatorSigns } from "../support/Operators.ts"
import { aliceKey, assetId, bobKey } from "../support/treasury.ts"

const textOf = (per24h: string, more = deskText(), floor = "5") => `
version: 1
name: flow
network: { chainId: c-1, gateways: { node: "https://gateway.example" } }
assets: { TOK: { id: ${assetId}, decimals: 2 } }
parties:
  alice: { publicKey: ${aliceKey}, signer: { sandbox: alice }, floor: { TOK: "${floor}" } }
  bob: { publicKey: ${bobKey} }
policy:
  allow:
    - { from: alice, to: [bob], asset: TOK, perTransfer: "100", per24h: "${per24h}", transfersPer24h: 2 }
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

/** The operator signs the policy of the file for the configuration in force. */
const signs = Effect.fnUntraced(function* (name: string, text: string, replaced?: string) {
  const { treasury } = (yield* ConfigInForce).now()
  const dir = mkdtempSync(join(tmpdir(), "cofferer-policy-"))
  writeFileSync(join(dir, "t.yaml"), text)
  const { digest } = (yield* loadTreasury(join(dir, "t.yaml"))).policy
  rmSync(dir, { recursive: true })
  const message = policyText(treasury.name, replaced ?? treasury.policy.digest, digest)
  return yield* approvePolicy(treasury, { digest, signature: operatorSigns(name, message) })
})

describe("a policy that permits more", () => {
  it.effect("comes into force once two operators have approved exactly it", () =>
    inForce(textOf("100"), (write) =>
      Effect.gen(function* () {
        const wider = textOf("200")
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

  it.effect("is approved alone: what else is weaker, such as a floor, stays refused", () =>
    inForce(textOf("100"), (write) =>
      Effect.gen(function* () {
        const wider = textOf("200", undefined, "1")
        write(wider)
        for (const name of ["ana", "ben"]) yield* signs(name, wider)
        assert.containSubset(yield* reload, { _tag: "Refused" })
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
