import crypto, { createHash, createPrivateKey } from "node:crypto"
import { writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { isSound, keyOf, nonceKeyOf, openKeyFile, signTwice } from "../../src/signer/KeyFile.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { verifyStore } from "../../src/store/journal/verifyStore.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { flow, paid, round, states } from "../support/Flow.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("two")
const seed = createHash("sha256").update("two signers").digest()
const key = () => keyOf(Buffer.from(seed)) ?? assert.fail()

type Wrong = (signature: Buffer) => Buffer
const flip =
  (at: number): Wrong =>
  (signature) => {
    const other = Buffer.from(signature)
    other[at] = other[at]! ^ 1
    return other
  }
const order = 2n ** 252n + 27742317777372353535851937790883648493n

/** S + L: the same signature to a verifier that does not look for it. */
const malleable: Wrong = (signature) => {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`) + order
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse()])
}

const wrongs: ReadonlyArray<readonly [string, Wrong]> = [
  ["a bit of R", flip(0)],
  ["a bit of S", flip(40)],
  ["nothing but zeros", () => Buffer.alloc(64)],
  ["half a signature", (signature) => signature.subarray(0, 32)],
  ["nothing", () => Buffer.alloc(0)],
  ["a byte more", (signature) => Buffer.concat([signature, Buffer.alloc(1)])],
  ["S beyond the order", malleable],
]

/** While `use` runs, node:crypto itself gives other signatures. */
const withWrong = <A, E, R>(wrong: Wrong, use: Effect.Effect<A, E, R>) => {
  const right = crypto.sign
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      crypto.sign = ((...args: Parameters<typeof right>) => wrong(right(...args) as unknown as Buffer)) as typeof right
      syncBuiltinESMExports()
    }),
    () => use,
    () =>
      Effect.sync(() => {
        crypto.sign = right
        syncBuiltinESMExports()
      }),
  )
}

describe("a signature that two implementations do not agree on", () => {
  it.effect("is given to nobody", function* () {
    const message = Buffer.from("a digest")
    for (const [what, wrong] of wrongs) {
      const given = yield* withWrong(
        wrong,
        Effect.sync(() => signTwice(key(), message)),
      )
      assert.isUndefined(given, what)
    }
    assert.lengthOf(signTwice(key(), message) ?? [], 64)
  })

  for (const [what, wrong] of wrongs) {
    it.effect(`is never durable and never sent, halts and pages: ${what}`, () =>
      flow(function* (options, sandbox) {
        const sql = yield* SqlClient.SqlClient
        for (let i = 0; i < 3; i++) yield* withWrong(wrong, round(options, sandbox))
        assert.deepStrictEqual(yield* states, ["reserved"])
        for (const table of ["spends", "attempts", "sends"]) {
          assert.lengthOf(yield* sql.unsafe(`SELECT 1 FROM ${table}`), 0, table)
        }
        const [intent] = yield* (yield* Outbox).recent(1)
        const entries = yield* (yield* Journal).about(intent!.id)
        assert.deepStrictEqual(
          entries.filter(({ kind }) => kind === "refusal").map(({ body }) => JSON.parse(body).refusal),
          ["signature"],
        )
        assert.notInclude(
          entries.map(({ kind }) => kind),
          "signature",
        )
        const halts = yield* (yield* Controls).halts
        assert.deepStrictEqual(
          halts.map((halt) => halt.reason),
          ["invariant"],
        )
        assert.match(halts[0]?.detail ?? "", /^two signers: two implementations disagree about a signature of /)
        const alerts = yield* (yield* AlertQueue).due(10)
        assert.isTrue(alerts.some(({ kind, severity }) => kind === "halt" && severity === "page"))
        assert.lengthOf(yield* paid(sandbox), 0)
        yield* (yield* Controls).resume({ scope: "all", reason: "another machine", author: "ana" })
        for (let i = 0; i < 7; i++) yield* round(options, sandbox)
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.lengthOf(yield* paid(sandbox), 1)
        assert.isNull((yield* verifyStore()).problem)
      }),
    )
  }
})

describe("a key whose public half two implementations do not agree on", () => {
  it.effect("is not opened, and no nonce is derived from it", function* () {
    const file = join(dir, "key")
    writeFileSync(file, `${seed.toString("hex")}\n`, { mode: 0o600 })
    const { publicKey } = key()
    const opened = yield* withWrong(flip(40), Effect.flip(openKeyFile(file, publicKey)))
    assert.include(opened.message, "two implementations disagree about its public key")
    assert.strictEqual((yield* openKeyFile(file, publicKey)).publicKey, publicKey)
    const mine = key()
    const foreign = keyOf(createHash("sha256").update("another").digest())!
    const mixed = { ...mine, publicKey: foreign.publicKey }
    assert.isFalse(isSound(mixed), "the public key of another private one")
    assert.throws(() => nonceKeyOf(mixed), /two implementations disagree/)
    assert.isTrue(isSound(mine))
  })

  it.effect("is not opened where the derivation itself gives another", function* () {
    const file = join(dir, "key2")
    writeFileSync(file, `${seed.toString("hex")}\n`, { mode: 0o600 })
    const { publicKey } = keyOf(createHash("sha256").update("another").digest())!
    const right = crypto.createPublicKey
    const der = Buffer.concat([
      Buffer.from("302e020100300506032b657004220420", "hex"),
      createHash("sha256").update("another").digest(),
    ])
    const foreign = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
    const opened = yield* Effect.acquireUseRelease(
      Effect.sync(() => {
        crypto.createPublicKey = (() => right(foreign)) as typeof right
        syncBuiltinESMExports()
      }),
      () => Effect.flip(openKeyFile(file, publicKey)),
      () =>
        Effect.sync(() => {
          crypto.createPublicKey = right
          syncBuiltinESMExports()
        }),
    )
    assert.include(opened.message, "two implementations disagree about its public key")
  })
})
