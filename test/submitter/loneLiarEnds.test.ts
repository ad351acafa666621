import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { alice, bob, type Flow, paid, pass, round, states, vault, withdrawing } from "../support/Flow.ts"
import { honest, type Manner, rewritten } from "../support/Fronts.ts"
import { hiding, hidingButMovements, type Instead, nowhere } from "../support/Instead.ts"
import { halts, intentsOf, rounds } from "../support/Intents.ts"
import { behind, keeper, pow, shown, wage, wages } from "../support/LoneLiar.ts"
import { chainId, one, usdt } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

type Kept = { readonly path: string; readonly body: string }

const bare = { framing: "bare" }
const passing = (...[options, sandbox]: Parameters<Flow>) => Effect.ignore(round(options, sandbox))
const someSeconds = (count: number, ...flow: Parameters<Flow>) =>
  Effect.forEach(Array.from({ length: count }), () => passing(...flow), { discard: true })
const aWhile = (seconds: number, ...flow: Parameters<Flow>) => pass(flow[1], seconds, passing(...flow))

/** What was kept back arrives after all. */
const handIn = (url: string, kept: ReadonlyArray<Kept>) =>
  Effect.forEach(
    kept,
    ({ path, body }) =>
      Effect.promise(async () => {
        await (await fetch(`${url}${path}`, { method: "POST", body })).text()
      }),
    { discard: true },
  )

/** Rounds until a payment was handed in, and kept back; then some in which nothing tells of it. */
const untilKept = Effect.fnUntraced(function* (kept: ReadonlyArray<Kept>, ...flow: Parameters<Flow>) {
  yield* waitUntil("a payment to be kept back", () => kept.length > 0, passing(...flow))
  yield* someSeconds(6, ...flow)
  const [first] = yield* (yield* Outbox).live
  return first ?? assert.fail("nothing is out")
})

/** The answers of a gateway that says something else to some requests while `lies` holds. */
const lying = (manner: Manner, lies: () => boolean, instead: (path: string, text: string) => ReturnType<Instead>) =>
  (async (request, ask) => {
    const answer = await manner(request, ask)
    if (answer === "hang" || answer === "drop" || !lies() || request.method === "POST") return answer
    const other = instead(request.url.pathname, answer.text)
    return other === undefined ? answer : { ...answer, status: other.status, text: JSON.stringify(other.body) }
  }) satisfies Manner

const falseRow = (at: bigint, partyId: string, balance: bigint) => ({
  cursor: partyId.slice(0, 8),
  node: {
    timestamp: String(at),
    partyId,
    assetId: usdt,
    marketId: "",
    balance: String(balance),
    accountType: "ACCOUNT_TYPE_GENERAL",
  },
})

/** Adds false rows to one answer about balances; `at`: the block time that it gave them. */
const withRows = (manner: Manner, balances: ReadonlyArray<readonly [party: string, balance: bigint]>) => {
  const told = { next: false, at: 0n }
  const all: Manner = async (request, ask) => {
    const answer = await manner(request, ask)
    if (answer === "hang" || answer === "drop") return answer
    if (!told.next || request.url.pathname !== "/api/v2/balance/changes" || answer.status !== 200) return answer
    told.next = false
    told.at = BigInt(request.url.searchParams.get("dateRange.startTimestamp") ?? "0")
    const body = JSON.parse(answer.text) as { balances: { edges: Array<unknown> } }
    body.balances.edges.push(...balances.map(([party, balance]) => falseRow(told.at, party, balance)))
    return { ...answer, text: JSON.stringify(body) }
  }
  return { told, all }
}

describe("a lone gateway", () => {
  const away: Manner = (request, ask) =>
    request.method !== "POST" &&
    /^\/api\/v2\/(transfer|ledgerentry|balance|accounts)|^\/rest\//.test(request.url.pathname)
      ? Promise.resolve({ status: 503, headers: {}, text: "" })
      : ask()
  const isSent = Effect.map(
    Effect.flatMap(Outbox, (outbox) => outbox.live),
    (live) => live.some(({ sends }) => sends > 0),
  )
  const afterAnOutage = (seconds: number, empty: Instead) =>
    behind({ scenario: pow(40), rules: [wage], network: bare }, function* (liar, _, ...flow) {
      const [options, sandbox] = flow
      yield* rounds(options, sandbox, 8)
      yield* pass(sandbox, 12, round(options, sandbox))
      const before = (yield* paid(sandbox)).length
      yield* TestClock.adjust("40 seconds")
      for (let i = 0; i < 30 && !(yield* isSent); i++) {
        yield* Effect.ignore(round(options, sandbox, i > 3 ? new Set(["confirm"]) : undefined))
      }
      liar.manner = away
      yield* aWhile(64, ...flow)
      assert.strictEqual((yield* paid(sandbox)).length - before, 1)
      assert.notDeepEqual(yield* wages, ["confirmed"], "it is not known yet")
      let lies = true
      liar.manner = lying(honest, () => lies, empty)
      yield* someSeconds(seconds, ...flow)
      lies = false
      yield* pass(sandbox, 30, round(options, sandbox))
      assert.strictEqual((yield* paid(sandbox)).length - before, 1)
      assert.deepStrictEqual([yield* wages, yield* halts], [["confirmed"], []])
    })

  for (const seconds of [5, 7, 40]) {
    it.effect(`whose node lacks transfers for ${seconds} s after an outage pays no payday twice`, () =>
      afterAnOutage(seconds, hidingButMovements),
    )
  }

  it.effect("whose node lost transfers and movements pays no payday twice", () => afterAnOutage(40, hiding))

  it.effect("that reports a payment and its payer done for a moment pays nothing twice", () =>
    behind({ scenario: pow(100), network: bare }, function* (liar, url, ...flow) {
      const { kept, state, manner } = keeper()
      const { told, all } = withRows(manner, [[alice, 800n * one]])
      liar.manner = all
      yield* untilKept(kept, ...flow)
      told.next = true
      yield* passing(...flow)
      const done = shown("STATUS_DONE", bob, 150n * one)
      state.as = (id) => done(id, String(told.at))
      yield* someSeconds(4, ...flow)
      state.as = undefined
      yield* laterOnce(kept, state, url, ...flow)
    }),
  )

  it.effect("whose balances alone tell of a payment for four seconds does not either", () =>
    behind({ scenario: pow(100), network: { ...bare, reconcile: "10s" } }, function* (liar, url, ...flow) {
      const { kept, state, manner } = keeper()
      let lies = false
      const { told, all } = withRows(manner, [
        [alice, 849_850_000n],
        [bob, 200n * one],
      ])
      liar.manner = lying(
        all,
        () => lies,
        (path) => (/^\/api\/v2\/transfer\/|^\/rest\//.test(path) ? nowhere : undefined),
      )
      yield* untilKept(kept, ...flow)
      told.next = true
      lies = true
      yield* someSeconds(4, ...flow)
      lies = false
      yield* aWhile(50, ...flow)
      yield* laterOnce(kept, state, url, ...flow)
    }),
  )

  it.effect("that takes back false rows does not repeat the payment they confirmed", () =>
    behind({ scenario: pow(150), network: { ...bare, reconcile: "10s" } }, function* (liar, url, ...flow) {
      const { kept, state, manner } = keeper()
      const { told, all } = withRows(manner, [
        [alice, 849_850_000n],
        [bob, 200n * one],
      ])
      liar.manner = all
      yield* untilKept(kept, ...flow)
      told.next = true
      yield* passing(...flow)
      const done = shown("STATUS_DONE", bob, 150n * one)
      state.as = (id) => done(id, String(told.at))
      yield* someSeconds(8, ...flow)
      state.as = undefined
      assert.deepStrictEqual(yield* states, ["confirmed"], "a lie of eight seconds about all things counts")
      yield* aWhile(60, ...flow)
      yield* laterOnce(kept, state, url, ...flow)
    }),
  )

  it.effect("that tells once that a withdrawal is done does not have it made twice", () =>
    behind({ scenario: pow(100), ...withdrawing, network: bare }, function* (liar, url, ...flow) {
      const [, sandbox] = flow
      yield* (yield* Settings).rememberFraming(chainId, "bare")
      yield* (yield* Controls).pause({ scope: "rule:keep-bob", reason: "wait", author: "ana", until: undefined })
      const { kept, state, manner } = keeper()
      let createdTimestamp: string | undefined
      liar.manner = lying(
        manner,
        () => createdTimestamp !== undefined,
        (path) => {
          const id = /^\/api\/v2\/withdrawal\/([0-9a-f]{64})$/.exec(path)?.[1]
          if (id === undefined) return undefined
          const ends = {
            partyId: alice,
            amount: "200000000",
            asset: usdt,
            ext: { erc20: { receiverAddress: vault } },
          }
          return { status: 200, body: { withdrawal: { id, ...ends, status: "STATUS_FINALIZED", createdTimestamp } } }
        },
      )
      const first = yield* untilKept(kept, ...flow)
      createdTimestamp = String(BigInt(first.createdAt) * 1_000_000n + 2_000_000_000n)
      yield* someSeconds(4, ...flow)
      createdTimestamp = undefined
      yield* laterOnce(kept, state, url, ...flow)
      assert.lengthOf(yield* paid(sandbox), 1)
      assert.notInclude(yield* withdrawals.states, "reserved")
    }),
  )

  it.effect("that is read every 20 s with rounded times keeps no payment open forever", () =>
    behind({ scenario: pow(40), network: bare }, function* (liar, _, ...flow) {
      const [options, sandbox] = flow
      const rounded = (told: string) => String((BigInt(told) / 1_000_000_000n) * 1_000_000_000n)
      liar.manner = rewritten("timestamp", rounded, "/api/v2/transfer/")
      const unconfirmed = new Set(["confirm"])
      const isPaid = Effect.map(paid(sandbox), (all) => all.length > 0)
      yield* waitUntil("the payment", isPaid, Effect.ignore(round(options, sandbox, unconfirmed)))
      for (let look = 0; look < 30; look++) {
        for (let second = 0; second < 19 && look < 12; second++) yield* sandbox.stepBlock
        yield* TestClock.adjust("19 seconds")
        yield* passing(...flow)
      }
      assert.deepStrictEqual(yield* states, ["confirmed"])
    }),
  )
})

const withdrawals = intentsOf("withdraw")

/** The gateway tells the truth again; what it kept back arrives within its window, and is the only payment. */
const laterOnce = Effect.fnUntraced(function* (
  kept: ReadonlyArray<Kept>,
  state: { keeps: boolean },
  url: string,
  ...flow: Parameters<Flow>
) {
  const [options, sandbox] = flow
  const firsts = [...kept]
  state.keeps = false
  yield* aWhile(12, ...flow)
  yield* handIn(url, firsts)
  yield* rounds(options, sandbox, 5)
  yield* pass(sandbox, 10, round(options, sandbox))
  assert.lengthOf(yield* paid(sandbox), 1)
  assert.deepStrictEqual(yield* halts, [])
})
