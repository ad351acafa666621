import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { termsHash } from "../../src/rules/policy/storedTerms.ts"
import { type Agreement, agreementText, type PaymentTerms, paymentText } from "../../src/tx/Approval.ts"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"
import { startFakeDaemon } from "./FakeDaemon.ts"

const dir = tempDir("signing")
const key = join(dir, "ana")
const file = join(dir, "treasury.yaml")
const id = "ab".repeat(32)
const other = "cd".repeat(32)
const expires = Date.parse("2030-01-01T00:00:00Z")
const place = { treasury: "sandbox", chainId: "sandbox-1" }

const terms: PaymentTerms = {
  ...place,
  intentId: id,
  rule: "keep-hot-funded",
  proposer: undefined,
  from: "11".repeat(32),
  fromName: "reserve",
  to: "22".repeat(32),
  toName: "hot",
  assetId: "33".repeat(32),
  symbol: "USDT",
  decimals: 6,
  amount: 11_000_000n,
  feeMax: 22_000n,
  policy: "44".repeat(32),
  group: "desk",
  expires,
}
const good = paymentText(terms)
const agreed = (asked: Agreement) => agreementText(place, asked, expires)
const list = "55".repeat(32)
const wider = agreed({ kind: "terms", replaces: 7, terms: list, weaker: ["per24h of USDT: 900,000 for 400"] })
const reason = "looked"
const none = { halts: [], stops: [] }
const texts = {
  terms: wider,
  resume: agreed({ kind: "resume", scope: "all", ...none, reason }),
  adopt: agreed({ kind: "adopt", halts: [], payments: 9, list, reason }),
  recover: agreed({ kind: "recover", halts: [], payments: 9, list, reason }),
  resolve: agreed({ kind: "resolve", payment: id, words: "11 USDT", outcome: "never executed", reason }),
}

/** What a daemon shows beside the text, all of it in good order. */
const viewed = (text: unknown) => ({
  ...{ id, short: "abcd", state: "awaiting_approval", words: "keep-hot-funded: 11.00 USDT reserve -> hot" },
  ...{ text, group: "desk", need: 2, approved: [], missing: 2, others: ["ana", "ben"], again: [] },
  ...{ proposer: null, expires: "2030-01-01T00:00:00.000Z", millisLeft: 1_000_000 },
})
const waiting = (waits: string) => (text: string) => ({ waits, text, by: [], others: ["ana"], missing: 1 })

type Attack = readonly [title: string, args: ReadonlyArray<string>, answer: unknown]

const payment = ["approve", id]
const shows = (title: string, text: unknown): Attack => [`a payment: ${title}`, payment, viewed(text)]
const changed = (from: string | RegExp, to: string) => good.replace(from, to)

const ofPayments: ReadonlyArray<Attack> = [
  ...Object.entries(texts).map(([kind, text]) => shows(`the text of another kind, ${kind}`, text)),
  shows("another payment's text", paymentText({ ...terms, intentId: other })),
  shows("an amount in units that is not the one in base units", changed("amount: 11.00 USDT", "amount: 1.00 USDT")),
  shows("an amount in base units that is not the one in units", changed("units: 11000000", "units: 600000000000")),
  shows("a fee that is written in two ways", changed("fee, at most: 0.022", "fee, at most: 0.002")),
  shows("an amount twice", changed("amount: ", "amount: 600,000.00 USDT\namount: ")),
  shows("a fact that no payment has", changed("group: ", "weaker 1 of 1: nothing\ngroup: ")),
  shows("a fact less", changed(/policy: .*\n/, "")),
  shows("facts in another order", changed(/(policy: .*\n)(group: .*\n)/, "$2$1")),
  shows("another first line", changed("cofferer approval", "cofferer approvals")),
  shows("a byte order mark", `\uFEFF${good}`),
  shows("lines of another system", good.replaceAll("\n", "\r\n")),
  shows("a line break inside of a value", changed("to: hot", "to: hot\u2028amount: 11.00 USDT")),
  shows("a name in the other direction", paymentText({ ...terms, toName: "ho\u202Et" })),
  shows("a colour that hides the rest of a line", changed("to: hot", "to: \u001b[8mhot")),
  shows("more after its end", `${good}\n${wider}`),
  shows("no end of its last line", good.slice(0, -1)),
  shows("a symbol that speaks of decimals", changed("USDT, 6 decimals", "USDT, 06 decimals")),
  shows("a time that is none", changed(/void from: .*\n/, "void from: never\n")),
  shows("an id in other letters", changed(`payment: ${id}`, `payment: ${id.toUpperCase()}`)),
  shows("no text", undefined),
  shows("a list", [good]),
  shows("bytes of a network's command", "\u0008\u0002\u0012\u0040"),
]

const verbs: Readonly<Record<string, readonly [args: ReadonlyArray<string>, right: string]>> = {
  resume: [["resume", "--scope", "all", "--reason", reason], texts.resume],
  adopt: [["adopt", "--reason", reason], texts.adopt],
  recover: [["recover", "--reason", reason], texts.recover],
  resolve: [["intents", "resolve", id, "--never-executed", "--reason", reason], texts.resolve],
}
const ofVerbs: ReadonlyArray<Attack> = Object.entries(verbs).flatMap(([kind, [args, right]]) => [
  ...Object.entries({ ...texts, payment: good })
    .filter(([name]) => name !== kind)
    .map(([name, text]): Attack => [`${kind}: the text of ${name}`, args, waiting(kind)(text)]),
  [`${kind}: another reason`, args, waiting(kind)(right.replace(`reason: ${reason}`, "reason: other"))],
  [`${kind}: the reason twice`, args, waiting(kind)(right.replace("reason: ", "reason: other\nreason: "))],
])
const ofWords: ReadonlyArray<Attack> = [
  ["resume: another scope", verbs["resume"]![0], waiting("resume")(texts.resume.replace("scope: all", "scope: pin:X"))],
  [
    "resolve: another outcome",
    verbs["resolve"]![0],
    waiting("resolve")(texts.resolve.replace("never executed", "executed 1")),
  ],
  ["resolve: another payment", verbs["resolve"]![0], waiting("resolve")(texts.resolve.replace(id, other))],
]

describe("a daemon that is somebody else", () => {
  let daemon: Awaited<ReturnType<typeof startFakeDaemon>>
  let ownTerms = ""
  let policy = ""
  const ofTerms = (): ReadonlyArray<Attack> => {
    const right = agreed({ kind: "terms", replaces: 7, terms: ownTerms, weaker: [] })
    const asked = (title: string, text: string, as = ownTerms): Attack => [
      `terms: ${title}`,
      ["approve", "terms", ownTerms.slice(0, 16), "-c", file],
      { terms: as, policy, weaker: [], text },
    ]
    return [
      asked("a payment that names them in a line", good.replace("group: ", `terms: ${ownTerms}\ngroup: `)),
      asked("other terms", wider),
      asked("other terms under their name", wider, list),
      asked("another chain", right.replace("chain: sandbox-1", "chain: live-1")),
      asked("another treasury", right.replace("treasury: sandbox", "treasury: other")),
      asked("them twice", right.replace("terms: ", `terms: ${list}\nterms: `)),
    ]
  }

  beforeAll(async () => {
    writeFileSync(file, readFileSync(join(root, "config/sandbox.yaml"), "utf8"))
    assert.strictEqual((await callCofferer(["keys", "operator", "new", key])).code, 0)
    const treasury = await Effect.runPromise(loadTreasury(file))
    assert.deepStrictEqual([treasury.name, treasury.network.chainId], [place.treasury, place.chainId])
    ownTerms = termsHash(treasuryTermsOf({ treasury }))
    policy = treasury.policy.hash
    daemon = await startFakeDaemon(dir)
  })

  afterAll(async () => {
    await daemon.close()
  })

  const call = (args: ReadonlyArray<string>) => callCofferer([...args, "--key", key, "--data", dir])

  it("gets no signature over a text that is not what was asked for", async () => {
    const attacks = [...ofPayments, ...ofVerbs, ...ofWords, ...ofTerms()]
    const through: Array<string> = []
    for (const [title, args, answer] of attacks) {
      daemon.become(() => answer)
      const { code, stdout } = await call(args)
      const signed = daemon.heard.filter(({ body }) => JSON.stringify(body ?? {}).includes("signature"))
      if (code !== 6 || signed.length > 0 || stdout !== "")
        through.push(`${title}: exit ${code}, ${signed.length} signed`)
    }
    console.log(`approvals: tried ${attacks.length} through ${through.length}`)
    assert.deepStrictEqual(through, [])
    assert.isAtLeast(attacks.length, 64)
  })

  it("is shown by what it signs itself, whatever words stand beside it", async () => {
    daemon.become(() => viewed(paymentText({ ...terms, amount: 600_000_000_000n })))
    const { stderr } = await call(payment)
    assert.include(stderr, "keep-hot-funded: 600,000.00 USDT reserve -> hot, fee at most 0.022\n")
    assert.include(stderr, "\namount in base units: 600000000000\n")
    assert.notInclude(stderr, "11.00")
  })

  it("gets one over the text that was asked for", async () => {
    daemon.become(() => viewed(good))
    await call(["approve", id.slice(0, 8)])
    assert.deepStrictEqual(
      daemon.heard.map(({ path }) => path),
      [`/api/v1/intents/${id.slice(0, 8)}/approval`, `/api/v1/intents/${id}/approve`],
    )
    for (const [kind, [args, right]] of Object.entries(verbs)) {
      daemon.become(() => waiting(kind)(right))
      await call(args)
      assert.match(JSON.stringify(daemon.heard[1]?.body), /"signature":"[0-9a-f]{128}"/, kind)
    }
  })

  it("is not believed by who signs on another machine either", async () => {
    for (const text of [good, ...Object.values(texts)]) assert.match(text, /^cofferer approval: [a-z]+\n/)
    daemon.become(() => viewed(texts.terms))
    const printed = await callCofferer(["approve", id, "--print", "--data", dir])
    assert.deepStrictEqual([printed.code, printed.stdout], [6, ""])
  })
})
