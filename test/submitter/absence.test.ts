import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { pruneHourly } from "../../src/poller/BalancePoller.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { type Flow, type FlowSetup, paid, pass, round, withdrawing } from "../support/Flow.ts"
import type { Manner } from "../support/Fronts.ts"
import { hiding, hidingButMovements, type Instead } from "../support/Instead.ts"
import { behind, deposits, keepEve, pow } from "../support/LoneLiar.ts"
import { ticking } from "../support/ticking.ts"

const setup = { scenario: pow(20), network: { framing: "bare" } }

const noWithdrawals = { withdrawals: { edges: [], pageInfo: { hasNextPage: false, endCursor: "" } } }
/** The same answers about withdrawals as about transfers. */
const both =
  (instead: Instead): Instead =>
  (path, text) =>
    path === "/api/v2/withdrawals"
      ? { status: 200, body: noWithdrawals }
      : instead(path.replace("withdrawal", "transfer"), text)

const lost =
  (instead: Instead): Manner =>
  async (request, ask) => {
    const answer = await ask()
    const other = request.method === "POST" ? undefined : instead(request.url.pathname, answer.text)
    return other === undefined ? answer : { ...answer, status: other.status, text: JSON.stringify(other.body) }
  }

/** So many payments execute, and the node loses its lists before anything told of them. */
const losing = (
  payments: number,
  {
    lists,
    skip,
    keepMillis,
    ...more
  }: FlowSetup & { readonly lists: Instead; readonly skip?: ReadonlySet<string>; readonly keepMillis?: number },
) =>
  behind({ ...setup, ...more }, function* (liar, _, ...[options, sandbox]: Parameters<Flow>) {
    const outbox = yield* Outbox
    const sent = Effect.map(outbox.live, (live) => live.filter(({ sends }) => sends > 0).length)
    const step = (without?: ReadonlySet<string>) => Effect.ignore(ticking(round(options, sandbox, without)))
    for (let i = 0; i < 12 && (yield* sent) < payments; i++) yield* step(new Set(["confirm"]))
    liar.manner = lost(lists)
    if (keepMillis !== undefined) {
      for (let i = 0; i < 8; i++) yield* step()
      yield* (yield* Settings).set("prunedAt", "0")
      yield* pruneHourly({ ...options.treasury, keepMillis })
    }
    yield* pass(sandbox, 75, step(skip))
    assert.lengthOf(yield* paid(sandbox), payments)
    const all = yield* Effect.forEach(yield* outbox.recent(5), ({ id }) => outbox.attempts(id))
    const ends = all.flat().map(({ state }) => state)
    assert.notInclude(ends, "expired", "what executed is proven by nothing never to have executed")
  })

describe("a payment that executed, of a node that lost its transfers", () => {
  it.effect("is not proven absent where balances are kept for a moment only", () =>
    losing(1, { lists: hiding, keepMillis: 5_000 }),
  )

  it.effect("is not proven absent by balances that are not read up to the end of its window", () =>
    losing(1, { lists: hiding, skip: new Set(["poll"]) }),
  )

  it.effect("is not proven absent where one block holds two, and no movement says whose the fall is", () =>
    losing(2, { lists: hiding, scenario: { ...setup.scenario, deposits }, rules: [keepEve] }),
  )

  it.effect("is not proven absent where it is a withdrawal beside a transfer, and its movement is told", () =>
    losing(2, {
      lists: both(hidingButMovements),
      ...withdrawing,
    }),
  )
})
