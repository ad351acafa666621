import { assert, describe, it } from "@effect/vitest"
import { Effect, References, Result } from "effect"
import { TestClock } from "effect/testing"
import { baseUnits } from "../../src/domain/Amount.ts"
import { accountTypeNumbers } from "../../src/domain/Balance.ts"
import type { PolicyLine } from "../../src/rules/policy/Policy.ts"
import type { Signer, SignRequest } from "../../src/signer/Signer.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { encodeInputData } from "../../src/tx/InputData.ts"
import { permitted } from "../support/permitted.ts"
import { keyInFile, plainPolicy, withSigner } from "../support/WithSigner.ts"

const key = keyInFile("a key for windows")
const { publicKey } = key

const to = "b".repeat(64)
const asset = "c".repeat(64)
const general = accountTypeNumbers.ACCOUNT_TYPE_GENERAL
const hour = 3_600_000
const day = 24 * hour
const maxAgeMillis = 30_000
const start = 20_000 * day

const narrow: PolicyLine = {
  line: 1,
  from: new Set([publicKey]),
  to: new Set([to]),
  assetId: asset,
  perTransfer: baseUnits(200n),
  per24h: baseUnits(400n),
  transfersPer24h: 10_000,
}

/** Asks for a payment whose newest block has the given time. */
const pays = (intentId: string, amount: bigint, blockTimeMillis: number): SignRequest => ({
  intentId,
  k: 1,
  party: publicKey,
  chainId: "chain",
  inputData: encodeInputData({
    nonce: 7n,
    blockHeight: 5n,
    command: {
      _tag: "Transfer",
      fromAccountType: general,
      to,
      toAccountType: general,
      asset,
      amount: baseUnits(amount),
      reference: intentId,
      kind: { _tag: "OneOff", deliverOn: 0n },
    },
  }),
  blockTimeMillis,
  spendable: 1_000_000_000n,
  fee: { factor: { numerator: 1n, denominator: 1_000n }, cap: undefined, readAt: undefined },
})

type Use = Parameters<typeof withSigner>[1]
const signing = (use: Use, { line = narrow, maxAgeMillis }: { line?: PolicyLine; maxAgeMillis?: number } = {}) => {
  const policy = { ...plainPolicy, lines: [line] }
  const setup = { key, policy, assets: new Map([[asset, "USDT"]]), at: start, ...(maxAgeMillis && { maxAgeMillis }) }
  return withSigner(setup, (signer) => use(permitted(signer)))
}

const refusalOf = (signer: Signer["Service"], asked: SignRequest) =>
  Effect.map(Effect.result(signer.sign(asked)), (given) =>
    Result.isSuccess(given)
      ? "signed"
      : given.failure.reason._tag === "Refused"
        ? given.failure.reason.refusal
        : given.failure.message,
  )

describe("the signer's window", () => {
  it.effect("holds over a clock that was 25 hours behind the blocks", () =>
    signing(
      function* (signer) {
        const block = start + 25 * hour
        assert.strictEqual(yield* refusalOf(signer, pays("1", 200n, block)), "signed")
        assert.strictEqual(yield* refusalOf(signer, pays("2", 200n, block)), "signed")
        yield* (yield* SpendLog).close("1", undefined)
        yield* (yield* SpendLog).close("2", undefined)
        yield* TestClock.setTime(block)
        assert.strictEqual(yield* refusalOf(signer, pays("3", 200n, block)), "window_amount")
        yield* TestClock.setTime(block + day - 1)
        assert.strictEqual(yield* refusalOf(signer, pays("3", 200n, block + day)), "window_amount")
        yield* TestClock.setTime(block + day)
        assert.strictEqual(yield* refusalOf(signer, pays("3", 200n, block + day - 1)), "window_amount")
        assert.strictEqual(yield* refusalOf(signer, pays("3", 200n, block + day)), "signed")
      },
      // Nothing else may stop it: the window alone is asked.
      { maxAgeMillis: 10 * day },
    ),
  )

  it.effect("holds over a clock that was 25 hours ahead of the blocks", () =>
    signing(
      function* (signer) {
        const block = start - 25 * hour
        assert.strictEqual(yield* refusalOf(signer, pays("1", 200n, block)), "signed")
        assert.strictEqual(yield* refusalOf(signer, pays("2", 200n, block)), "signed")
        yield* (yield* SpendLog).close("1", undefined)
        yield* (yield* SpendLog).close("2", undefined)
        yield* TestClock.setTime(block)
        assert.strictEqual(yield* refusalOf(signer, pays("3", 200n, block)), "window_amount")
      },
      { maxAgeMillis: 10 * day },
    ),
  )

  it.effect("counts what is open, and late executions for 24 hours", () =>
    signing(function* (signer) {
      const spends = yield* SpendLog
      const at = (millis: number) => TestClock.setTime(start + millis)
      assert.strictEqual(yield* refusalOf(signer, pays("1", 200n, start)), "signed")
      assert.strictEqual(yield* refusalOf(signer, pays("2", 200n, start)), "signed")
      yield* at(3 * day)
      assert.strictEqual(yield* refusalOf(signer, pays("3", 1n, start + 3 * day)), "window_amount", "both are open")
      yield* spends.close("1", start + 2 * day + hour)
      yield* spends.close("2", undefined)
      assert.strictEqual(yield* refusalOf(signer, pays("3", 200n, start + 3 * day)), "signed", "2 never executed")
      assert.strictEqual(yield* refusalOf(signer, pays("4", 1n, start + 3 * day)), "window_amount", "1 executed late")
      yield* at(3 * day + hour + 1)
      assert.strictEqual(yield* refusalOf(signer, pays("4", 200n, start + 3 * day + hour + 1)), "signed")
    }),
  )

  it.effect("cannot forget a payment early through a false end", () =>
    signing(function* (signer) {
      const spends = yield* SpendLog
      assert.strictEqual(yield* refusalOf(signer, pays("1", 200n, start)), "signed")
      assert.strictEqual(yield* refusalOf(signer, pays("2", 200n, start)), "signed")
      yield* spends.close("1", 0)
      yield* spends.close("2", undefined)
      assert.strictEqual(yield* refusalOf(signer, pays("3", 1n, start)), "window_amount")
    }),
  )

  it.effect("is asked of nobody while clock and newest block are apart, in either direction", () =>
    signing(function* (signer) {
      assert.strictEqual(yield* refusalOf(signer, pays("1", 1n, start - maxAgeMillis - 1)), "stale")
      assert.strictEqual(yield* refusalOf(signer, pays("1", 1n, start + maxAgeMillis + 1)), "stale")
      assert.strictEqual(yield* refusalOf(signer, pays("1", 1n, start - maxAgeMillis)), "signed")
      assert.strictEqual(yield* refusalOf(signer, pays("2", 1n, start + maxAgeMillis)), "signed")
    }),
  )
})

const rounds = 20
const racing = 64

describe("64 requests at once against one remaining limit", () => {
  it.effect(`never pass it, ${rounds} rounds on one store`, () =>
    signing(
      function* (signer) {
        const spends = yield* SpendLog
        for (let round = 0; round < rounds; round++) {
          // A new day for each round, and other places at which one gives way to the next.
          const now = start + round * (day + 1)
          yield* TestClock.setTime(now)
          const given = yield* Effect.forEach(
            Array.from({ length: racing }, (_, i) => i),
            (i) => refusalOf(signer, pays(`${round}/${i}`, 10n, now)),
            { concurrency: "unbounded" },
          ).pipe(Effect.provideService(References.MaxOpsBeforeYield, 50 + 7 * (round % 61)))
          const signed = given.flatMap((outcome, i) => (outcome === "signed" ? [i] : []))
          assert.strictEqual(signed.length, 1, `round ${round}: ${signed.length} of 10 against 10`)
          assert.deepStrictEqual([...new Set(given)].toSorted(), ["signed", "window_amount"])
          for (const i of signed) yield* spends.close(`${round}/${i}`, now)
        }
      },
      { line: { ...narrow, perTransfer: baseUnits(10n), per24h: baseUnits(19n) } },
    ),
  )
})
