import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { viewText } from "../../src/cli/status.ts"
import { sendEnd } from "../../src/domain/Attempt.ts"
import { decideOnce } from "../../src/engine/Engine.ts"
import { GatewayError } from "../../src/gateway/GatewayError.ts"
import { readView } from "../../src/http/StatusView.ts"
import type { daemonLayer } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { pollBalances } from "../../src/poller/BalancePoller.ts"
import { readParameters } from "../../src/poller/pollNetwork.ts"
import { reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { watchChain } from "../../src/poller/watchChain.ts"
import { disagreement } from "../../src/store/alerts/makeTrouble.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Listings } from "../../src/store/network/Listings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { reconcileOnce } from "../../src/submitter/audit/Reconcile.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { alertRows } from "../support/alertRows.ts"
import { type Flow, type FlowServices, flow, paid, pass, reason, states } from "../support/Flow.ts"
import {
  altered,
  banned,
  down,
  type Front,
  hanging,
  honest,
  type Manner,
  rewritten,
  threeFronts,
} from "../support/Fronts.ts"
import { ruleState } from "../support/Intents.ts"
import type { Body } from "../support/it.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { arm } from "../support/TestFaults.ts"
import { one, powOf, usdt } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"
import type { Fields } from "../support/treasury.ts"
import { waitUntil } from "../support/until.ts"

type Use = Body<[fronts: ReadonlyArray<Front>, ...args: Parameters<Flow>], FlowServices>

/** So long a window that every gateway can be asked within it. */
const scenario = { pow: powOf(40) }

/** One network behind gateways a, b and c, of which two must agree where nothing else is said. */
const amongThree = (use: Use, network: Fields = {}) =>
  Effect.suspend(() => {
    const { fronts, gateways } = threeFronts()
    return flow((...args) => use(fronts, ...args), { scenario, gateways, network })
  })

/** A second, a block, and a round of each loop; one that gets no answer does not stop the others. */
const steps = ([options, sandbox]: Parameters<Flow>, n: number, skip: ReadonlySet<string> = new Set()) => {
  const poll = pollBalances(options.treasury)
  type Loop = Effect.Effect<unknown, unknown, Layer.Success<ReturnType<typeof daemonLayer>>>
  const loops: Readonly<Record<string, Loop>> = {
    chain: watchChain(),
    parameters: readParameters,
    balances: waitUntil(
      "all to be read",
      Effect.map(poll, (hasMore) => !hasMore),
      Effect.yieldNow,
    ),
    compare: reconcileBalances(options.treasury),
    reconcile: reconcileOnce(),
    decide: decideOnce(),
    submit: submitOnce(),
    confirm: confirmOnce(),
  }
  return Effect.gen(function* () {
    for (let i = 0; i < n; i++) {
      yield* TestClock.adjust("1 second")
      yield* sandbox.stepBlock
      for (const [name, loop] of Object.entries(loops)) {
        if (skip.has(name)) continue
        yield* ticking(loop.pipe(Effect.catchIf(isUnanswered, () => Effect.void)))
      }
    }
  })
}

/** Steps until the payment is confirmed, and some more, in which nothing else may be paid. */
const confirmed = Effect.fnUntraced(function* (args: Parameters<Flow>, stepsMax = 24) {
  for (let i = 4; i < stepsMax && (yield* states)[0] !== "confirmed"; i++) yield* steps(args, 1)
  yield* steps(args, 4)
  assert.deepStrictEqual(yield* states, ["confirmed"])
})

const isUnanswered = (error: unknown): error is GatewayError => error instanceof GatewayError

const posts = (fronts: ReadonlyArray<Front>) =>
  fronts.flatMap(({ server }) => server.arrived.filter(({ method }) => method === "POST").map(({ body }) => body))

const signatureOf = (body: string): unknown => JSON.parse(body).tx.signature.value

const height = (by: bigint): Manner => rewritten("height", (old) => String(BigInt(old) + by), "/blockchain/height")

const asks = (path: string) => (request: { readonly method: string; readonly url: URL }) =>
  request.method === "GET" && request.url.pathname.startsWith(path)

const isHead = asks("/blockchain/height")

const says = (path: string, text: string, status = 200): Manner =>
  altered(asks(path), (answer) => ({ ...answer, status, text }))

/** Shows the ledger as it was so many blocks, and seconds, ago. */
const backwards = (blocks: number): Manner =>
  altered(asks("/api/v2/"), (answer) => ({
    ...answer,
    headers: {
      ...answer.headers,
      "x-block-height": String(Number(answer.headers["x-block-height"]) - blocks),
      "x-block-timestamp": String(BigInt(answer.headers["x-block-timestamp"] ?? 0) - BigInt(blocks) * 1_000_000_000n),
    },
  }))

/** Takes nothing; it is so many blocks behind. */
const losing =
  (blocks: number): Manner =>
  async (request, ask) => {
    if (request.method === "POST") return { status: 503, headers: {}, text: "" }
    return isHead(request) ? await height(-BigInt(blocks))(request, ask) : await backwards(blocks)(request, ask)
  }

const emptyList = '{"transfers":{"edges":[],"pageInfo":{"hasNextPage":false,"hasPreviousPage":false}}}'
const nothing = '{"code":5,"message":"NotFound","details":[]}'
const absent: Manner = async (request, ask) => {
  const answer = await ask()
  if (asks("/api/v2/transfers")(request)) return { ...answer, text: emptyList }
  if (asks("/api/v2/transfer/")(request)) return { ...answer, status: 404, text: nothing }
  return answer
}

const manners: Readonly<Record<string, Manner>> = {
  "is down": down,
  "never answers": hanging,
  "shut us out": banned,
  "says that it is a thousand blocks ahead": height(1_000n),
  "says that it is behind": height(-3n),
  "is on another chain": rewritten("chainId", () => "other-1"),
  "names another hash": rewritten("hash", () => "ab".repeat(32), "/blockchain/height"),
  "names a window of one block": rewritten("spamPowNumberOfPastBlocks", () => 1, "/blockchain/height"),
  "names a window that no node has": rewritten("spamPowNumberOfPastBlocks", () => 4_294_967_295, "/blockchain/height"),
  "names another window within bounds": rewritten("spamPowNumberOfPastBlocks", () => 400, "/blockchain/height"),
  "allows no transaction": rewritten("spamPowNumberOfTxPerBlock", () => 0, "/blockchain/height"),
  "asks for work that nobody can do": rewritten("spamPowDifficulty", () => 200, "/blockchain/height"),
  "knows no payment": absent,
  "says that payments are rejected": rewritten("status", () => "STATUS_REJECTED", "/api/v2/transfer"),
  "says that payments are another": rewritten("amount", () => "1", "/api/v2/transfer/"),
  "shows ten times the balances": rewritten("balance", (old) => `${old}0`),
  "shows no accounts": says("/api/v2/accounts", '{"accounts":{"edges":[],"pageInfo":{"hasNextPage":false}}}'),
  "tells no balances": says("/api/v2/accounts", nothing, 501),
  "refuses everything": altered(
    ({ method }) => method === "GET",
    (answer) => ({ ...answer, status: 400, text: '{"code":3,"message":"no","details":[]}' }),
  ),
  "answers nonsense": altered(
    () => true,
    (answer) => ({ ...answer, text: "{" }),
  ),
}

describe("a payment among three gateways", () => {
  for (const [words, manner] of Object.entries(manners)) {
    it.effect(`is made once and confirmed where the first of them ${words}`, () =>
      amongThree(function* (fronts, ...args) {
        const [, sandbox] = args
        fronts[0]!.manner = manner
        yield* confirmed(args)
        assert.strictEqual((yield* paid(sandbox)).length, 1)
        assert.strictEqual(yield* sandbox.ledger.balance("bob", "USDT"), 200n * one)
        assert.strictEqual(new Set(posts(fronts).map(signatureOf)).size, 1)
        assert.deepStrictEqual(yield* (yield* Controls).halts, [])
        const [intent] = yield* (yield* Outbox).recent(1)
        assert.strictEqual(intent?.fee, 150_000n, "as two of them say")
      }),
    )
  }

  it.effect("fails where the ledger refused it, although one gateway says done", () =>
    amongThree(function* (fronts, ...args) {
      const [, sandbox, client] = args
      fronts[0]!.manner = rewritten("status", () => "STATUS_DONE", "/api/v2/transfer")
      yield* arm(client, { operation: "submit", kind: "execution_failure", count: 2 })
      // What is refused counts once the window is over.
      yield* pass(sandbox, 64, steps(args, 1))
      const [intent] = (yield* (yield* Outbox).recent(5)).toReversed()
      assert.strictEqual(intent?.state, "failed")
      assert.strictEqual((yield* paid(sandbox)).filter(({ code }) => code === 0).length, 0)
    }),
  )

  it.effect("is made by the only one that is left where one is enough", () =>
    amongThree(
      function* (fronts, ...args) {
        fronts[0]!.manner = down
        fronts[1]!.manner = banned
        yield* confirmed(args)
        assert.strictEqual(new Set(posts(fronts).map(signatureOf)).size, 1)
      },
      { quorum: 1 },
    ),
  )

  it.effect("is not repeated in the end of its window as the newest of them shows it", () =>
    amongThree(function* (fronts, ...args) {
      const [, sandbox, client] = args
      // Two are further behind than the margin of a window of 40 blocks.
      for (const front of fronts) front.manner = losing(front.name === "c" ? 0 : 8)
      let [count, last] = [0, 0]
      yield* pass(sandbox, 25, steps(args, 1))
      for (let i = 0; i < 25; i++) {
        yield* steps(args, 1)
        if (posts(fronts).length > count) last = (yield* head(client)).height
        count = posts(fronts).length
      }
      const [intent] = yield* (yield* Outbox).recent(1)
      const [attempt] = yield* (yield* Outbox).attempts(intent!.id)
      assert.isAbove(count, 1)
      assert.isBelow(last, Number(sendEnd(attempt!)))
    }),
  )

  it.effect("is not made while one is missing where all must agree", () =>
    amongThree(
      function* (fronts, ...args) {
        yield* steps(args, 6, new Set(["decide"]))
        fronts[2]!.manner = down
        yield* steps(args, 6)
        assert.deepStrictEqual([yield* states, yield* reason], [[], "disagreement"])
        fronts[2]!.manner = honest
        yield* confirmed(args, 16)
      },
      { quorum: 3 },
    ),
  )

  it.effect("is not made while only one of them answers", () =>
    amongThree(function* (fronts, ...args) {
      yield* steps(args, 4, new Set(["decide"]))
      fronts[0]!.manner = banned
      fronts[2]!.manner = down
      yield* steps(args, 6)
      assert.deepStrictEqual(yield* states, [])
      assert.strictEqual(yield* reason, "disagreement")
      const [memory] = yield* (yield* RuleStates).all
      assert.strictEqual(memory?.detail, "fewer than 2 of 3 gateways answer: a is banned, c is down")
      fronts[2]!.manner = honest
      yield* confirmed(args, 16)
      assert.isUndefined(yield* (yield* disagreement).now)
    }),
  )

  it.effect("is not made while only one answers and the others stall", () =>
    amongThree(function* (fronts, ...args) {
      yield* steps(args, 4, new Set(["decide"]))
      fronts[0]!.manner = hanging
      fronts[1]!.manner = hanging
      const before = fronts[0]!.server.arrived.length
      yield* steps(args, 6)
      assert.deepStrictEqual([yield* states, posts(fronts)], [[], []])
      assert.isBelow(fronts[0]!.server.arrived.length - before, 60, "questions do not pile up")
      assert.isAtMost(fronts[0]!.server.sockets.size, 8)
    }),
  )

  it.effect("is not made while the two that answer show different balances", () =>
    amongThree(function* (fronts, ...args) {
      const [, sandbox] = args
      yield* steps(args, 4, new Set(["decide"]))
      fronts[0]!.manner = rewritten("balance", (old) => `${old}0`)
      fronts[2]!.manner = down
      const command = payment(args[2], "eve", one, { asset: usdt })
      yield* submit(args[2], signed(args[2], { from: "bob", command, ...(yield* head(args[2])) }))
      yield* sandbox.stepBlock
      yield* steps(args, 6)
      assert.deepStrictEqual(yield* states, [])
      assert.strictEqual(yield* reason, "disagreement")
      const [memory] = yield* (yield* RuleStates).all
      assert.strictEqual(memory?.detail, "a, b show different balance changes")
      assert.strictEqual(posts(fronts).length, 0)
    }),
  )

  it.effect("that was decided before they disagreed is not signed", () =>
    amongThree(function* (fronts, ...args) {
      yield* steps(args, 6, new Set(["submit", "confirm"]))
      assert.deepStrictEqual(yield* states, ["proposed"])
      fronts[0]!.manner = down
      fronts[1]!.manner = down
      yield* steps(args, 3)
      const [intent] = yield* (yield* Outbox).recent(1)
      assert.strictEqual((intent?.detail ?? "").split(":", 2).join(":"), "waits: fewer than 2 of 3 gateways answer")
      assert.strictEqual(posts(fronts).length, 0)
    }),
  )

  it.effect("goes round them with the same bytes while no answer comes", () =>
    amongThree(function* (fronts, ...args) {
      const lost: Manner = async (request, ask) => (request.method === "POST" ? "drop" : ask())
      for (const front of fronts) front.manner = lost
      yield* pass(args[1], 30, steps(args, 1))
      assert.deepStrictEqual(yield* states, ["unknown"])
      const bodies = posts(fronts)
      assert.isAtLeast(bodies.length, 3)
      assert.strictEqual(new Set(bodies).size, 1, "the very same bytes")
      for (const { name, server } of fronts) {
        assert.isTrue(
          server.arrived.some(({ method }) => method === "POST"),
          `${name} was asked`,
        )
      }
      const outbox = yield* Outbox
      const [intent] = yield* outbox.recent(1)
      assert.strictEqual((yield* outbox.attempts(intent!.id)).length, 1)
    }),
  )

  it.effect("does not expire because one of two that answer lists it nowhere", () =>
    amongThree(function* (fronts, ...args) {
      const [, sandbox] = args
      fronts[0]!.manner = absent
      // How much virtual time the proof of work takes is the machine's to say.
      for (let i = 0; i < 30 && (yield* paid(sandbox)).length === 0; i++) yield* steps(args, 1, new Set(["confirm"]))
      assert.strictEqual((yield* paid(sandbox)).length, 1)
      fronts[2]!.manner = down
      yield* pass(sandbox, 16, steps(args, 1))
      const [before] = yield* states
      assert.isTrue(before === "in_flight" || before === "unknown", before)
      fronts[2]!.manner = honest
      yield* confirmed(args, 8)
      assert.strictEqual((yield* paid(sandbox)).length, 1)
      assert.strictEqual(new Set(posts(fronts).map(signatureOf)).size, 1)
    }),
  )

  it.effect("names the gateways behind it, and counts no rows of one that goes backwards", () =>
    amongThree(function* (fronts, ...args) {
      const view = readView()
      yield* steps(args, 14, new Set(["decide"]))
      const calm = yield* view
      assert.deepStrictEqual(
        calm.network.gateways.map(({ name, state }) => [name, state]),
        [
          ["a", "up"],
          ["b", "up"],
          ["c", "up"],
        ],
      )
      fronts[1]!.manner = backwards(12)
      yield* steps(args, 8, new Set(["decide"]))
      const worse = yield* view
      assert.match(worse.network.gateways[1]?.detail ?? "", /its headers name block \d+, which is not near block \d+$/)
      assert.include(viewText(worse), "gateways a, b (down), c, 2 of them must agree")
      fronts[1]!.manner = honest
      yield* pass(args[1], 34, steps(args, 1))
      assert.strictEqual((yield* view).network.gateways[1]?.state, "up")
      assert.deepStrictEqual(yield* states, ["confirmed"])
    }),
  )
})

describe("the network's settings", () => {
  const listed = Effect.flatMap(Listings, (listings) => listings.parameters)
  const fee = (text: string): Manner =>
    altered(asks("/api/v2/network/parameters"), (answer) => ({
      ...answer,
      text: answer.text.replace(/("transfer.fee.factor","value":")[^"]*/, `$1${text}`),
    }))

  it.effect("are what two of three name, whichever of them is asked first", () =>
    amongThree(function* (fronts) {
      const truth = "0.001"
      for (const liar of fronts) {
        liar.manner = fee("0.0000001")
        yield* TestClock.adjust("61 seconds")
        yield* ticking(readParameters)
        assert.strictEqual((yield* listed).get("transfer.fee.factor"), truth, `${liar.name} lies`)
        liar.manner = honest
      }
      for (const [i, front] of fronts.entries()) front.manner = fee(`0.00000${i + 1}`)
      yield* TestClock.adjust("61 seconds")
      yield* ticking(readParameters)
      assert.isUndefined((yield* listed).get("transfer.fee.factor"), "no two name the same")
    }),
  )

  it.effect("include what caps a fee, and are no lone gateway's word in its listing of assets either", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* (...args) {
          const [options, sandbox] = args
          for (const liar of fronts) {
            liar.manner = altered(asks("/api/v2/assets"), (answer) => ({
              ...answer,
              text: answer.text.replaceAll(/"quantum":"[0-9]+"/g, '"quantum":"1"'),
            }))
            yield* TestClock.adjust("31 seconds")
            yield* sandbox.stepBlock
            yield* ticking(pollAssets([...options.treasury.assets.values()]))
            yield* steps(args, 8)
            liar.manner = honest
          }
          assert.strictEqual((yield* ruleState("keep-bob"))?.reason, "fee")
          assert.lengthOf(yield* paid(sandbox), 0)
        },
        { scenario, gateways, policy: { maxFee: "0.05%" } },
      )
    }),
  )

  it.effect("keep their listing of assets while no quorum gives the same, and people hear of it once that lasts", () =>
    Effect.suspend(() => {
      const { fronts, gateways } = threeFronts()
      return flow(
        function* (options) {
          const poll = ticking(pollAssets([...options.treasury.assets.values()]))
          const told = Effect.map(alertRows, (rows) => rows.filter(({ kind }) => kind === "asset"))
          for (const [i, front] of fronts.entries()) {
            front.manner = altered(asks("/api/v2/assets"), (answer) => ({
              ...answer,
              text: answer.text.replaceAll(/"quantum":"[0-9]+"/g, `"quantum":"${i + 2}"`),
            }))
          }
          yield* poll
          yield* TestClock.adjust("4 minutes")
          yield* poll
          assert.lengthOf(yield* told, 0)
          yield* TestClock.adjust("1 minute")
          for (let i = 0; i < 2; i++) yield* poll
          const [doubted, ...others] = yield* told
          assert.match(String(doubted?.detail), /^no new asset listing counts since 20.*Z: no quorum lists the same/)
          assert.deepStrictEqual([doubted?.severity, others], ["ticket", []])
          for (const front of fronts) front.manner = honest
          yield* poll
          assert.match(String((yield* told).at(-1)?.detail), /^an asset listing counts again/)
        },
        { scenario, gateways },
      )
    }),
  )
})
