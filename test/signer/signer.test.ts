import { execFileSync } from "node:child_process"
import { createHash, createHmac, createPrivateKey, createSecretKey, sign } from "node:crypto"
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { assert, describe } from "@effect/vitest"
import * as ed from "@noble/ed25519"
import { sha512 } from "@noble/hashes/sha2.js"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { baseUnits } from "../../src/domain/Amount.ts"
import type { ApprovalGroup } from "../../src/domain/Approval.ts"
import { accountTypeNumbers } from "../../src/domain/Balance.ts"
import type { Command } from "../../src/domain/Command.ts"
import type { Policy } from "../../src/rules/policy/Policy.ts"
import { keyOf, nonceKeyOf, openKeyFile } from "../../src/signer/KeyFile.ts"
import { deriveNonce, type Signer, type SignRequest } from "../../src/signer/Signer.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { SpendLog } from "../../src/store/payments/SpendLog.ts"
import { type ApprovalClaim, type PaymentTerms, paymentText } from "../../src/tx/Approval.ts"
import { encodeInputData } from "../../src/tx/InputData.ts"
import { signingDigest } from "../../src/tx/Transaction.ts"
import { it } from "../support/it.ts"
import { operatorKey, operatorNames, operatorSigns } from "../support/Operators.ts"
import { permitted } from "../support/permitted.ts"
import { keyInFile, plainPolicy, withSigner } from "../support/WithSigner.ts"

ed.hashes.sha512 = sha512
const key = keyInFile("a key for tests")
const { dir, seed, publicKey } = key

const to = "b".repeat(64)
const vault = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const otherVault = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
const asset = "c".repeat(64)
const other = "e".repeat(64)
const otherAsset = "f".repeat(64)
const general = accountTypeNumbers.ACCOUNT_TYPE_GENERAL
const policy: Policy = {
  names: {
    parties: new Map([
      [publicKey, "p"],
      [to, "q"],
    ]),
    assets: new Map([[asset, { symbol: "USDT", decimals: 1 }]]),
  },
  ...plainPolicy,
  lines: [
    {
      line: 1,
      from: new Set([publicKey]),
      to: new Set([to, vault]),
      assetId: asset,
      perTransfer: baseUnits(100n),
      per24h: baseUnits(150n),
      transfersPer24h: 3,
    },
    {
      line: 2,
      from: new Set([publicKey]),
      to: new Set([other, otherVault]),
      assetId: asset,
      perTransfer: baseUnits(100n),
      per24h: baseUnits(150n),
      transfersPer24h: 3,
    },
    {
      line: 3,
      from: new Set([publicKey]),
      to: new Set([to]),
      assetId: otherAsset,
      perTransfer: baseUnits(100n),
      per24h: baseUnits(150n),
      transfersPer24h: 3,
    },
  ],
}
type Transfer = Extract<Command, { _tag: "Transfer" }>
const transfer = (more: Partial<Transfer> = {}): Command => ({
  _tag: "Transfer",
  fromAccountType: general,
  to,
  toAccountType: general,
  asset,
  amount: baseUnits(100n),
  reference: "",
  kind: { _tag: "OneOff", deliverOn: 0n },
  ...more,
})
const bytes = (command: Command, nonce = 7n) => encodeInputData({ nonce, blockHeight: 5n, command })
const day = 86_400_000

const request = (command: Command, more: Partial<SignRequest> = {}): SignRequest => ({
  intentId: "i",
  k: 1,
  party: publicKey,
  chainId: "chain",
  inputData: bytes(command),
  blockTimeMillis: 10 * day,
  spendable: 1_000n,
  fee: { factor: { numerator: 1n, denominator: 1_000n }, cap: undefined, readAt: undefined },
  ...more,
})

const desk: ApprovalGroup = {
  name: "desk",
  need: 2,
  withinMillis: 3_600_000,
  of: new Map(operatorNames.map((name) => [name, operatorKey(name).publicKey])),
}
const decidedAt = 10 * day - 1_000
/** The terms that the signer is to find in `request(transfer())`. */
const terms: PaymentTerms = {
  treasury: "test",
  chainId: "chain",
  intentId: "i",
  rule: "keep",
  proposer: undefined,
  from: publicKey,
  fromName: "p",
  to,
  toName: "q",
  assetId: asset,
  symbol: "USDT",
  decimals: 1,
  amount: 100n,
  feeMax: 1n,
  policy: policy.digest,
  group: "desk",
  expires: decidedAt + desk.withinMillis,
}
const givenBy = (names: ReadonlyArray<string>, changed: Partial<PaymentTerms> = {}) =>
  names.map((name) => ({
    key: operatorKey(name).publicKey,
    signature: operatorSigns(name, paymentText({ ...terms, ...changed })),
  }))
const claim = (names: ReadonlyArray<string>, changed: Partial<PaymentTerms> = {}): ApprovalClaim => ({
  rule: "keep",
  proposer: changed.proposer,
  feeMax: terms.feeMax,
  askedAt: decidedAt,
  given: givenBy(names, changed),
})

const signing = (
  use: Parameters<typeof withSigner>[1],
  floor = new Map<string, ReturnType<typeof baseUnits>>(),
  approval?: Policy["lines"][number]["approval"],
  isLeaseHeld = true,
) => {
  const lines = policy.lines.map((line) => ({ ...line, approval }))
  const assets = new Map([
    [asset, "USDT"],
    [otherAsset, "VEGA"],
  ])
  const setup = { key, policy: { ...policy, lines }, assets, at: 10 * day, floor, isLeaseHeld }
  return withSigner(setup, (signer) => use(permitted(signer)))
}

const refusalOf = (signer: Signer["Service"], asked: SignRequest) =>
  Effect.map(Effect.flip(signer.sign(asked)), ({ reason }) =>
    reason._tag === "Refused" ? reason.refusal : reason._tag,
  )

describe("the configuration in force", () => {
  it.effect("has nothing signed in a lower mode, and for a party that it does not name", () =>
    signing(function* (signer) {
      const { now, replace } = yield* ConfigInForce
      const { treasury } = now()
      yield* replace({ treasury, mode: "shadow" }, Effect.void)
      assert.strictEqual(yield* refusalOf(signer, request(transfer())), "halted")
      yield* replace({ treasury: { ...treasury, parties: new Map() }, mode: "live" }, Effect.void)
      assert.strictEqual(yield* refusalOf(signer, request(transfer())), "KeyMissing")
      yield* replace({ treasury, mode: "live" }, Effect.void)
      yield* signer.sign(request(transfer()))
    }),
  )
})

describe("what the signer signs", () => {
  it.effect("is what the reference signs over the same bytes", () =>
    signing(function* (signer) {
      const signature = yield* signer.sign(request(transfer()))
      const entry = (yield* (yield* Journal).about("i")).find(({ kind }) => kind === "signature")
      const over = Buffer.from(JSON.parse(entry?.body ?? "{}").digest, "hex")
      assert.strictEqual(signature, Buffer.from(ed.sign(over, seed)).toString("hex"))
    }),
  )

  it.effect("is signed once: same bytes, same signature; other bytes none", () =>
    signing(function* (signer) {
      const first = yield* signer.sign(request(transfer()))
      assert.strictEqual(yield* signer.sign(request(transfer())), first)
      const other = request(transfer({ amount: baseUnits(1n) }))
      assert.strictEqual(yield* refusalOf(signer, other), "attempt_alive")
      yield* signer.sign({ ...request(transfer({ amount: baseUnits(50n) })), intentId: "j" })
    }),
  )

  it.effect("stays within its window of block time, which never runs faster than the clock", () =>
    signing(function* (signer) {
      yield* signer.sign(request(transfer()))
      const more = { ...request(transfer({ amount: baseUnits(51n) })), intentId: "j" }
      assert.strictEqual(yield* refusalOf(signer, more), "window_amount")
      const lied = { ...more, blockTimeMillis: 100 * day }
      assert.strictEqual(yield* refusalOf(signer, lied), "stale", "a gateway cannot make the day pass")
      yield* TestClock.setTime(11 * day + 1)
      const lagging = { ...more, blockTimeMillis: 11 * day - 1 }
      assert.strictEqual(yield* refusalOf(signer, lagging), "window_amount", "nor can our clock alone")
      assert.strictEqual(yield* refusalOf(signer, more), "stale")
      yield* (yield* SpendLog).close("i", undefined)
      assert.strictEqual(yield* refusalOf(signer, lagging), "window_amount", "over, and a day is not")
      yield* signer.sign({ ...more, blockTimeMillis: 11 * day + 1 })
    }),
  )

  it.effect("counts transfers, and tells the journal of each refusal", () =>
    signing(function* (signer) {
      for (const intentId of ["1", "2", "3"]) {
        yield* signer.sign({ ...request(transfer({ amount: baseUnits(1n) })), intentId })
      }
      const fourth = { ...request(transfer({ amount: baseUnits(1n) })), intentId: "4" }
      assert.strictEqual(yield* refusalOf(signer, fourth), "window_count")
      const [entry] = yield* (yield* Journal).about("4")
      assert.strictEqual(entry?.kind, "refusal")
      assert.include(entry?.body, "window_count")
    }),
  )

  it.effect("writes the amounts of a refusal as people write them", () =>
    signing(function* (signer) {
      yield* signer.sign(request(transfer()))
      const more = { ...request(transfer({ amount: baseUnits(51n) })), intentId: "j" }
      const { message } = yield* Effect.flip(signer.sign(more))
      const numbers = "10 USDT of 15 USDT in 24 h are used; 5.1 USDT more is too much"
      assert.strictEqual(message, `refused (window_amount): ${numbers} (policy line 1)`)
    }),
  )
})

describe("the network's fee", () => {
  const share = (numerator: bigint) => ({ numerator, denominator: 1_000n })
  const read = 10 * day
  const minutes = 60_000
  /** maxFee is 1 %: of a transfer of 100 one unit. */
  const cases: ReadonlyArray<readonly [string, SignRequest["fee"], boolean]> = [
    ["at the bound", { factor: share(10n), cap: undefined, readAt: read }, true],
    ["above it", { factor: share(20n), cap: undefined, readAt: read }, false],
    ["above it but for the cap", { factor: share(50n), cap: 1n, readAt: read }, true],
    ["above it in spite of the cap", { factor: share(50n), cap: 2n, readAt: read }, false],
    ["not known", undefined, false],
    ["ten minutes old", { factor: share(1n), cap: undefined, readAt: read - 10 * minutes }, true],
    ["older than ten minutes", { factor: share(1n), cap: undefined, readAt: read - 10 * minutes - 1 }, false],
    ["read in the future", { factor: share(1n), cap: undefined, readAt: read + 1 }, false],
    ["read at no time", { factor: share(1n), cap: undefined, readAt: Number.NaN }, false],
    ["written down", { factor: share(10n), cap: undefined, readAt: undefined }, true],
    ["written down and above it", { factor: share(20n), cap: undefined, readAt: undefined }, false],
  ]
  for (const [what, fee, isSigned] of cases) {
    it.effect(`${what}: a transfer is ${isSigned ? "signed" : "refused"}`, () =>
      signing(function* (signer) {
        const asked = request(transfer(), { fee })
        if (isSigned) yield* signer.sign(asked)
        else assert.strictEqual(yield* refusalOf(signer, asked), "fee")
      }),
    )
  }

  it.effect("is not asked for by what costs none", () =>
    signing(function* (signer) {
      const withdraw: Command = { _tag: "Withdraw", asset, amount: baseUnits(1n), receiverAddress: vault }
      yield* signer.sign(request(withdraw, { fee: undefined }))
    }),
  )

  it.effect("is refused with one entry in the journal, however often it is asked for", () =>
    signing(function* (signer) {
      const journal = yield* Journal
      for (let i = 0; i < 3; i++) yield* refusalOf(signer, request(transfer(), { fee: undefined }))
      assert.lengthOf(yield* journal.about("i"), 1)
      yield* refusalOf(signer, request(transfer(), { spendable: 0n }))
      yield* refusalOf(signer, request(transfer(), { fee: undefined }))
      assert.lengthOf(yield* journal.about("i"), 3)
      yield* signer.sign(request(transfer()))
      const entries = (yield* journal.about("i")).length
      yield* refusalOf(signer, request(transfer(), { k: 2, inputData: bytes(transfer(), 8n), fee: undefined }))
      assert.lengthOf(yield* journal.about("i"), entries + 1, "of another attempt")
    }),
  )
})

describe("the attempts of one intent", () => {
  const amount = baseUnits(1n)
  const withdraw = (receiverAddress = vault): Command => ({ _tag: "Withdraw", asset, amount, receiverAddress })
  const attempt = (k: number, command: Command) =>
    request(command, { k, inputData: bytes(command, BigInt(Math.ceil(k)) + 9n) })
  const small = transfer({ amount })

  it.effect("are three at most, each after the one before it", () =>
    signing(function* (signer) {
      for (const k of [0, -1, 1.5, 2, 3, 4]) {
        assert.strictEqual(yield* refusalOf(signer, attempt(k, small)), "attempts", `${k} before the first`)
      }
      yield* signer.sign(attempt(1, small))
      assert.strictEqual(yield* refusalOf(signer, attempt(3, small)), "attempts", "the second is missing")
      const second = yield* signer.sign(attempt(2, small))
      yield* signer.sign(attempt(3, small))
      assert.strictEqual(yield* refusalOf(signer, attempt(4, small)), "attempts")
      assert.strictEqual(yield* signer.sign(attempt(2, small)), second, "what is signed can be asked for again")
    }),
  )

  it.effect("count once in the limit of 24 hours", () =>
    signing(function* (signer) {
      yield* signer.sign(attempt(1, transfer()))
      yield* signer.sign(attempt(2, transfer()))
    }),
  )

  const otherwise: ReadonlyArray<readonly [string, Command, Command]> = [
    ["less", small, transfer({ amount: baseUnits(2n) })],
    ["more", transfer({ amount: baseUnits(2n) }), small],
    ["another receiver", small, transfer({ amount, to: other })],
    ["another asset", small, transfer({ amount, asset: otherAsset })],
    ["a withdrawal", small, withdraw()],
    ["a transfer", withdraw(), small],
    ["a withdrawal to another address", withdraw(), withdraw(otherVault)],
  ]
  for (const [what, first, second] of otherwise) {
    it.effect(`never pay differently: ${what}`, () =>
      signing(function* (signer) {
        yield* signer.sign(attempt(1, first))
        assert.strictEqual(yield* refusalOf(signer, attempt(2, second)), "attempts")
        yield* signer.sign(attempt(2, first))
        yield* signer.sign({ ...attempt(1, second), intentId: "j" })
      }),
    )
  }

  it.effect("never come from another key", () =>
    signing(function* (signer) {
      const log = yield* SpendLog
      const paid = { to, assetId: asset, amount: 1n, digest: "", signature: "", policy: "", line: 1, spentAt: 0 }
      yield* log.record({ ...paid, intentId: "i", k: 1, from: other })
      assert.strictEqual(yield* refusalOf(signer, attempt(2, small)), "attempts")
    }),
  )
})

describe("what the signer refuses", () => {
  const amount = baseUnits(1n)
  const commands: ReadonlyArray<readonly [string, Command]> = [
    ["a later delivery", transfer({ kind: { _tag: "OneOff", deliverOn: 1n } })],
    ["a recurring transfer", transfer({ kind: { _tag: "Recurring", startEpoch: 1n, factor: "1" } })],
    ["vested rewards", transfer({ fromAccountType: 23 })],
    ["the network's treasury", transfer({ toAccountType: 21 })],
    ["a withdrawal", { _tag: "Withdraw", amount, asset }],
    ["a recurring transfer's cancellation", { _tag: "CancelTransfer", transferId: to }],
    ["a transfer of no asset", transfer({ asset: "", amount: baseUnits(0n) })],
  ]
  for (const [what, command] of commands) {
    it.effect(`${what}: only transfers at once between general accounts are allowed`, () =>
      signing((signer) =>
        Effect.map(refusalOf(signer, request(command)), (refusal) => assert.strictEqual(refusal, "command")),
      ),
    )
  }

  const others: ReadonlyArray<readonly [string, SignRequest, string]> = [
    ["a receiver that no line names", request(transfer({ to: "d".repeat(64) })), "no_line"],
    ["an asset that no line names", request(transfer({ asset: "d".repeat(64) })), "no_line"],
    ["more than a line allows", request(transfer({ amount: baseUnits(101n) })), "amount"],
    ["another chain", request(transfer(), { chainId: "other" }), "chain_id"],
    ["a nonce of zero", request(transfer(), { inputData: bytes(transfer(), 0n) }), "command"],
    [
      "bytes with something unknown in them",
      request(transfer(), { inputData: Buffer.concat([bytes(transfer()), Buffer.from("f82a01", "hex")]) }),
      "command",
    ],
    ["garbage", request(transfer(), { inputData: Uint8Array.of(255, 1) }), "command"],
    ["a party without a key", request(transfer(), { party: to }), "KeyMissing"],
    ["more than there is, the fee included", request(transfer(), { spendable: 100n }), "floor"],
  ]
  for (const [what, asked, expected] of others) {
    it.effect(what, () =>
      signing((signer) => Effect.map(refusalOf(signer, asked), (found) => assert.strictEqual(found, expected))),
    )
  }

  it.effect("what would go below the floor", () =>
    signing(
      function* (signer) {
        const { message } = yield* Effect.flip(signer.sign(request(transfer(), { spendable: 1_100n })))
        assert.match(message, /^refused \(floor\): .* can be spent; the payment needs .* above the floor of /)
        yield* signer.sign(request(transfer(), { spendable: 1_101n }))
      },
      new Map([
        [otherAsset, baseUnits(1n)],
        [asset, baseUnits(1_000n)],
      ]),
    ),
  )

  it.effect("anything while halted", () =>
    signing(function* (signer) {
      yield* (yield* Controls).halt("operator", "stop")
      assert.strictEqual(yield* refusalOf(signer, request(transfer())), "halted")
    }),
  )

  it.effect("anything while another process holds the lease", () =>
    signing(
      (signer) => Effect.map(refusalOf(signer, request(transfer())), (refusal) => assert.strictEqual(refusal, "lease")),
      undefined,
      undefined,
      false,
    ),
  )

  it.effect("an asset that a person paused, or that its listing stopped, and no other", () =>
    signing(function* (signer) {
      const controls = yield* Controls
      const pause = (scope: string) => controls.pause({ scope, reason: "odd", author: "ann", until: undefined })
      yield* pause("asset:VEGA")
      for (const scope of ["asset:USDT", "pin:USDT"]) {
        yield* pause(scope)
        assert.strictEqual(yield* refusalOf(signer, request(transfer(), { intentId: scope })), "halted")
        yield* controls.resume({ scope, reason: "fine", author: "ann" })
      }
      yield* signer.sign(request(transfer()))
    }),
  )

  it.effect("anything before the ledger is compared or a restored store released", () =>
    signing(function* (signer) {
      const clearance = yield* Clearance
      yield* clearance.revoke
      assert.strictEqual(yield* refusalOf(signer, request(transfer())), "watermark")
      yield* clearance.quarantine(undefined)
      assert.strictEqual(yield* refusalOf(signer, request(transfer())), "watermark")
      yield* clearance.grant(publicKey, true)
      yield* clearance.quarantine("recovered")
      assert.strictEqual(yield* refusalOf(signer, request(transfer())), "watermark")
      yield* clearance.quarantine(undefined)
      yield* signer.sign(request(transfer()))
    }),
  )
})

describe("what operators must approve", () => {
  const above = baseUnits(10n)
  const approving = (use: Parameters<typeof signing>[0]) => signing(use, undefined, { group: desk, above })
  const given = (approval: ApprovalClaim | undefined, more: Partial<SignRequest> = {}) =>
    request(transfer(), { approval, ...more })

  it.effect("is signed with enough of them, and below the amount without any", () =>
    approving(function* (signer) {
      yield* signer.sign(request(transfer({ amount: above }), { intentId: "small" }))
      yield* signer.sign(given(claim(["ana", "chloe"])))
      const entries = yield* (yield* Journal).about("i")
      assert.include(
        entries.find(({ kind }) => kind === "permit")?.body,
        '"approval":{"group":"desk","need":2,"by":["ana","chloe"]}',
      )
    }),
  )

  const [ana] = givenBy(["ana"])
  const eve = operatorKey("eve").publicKey
  const cases: ReadonlyArray<readonly [string, ApprovalClaim | undefined]> = [
    ["nobody was asked", undefined],
    ["nobody signed", claim([])],
    ["one of two signed", claim(["ana"])],
    ["one signed twice", claim(["ana", "ana"])],
    ["one signed under two keys", { ...claim(["ana"]), given: [ana!, { ...ana!, key: operatorKey("ben").publicKey }] }],
    ["a stranger signed", claim(["ana", "eve"])],
    ["a stranger gave an operator's name", { ...claim(["ana"]), given: [ana!, { ...ana!, key: eve }] }],
    ["the proposer is one of them", claim(["ana", "ben"], { proposer: "ana" })],
    ["it was for another payment", claim(["ana", "ben"], { intentId: "j" })],
    ["it was for another treasury", claim(["ana", "ben"], { treasury: "other" })],
    ["it was for another chain", claim(["ana", "ben"], { chainId: "other" })],
    ["it was for another amount", claim(["ana", "ben"], { amount: 99n })],
    ["it was for another receiver", claim(["ana", "ben"], { to: "e".repeat(64) })],
    ["it was for another fee", claim(["ana", "ben"], { feeMax: 2n })],
    ["it was for another rule", claim(["ana", "ben"], { rule: "other" })],
    ["it was under another policy", claim(["ana", "ben"], { policy: "e".repeat(64) })],
    ["it was for another group", claim(["ana", "ben"], { group: "night" })],
    ["it named the receiver otherwise", claim(["ana", "ben"], { toName: "friend" })],
    ["it named another asset", claim(["ana", "ben"], { symbol: "USDC" })],
    ["its units were others", claim(["ana", "ben"], { decimals: 2 })],
    ["it was for another time", claim(["ana", "ben"], { expires: terms.expires + 1 })],
  ]
  for (const [what, approval] of cases) {
    it.effect(`is not signed where ${what}`, () =>
      approving((signer) =>
        Effect.map(refusalOf(signer, given(approval)), (refusal) => assert.strictEqual(refusal, "approval")),
      ),
    )
  }

  it.effect("is not signed for a fee above the one that they approved, whatever the policy allows by now", () =>
    approving(function* (signer) {
      const approval = { ...claim(["ana", "ben"], { feeMax: 0n }), feeMax: 0n }
      const fee = { factor: { numerator: 1n, denominator: 100n }, cap: undefined, readAt: undefined }
      assert.strictEqual(yield* refusalOf(signer, given(approval, { fee })), "fee")
      yield* signer.sign(given(approval))
    }),
  )

  it.effect("is not signed after its time or with a longer validity", () =>
    approving(function* (signer) {
      const late = 10 * day + 7_200_000
      const later = { ...claim(["ana", "ben"], { expires: late + desk.withinMillis }), askedAt: late }
      assert.strictEqual(yield* refusalOf(signer, given(later)), "approval")
      yield* TestClock.setTime(terms.expires)
      const signed = given(claim(["ana", "ben"]), { blockTimeMillis: terms.expires })
      assert.strictEqual(yield* refusalOf(signer, signed), "approval")
      yield* TestClock.setTime(terms.expires - 1)
      yield* signer.sign(signed)
    }),
  )
})

describe("key files", () => {
  const at = (name: string, content: string | Buffer, mode = 0o600) => {
    const path = join(dir, name)
    writeFileSync(path, content, { mode })
    chmodSync(path, mode)
    return path
  }

  const pipe = (name: string) => {
    const path = join(dir, name)
    execFileSync("mkfifo", [path])
    return path
  }

  for (const [form, content] of [
    ["32 raw bytes", seed],
    ["64 hex characters", seed.toString("hex")],
    ["upper-case hex with a line end", `${seed.toString("hex").toUpperCase()}\r\n`],
  ] as const) {
    it.effect(`are read as ${form}`, () =>
      Effect.map(openKeyFile(at("good", content), publicKey), (key) => assert.strictEqual(key.publicKey, publicKey)),
    )
  }

  it("are read as Kubernetes mounts them: root's, readable by a group, behind links", async ({ skip }) => {
    skip(process.getuid?.() !== 0, "needs root")
    const mounted = join(dir, "..2026")
    mkdirSync(mounted)
    at("..2026/reserve", seed, 0o440)
    symlinkSync("..2026", join(dir, "..data"))
    symlinkSync("..data/reserve", join(dir, "reserve"))
    const opened = await Effect.runPromise(openKeyFile(join(dir, "reserve"), publicKey))
    assert.strictEqual(opened.publicKey, publicKey)
  })

  for (const [what, path, says] of [
    [
      "that others may read",
      () => at("loose", seed, 0o644),
      /others may read the key file \(mode 644\); run: chmod 600/,
    ],
    ["that are not there", () => join(dir, "nowhere"), /no such key file/],
    ["that are pipes", () => pipe("pipe"), /is not a file; name a key file/],
    ["that are folders", () => dir, /is not a file; name a key file/],
    ["that hold something else", () => at("text", "not a key"), /not a key file; it holds 32 raw bytes or 64 hex/],
    ["of another key", () => at("other", "11".repeat(32)), /holds the key of [0-9a-f]{64}; expected/],
  ] as const) {
    it.effect(`${what} are refused with the remedy`, function* () {
      const error = yield* Effect.flip(openKeyFile(path(), publicKey))
      assert.match(error.message, says)
      assert.notInclude(error.message, "11".repeat(32))
    })
  }

  it.effect("show their secret nowhere", function* () {
    const opened = yield* openKeyFile(key.file, publicKey)
    const shown = [inspect(opened, { depth: 9, showHidden: true }), JSON.stringify(opened), String(opened)].join()
    for (const form of [seed.toString("hex"), seed.toString("base64"), seed.toString("latin1")]) {
      assert.notInclude(shown, form)
    }
  })
})

describe("nonces", () => {
  it("follow from key, intent and attempt, by the written formula", () => {
    const key = keyOf(Buffer.from(seed))
    if (key === undefined) return assert.fail("a key")
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed])
    const own = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
    const nonceKey = createHash("sha3-256")
      .update(sign(null, Buffer.from("cofferer nonce key v1"), own))
      .digest()
    assert.deepStrictEqual(nonceKeyOf(key).export(), nonceKey)
    const expected = createHmac("sha256", nonceKey).update("intent/3").digest().readBigUInt64BE(0)
    assert.strictEqual(deriveNonce(createSecretKey(nonceKey), "intent", 3), expected)
  })

  it("differ by intent, attempt and key", () => {
    const keys = [1, 2].map((byte) => createSecretKey(Buffer.alloc(32, byte)))
    const nonces = keys.flatMap((key) => ["a", "b"].flatMap((id) => [1, 2].map((k) => deriveNonce(key, id, k))))
    assert.strictEqual(new Set(nonces).size, 8)
  })

  it.effect("of the signer differ by intent and attempt", () =>
    signing(function* (signer) {
      const nonces = yield* Effect.forEach(["a", "b"], (id) =>
        Effect.forEach([1, 2], (k) => signer.nonce(publicKey, id, k)),
      )
      assert.strictEqual(new Set(nonces.flat()).size, 4)
    }),
  )
})

describe("withdrawals", () => {
  const withdraw = (receiverAddress: string | undefined, amount = 100n): Command => ({
    _tag: "Withdraw",
    asset,
    amount: baseUnits(amount),
    ...(receiverAddress === undefined ? {} : { receiverAddress }),
  })

  it.effect("are signed to the addresses of a line, without a fee, within its limits", () =>
    signing(function* (signer) {
      const asked = request(withdraw(vault), { spendable: 100n })
      const digest = signingDigest(asked.inputData, "chain")
      assert.strictEqual(yield* signer.sign(asked), Buffer.from(ed.sign(digest, seed)).toString("hex"))
      const more = { ...request(withdraw(vault, 51n)), intentId: "j" }
      assert.strictEqual(yield* refusalOf(signer, more), "window_amount")
      const poor = { ...request(withdraw(vault, 50n), { spendable: 49n }), intentId: "j" }
      assert.strictEqual(yield* refusalOf(signer, poor), "floor")
    }),
  )

  it.effect("are refused to unnamed receivers, parties and other address forms", () =>
    signing(function* (signer) {
      assert.strictEqual(yield* refusalOf(signer, request(withdraw(`0x${"1".repeat(40)}`))), "no_line")
      for (const receiver of [undefined, "", to, vault.toLowerCase(), vault.slice(2)]) {
        assert.strictEqual(yield* refusalOf(signer, request(withdraw(receiver))), "command", receiver)
      }
      const posted = request(transfer({ to: vault }))
      assert.strictEqual(yield* refusalOf(signer, posted), "command", "a transfer goes to a public key")
    }),
  )
})
