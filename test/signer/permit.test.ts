import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { baseUnits } from "../../src/domain/Amount.ts"
import { accountTypeNumbers } from "../../src/domain/Balance.ts"
import type { Command } from "../../src/domain/Command.ts"
import { referenceText } from "../../src/domain/Reference.ts"
import type { PermitRequest, Signer } from "../../src/signer/Signer.ts"
import { Journal, type JournalHead } from "../../src/store/journal/Journal.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { encodeInputData } from "../../src/tx/InputData.ts"
import { keyInFile, plainPolicy, withSigner } from "../support/WithSigner.ts"

const key = keyInFile("a key for permits")
const { publicKey } = key

const to = "b".repeat(64)
const other = "e".repeat(64)
const vault = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const asset = "c".repeat(64)
const general = accountTypeNumbers.ACCOUNT_TYPE_GENERAL
const start = 1_800_000_000_000

type Change = { readonly amount?: bigint; readonly to?: string; readonly reference?: string }
const transfer = ({ amount = 10n, reference = "", ...more }: Change = {}): Command => ({
  _tag: "Transfer",
  fromAccountType: general,
  to: more.to ?? to,
  toAccountType: general,
  asset,
  amount: baseUnits(amount),
  reference,
  kind: { _tag: "OneOff", deliverOn: 0n },
})
const withdraw = (amount = 10n): Command => ({
  _tag: "Withdraw",
  asset,
  amount: baseUnits(amount),
  receiverAddress: vault,
})
const asked = (command: Command, more: Partial<PermitRequest> = {}): PermitRequest => ({
  intentId: "i",
  k: 1,
  party: publicKey,
  chainId: "chain",
  command,
  blockTimeMillis: start,
  spendable: 1_000n,
  fee: { factor: { numerator: 1n, denominator: 1_000n }, cap: undefined, readAt: undefined },
  ...more,
})
const tags: { of: Signer["Service"]["tag"] } = { of: () => undefined }
const textOf = ({ seq, hash }: JournalHead, intentId = "i") =>
  referenceText({ installation: "0a1b2c3d", seq, hash, tag: tags.of(publicKey, intentId) ?? "" })
const named = (permit: JournalHead, more: Change = {}, intentId = "i") =>
  transfer({ reference: textOf(permit, intentId), ...more })

const limits = { perTransfer: baseUnits(100n), per24h: baseUnits(500n), transfersPer24h: 9 }
const lines = [{ line: 1, from: new Set([publicKey]), to: new Set([to, other, vault]), assetId: asset, ...limits }]
const policy = { ...plainPolicy, lines }
const signing = (use: Parameters<typeof withSigner>[1]) =>
  withSigner({ key, policy, assets: new Map([[asset, "USDT"]]), at: start }, (signer) => {
    tags.of = signer.tag
    return use(signer)
  })

/** Asks for the signature over bytes that are this command. */
const signs = (signer: Signer["Service"], command: Command, more: Partial<PermitRequest> = {}) => {
  const { command: _, ...rest } = asked(command, more)
  return signer.sign({ ...rest, inputData: encodeInputData({ nonce: 7n, blockHeight: 5n, command }) })
}
const refusalOf = (signer: Signer["Service"], command: Command, more: Partial<PermitRequest> = {}) =>
  Effect.map(Effect.flip(signs(signer, command, more)), ({ reason }) =>
    reason._tag === "Refused" ? reason.refusal : reason._tag,
  )

describe("a signature and its permit", () => {
  it.effect("are given for the bytes that name it, after the journal entry", () =>
    signing(function* (signer) {
      const permit = yield* signer.permit(asked(transfer()))
      yield* signs(signer, named(permit))
      const entries = yield* (yield* Journal).about("i")
      assert.deepStrictEqual(
        entries.map(({ kind }) => kind),
        ["config", "permit", "signature"],
      )
      const { k, command, to: receiver, amount, line, policy } = JSON.parse(entries[1]?.body ?? "{}")
      assert.deepStrictEqual([k, command, receiver, amount, line], [1, "transfer", to, "10", 1])
      assert.strictEqual(policy, "d".repeat(8))
    }),
  )

  it.effect("are not given for other bytes", () =>
    signing(function* (signer) {
      assert.strictEqual(yield* refusalOf(signer, transfer()), "permit", "nothing is permitted")
      assert.strictEqual(yield* refusalOf(signer, withdraw()), "permit", "nothing is permitted")
      const permit = yield* signer.permit(asked(transfer()))
      const foreign = yield* signer.permit(asked(transfer(), { intentId: "j" }))
      const cases: ReadonlyArray<readonly [string, Command, Partial<PermitRequest>?]> = [
        ["no reference", transfer()],
        ["a reference of its own", transfer({ reference: "rent" })],
        ["half of the hash", transfer({ reference: textOf(permit).replace(/.{20}\.(.*)$/, ".$1") })],
        ["another payment's tag", named(permit, {}, "j")],
        ["no tag", transfer({ reference: textOf(permit).slice(0, -17) })],
        ["another number", named({ ...permit, seq: permit.seq + 1 })],
        ["another hash", named({ ...permit, hash: "0".repeat(64) })],
        ["another amount", named(permit, { amount: 11n })],
        ["another receiver", named(permit, { to: other })],
        ["another kind of command", withdraw()],
        ["another payment's permit", named(foreign)],
        ["the permit at another payment", named(permit), { intentId: "j" }],
        ["a payment that has none", named(permit), { intentId: "l" }],
      ]
      for (const [what, command, more] of cases) {
        assert.strictEqual(yield* refusalOf(signer, command, more), "permit", what)
      }
      assert.lengthOf(yield* (yield* SpendLog).attempts("i"), 0)
    }),
  )

  it.effect("are refused if another permit or attempt has followed it", () =>
    signing(function* (signer) {
      const first = yield* signer.permit(asked(transfer()))
      const second = yield* signer.permit(asked(transfer()))
      assert.strictEqual(yield* refusalOf(signer, named(first)), "permit")
      yield* signs(signer, named(second))
      assert.strictEqual(yield* refusalOf(signer, named(second), { k: 2 }), "permit")
      const third = yield* signer.permit(asked(transfer(), { k: 2 }))
      yield* signs(signer, named(third), { k: 2 })
      const alive = yield* Effect.flip(signer.permit(asked(transfer(), { k: 2 })))
      assert.include(alive.message, "attempt_alive")
    }),
  )

  it.effect("are judged twice, against the policy of each time", () =>
    signing(function* (signer) {
      const journal = yield* Journal
      const permit = yield* signer.permit(asked(transfer()))
      assert.strictEqual(yield* refusalOf(signer, named(permit), { spendable: 0n }), "floor")
      const refused = yield* Effect.flip(signer.permit(asked(transfer({ amount: 101n }), { intentId: "j" })))
      assert.include(refused.message, "amount")
      assert.deepStrictEqual(
        (yield* journal.about("j")).map(({ kind }) => kind),
        ["refusal"],
      )
      // What was said of it in between is not what its permit rests on.
      assert.strictEqual((yield* journal.trail("i")).findLast(({ kind }) => kind === "permit")?.seq, permit.seq)
      yield* signs(signer, named(permit))
    }),
  )

  it.effect("need no reference where the command has none, but a permit all the same", () =>
    signing(function* (signer) {
      yield* signer.permit(asked(withdraw()))
      assert.strictEqual(yield* refusalOf(signer, withdraw(11n)), "permit")
      yield* signs(signer, withdraw())
    }),
  )

  it("is written by the signer alone", () => {
    const root = new URL("../../src/", import.meta.url)
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
    const writers = files.filter((name) => /kind: "permit"/.test(readFileSync(new URL(name, root), "utf8")))
    assert.deepStrictEqual(writers, ["signer/Signer.ts"])
  })
})
