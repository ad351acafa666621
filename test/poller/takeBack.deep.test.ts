import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceChange } from "../../src/domain/Balance.ts"
import { Reconciliation, reconcileBalances } from "../../src/poller/Reconciliation.ts"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { Drifts } from "../../src/store/Drifts.ts"
import { Journal } from "../../src/store/Journal.ts"
import { Observations } from "../../src/store/Observations.ts"
import { type History, newHistory } from "../support/HistoryServer.ts"
import { openPoller, pollAll, pollerOptions, textOf } from "../support/Poller.ts"

const second = 1_000_000_000n
const startMillis = 1_800_000_000_000
const start = BigInt(startMillis) * 1_000_000n
const [alice, bob] = ["a".repeat(64), "b".repeat(64)]
const [asset, another] = ["1".repeat(64), "5e".repeat(32)]
const options = { ...pollerOptions([alice, bob]), reconcileMillis: 5_000 }

const row = (at: bigint, party: string, balance: bigint): BalanceChange => ({
  timestamp: start + at * second,
  party,
  asset,
  market: "",
  type: "ACCOUNT_TYPE_GENERAL",
  balance,
})
/** Both have something before the first reading; bob moves at 5, 6 and 7 s, alice at 6 s alone. */
const rows = [
  row(-9n, alice, 100n),
  row(-9n, bob, 50n),
  row(5n, bob, 49n),
  row(6n, bob, 48n),
  row(6n, alice, 101n),
  row(7n, bob, 47n),
]

const look = Effect.gen(function* () {
  const observations = yield* Observations
  const drifts = yield* (yield* Drifts).all
  const journal = yield* (yield* Journal).about("balances")
  return {
    rows: (yield* observations.between(0n, 2n ** 62n)).map(textOf).sort(),
    balances: (yield* observations.accounts).map(({ party, balance }) => `${party.slice(0, 1)} ${balance}`),
    drifts: drifts.map(({ party, stored, reported }) => `${party.slice(0, 1)} ${stored} ${reported}`),
    journal: journal.filter(({ kind }) => kind === "contradiction").map(({ body }) => JSON.parse(body)),
    told: (yield* (yield* AlertQueue).due(100)).filter(({ detail }) => detail.includes("taken back")).length,
  }
})
type Look = Effect.Success<typeof look>

/** A block and a step of all each second; what is known after each, by the second. */
const live = (seconds: number, each: (history: History, at: number) => void) =>
  Effect.gen(function* () {
    const history = newHistory(rows)
    const { run } = yield* openPoller(history)
    return yield* run(
      Effect.gen(function* () {
        const seen: Array<Look> = []
        for (let at = 0; at <= seconds; at++) {
          history.begun = { height: BigInt(at + 2), timestamp: start + BigInt(at) * second + 1_000n }
          each(history, at)
          yield* TestClock.setTime(startMillis + at * 1_000 + 1)
          yield* pollAll(options)
          for (let n = 0; n < 2; n++) yield* reconcileBalances(options)
          seen.push(yield* look)
        }
        return seen
      }).pipe(Effect.provide(Reconciliation.layer)),
    )
  }).pipe(Effect.scoped)

type Shows = History["shows"]
/** Tells rows of the changes otherwise from 5 to 8 s, and the truth before and after. */
const lie =
  (tell: (told: BalanceChange) => BalanceChange) =>
  (history: History, at: number): void => {
    const shows: Shows = (operation, all) => (operation === "changes" ? all.map(tell) : all)
    history.shows = at >= 5 && at <= 8 ? shows : newHistory().shows
  }
const truth = rows.slice(2).map(textOf).sort()
const isHeldBeforehand = (seen: ReadonlyArray<Look>) => {
  const begun = seen.findIndex(({ drifts }) => drifts.length > 0)
  const taken = seen.findIndex(({ journal }) => journal.some(({ takenBack }) => takenBack !== undefined))
  assert.isAbove(begun, 0)
  assert.isAtLeast(taken - begun, 10, "two rereadings are some time apart")
  for (const { drifts } of seen.slice(begun, taken)) assert.isAbove(drifts.length, 0)
}

describe("what a lie left in our rows", () => {
  it.effect("is taken back after two different readings that match the balance", () =>
    Effect.gen(function* () {
      const seen = yield* live(
        60,
        lie((told) => ({ ...told, balance: 2n ** 64n })),
      )
      isHeldBeforehand(seen)
      const { rows: stored, balances, drifts, journal, told } = seen.at(-1)!
      assert.deepStrictEqual(stored, truth)
      assert.deepStrictEqual(balances, ["a 101", "b 47"])
      assert.deepStrictEqual(drifts, [])
      const taken = journal.flatMap(({ takenBack }) => takenBack)
      assert.sameDeepMembers(
        taken.map(({ stored: false_, said }) => [false_, said]),
        ["49", "48", "101", "47"].map((said) => [String(2n ** 64n), said]),
      )
      assert.strictEqual(told, 2)
    }),
  )

  it.effect("goes with the account that it named, where there is no such account", () =>
    Effect.gen(function* () {
      const seen = yield* live(
        60,
        lie((told) => ({ ...told, asset: another })),
      )
      isHeldBeforehand(seen)
      const { rows: stored, balances, drifts, journal } = seen.at(-1)!
      assert.deepStrictEqual(stored, truth)
      assert.deepStrictEqual(balances, ["a 101", "b 47"])
      assert.deepStrictEqual(drifts, [])
      assert.deepStrictEqual(
        journal.map((body) => [body.asset, body.takenBack.length]),
        [
          [another, 1],
          [another, 3],
        ],
      )
    }),
  )

  it.effect("is a balance to begin with, where no row since tells another", () =>
    Effect.gen(function* () {
      const seen = yield* live(60, (history, at) => {
        history.rows = rows.slice(0, 2)
        const doubled: Shows = (_, all) => all.map((told) => ({ ...told, balance: told.balance * 2n }))
        history.shows = at < 2 ? doubled : newHistory().shows
      })
      isHeldBeforehand(seen)
      const { balances, drifts, journal } = seen.at(-1)!
      assert.deepStrictEqual([balances, drifts], [["a 100", "b 50"], []])
      assert.deepStrictEqual(journal[0].opening, { stored: "200", said: "100" })
    }),
  )

  it.effect("ends as a drift where only the listing named a false account", () =>
    Effect.gen(function* () {
      const seen = yield* live(40, (history, at) => {
        const invents: Shows = (operation, all) =>
          operation === "accounts" ? [...all, { ...row(1n, alice, 7n), asset: another }] : all
        history.shows = at >= 5 && at < 15 ? invents : newHistory().shows
      })
      assert.deepStrictEqual(seen[14]!.drifts, ["a 0 7"])
      assert.deepStrictEqual(seen.at(-1)!.drifts, [])
    }),
  )
})

describe("rows that are in doubt", () => {
  it.effect("stay if the gateway's own do not match its balance, and rules hold", () =>
    Effect.gen(function* () {
      const seen = yield* live(60, (history, at) => {
        const more: Shows = (operation, all) =>
          all.map((told) => (operation === "accounts" ? { ...told, balance: told.balance + 1n } : told))
        history.shows = at >= 9 ? more : newHistory().shows
      })
      const { rows: stored, drifts, journal } = seen.at(-1)!
      assert.deepStrictEqual([stored, journal], [truth, []])
      assert.deepStrictEqual(drifts, ["a 101 102", "b 47 48"])
    }),
  )

  it.effect("stay where the gateway shows nothing of that time, and where it is behind", () =>
    Effect.gen(function* () {
      for (const isBehind of [false, true]) {
        const seen = yield* live(50, (history, at) => {
          if (at < 9) return
          const less: Shows = (operation, all) =>
            operation === "accounts" ? all.map((told) => ({ ...told, balance: 1n })) : []
          history.shows = less
          if (isBehind) history.begun = { height: 9n, timestamp: start + 8n * second }
        })
        const { rows: stored, journal } = seen.at(-1)!
        assert.deepStrictEqual([stored, journal], [truth, []])
      }
    }),
  )
})

/** As the specification has it: no operation that tells balances, and no block in any answer. */
const bare = (history: History): void => {
  history.hasAccounts = false
  history.hasHeaders = false
}
/** Rows are read five seconds late there, and again for a minute: a lie of 4 s is told of all of them. */
const lateLie =
  (tell: (told: BalanceChange) => BalanceChange, until = 13) =>
  (history: History, at: number): void => {
    bare(history)
    const shows: Shows = (_, all) => all.map(tell)
    history.shows = at >= 9 && at <= until ? shows : newHistory().shows
  }

describe("a gateway that tells no balances", () => {
  it.effect("is held against its own history, and a false balance is taken back", () =>
    Effect.gen(function* () {
      const seen = yield* live(
        80,
        lateLie((told) => ({ ...told, balance: 1n })),
      )
      assert.isTrue(seen.some(({ balances }) => balances.includes("b 1")))
      isHeldBeforehand(seen)
      const { balances, drifts, told } = seen.at(-1)!
      assert.deepStrictEqual([balances, drifts], [["a 101", "b 47"], []])
      assert.isAbove(told, 0)
    }),
  )

  it.effect("brings rows that it left out, once it shows them", () =>
    Effect.gen(function* () {
      const seen = yield* live(80, (history, at) => {
        bare(history)
        const less: Shows = (_, all) => all.filter(({ party }) => party !== bob)
        history.shows = at >= 6 && at <= 25 ? less : newHistory().shows
      })
      assert.deepStrictEqual(seen[25]!.balances.at(-1), "b 50")
      assert.deepStrictEqual(seen[30]!.balances.at(-1), "b 47", "the last minute is read again")
      const { balances, drifts, journal } = seen.at(-1)!
      assert.deepStrictEqual([balances, drifts, journal], [["a 101", "b 47"], [], []])
    }),
  )

  it.effect("keeps what it shows no more: it may only be behind", () =>
    Effect.gen(function* () {
      const seen = yield* live(80, (history, at) => {
        bare(history)
        history.shows = at >= 15 ? () => [] : newHistory().shows
      })
      const { balances, drifts, journal } = seen.at(-1)!
      assert.deepStrictEqual([balances, drifts, journal], [["a 101", "b 47"], [], []])
    }),
  )

  it.effect("keeps what it shows otherwise for less than two readings, ten seconds apart", () =>
    Effect.gen(function* () {
      const seen = yield* live(80, (history, at) => {
        bare(history)
        const shows: Shows = (_, all) => all.map((told) => ({ ...told, balance: told.balance + 1n }))
        history.shows = at >= 30 && at <= 37 ? shows : newHistory().shows
      })
      const { balances, drifts, journal } = seen.at(-1)!
      assert.deepStrictEqual([balances, drifts], [["a 101", "b 47"], []])
      const otherwise = journal.map(({ said, stored }) => BigInt(said) - BigInt(stored))
      assert.deepStrictEqual(new Set(otherwise), new Set([1n]), "what it showed otherwise is noted, and not believed")
    }),
  )

  for (const others of [0, 120]) {
    it.effect(`ends the drift of an account by reading it alone, beside ${others} others`, () =>
      Effect.gen(function* () {
        const assetOf = (n: number) => n.toString(16).padStart(64, "0")
        const more = Array.from({ length: others }, (_, n) => ({ ...row(-9n, alice, 7n), asset: assetOf(n + 2) }))
        const seen = yield* live(200, (history, at) => {
          history.rows = [...more, row(5n, bob, 50n)]
          const isLate = others === 0 && at >= 18 && at <= 26
          // While it is behind it shows nothing of that time.
          history.isVisible = ({ timestamp }) => !isLate || timestamp < start
          lateLie((told) => (told.party === bob ? { ...told, balance: 1n } : told), 14)(history, at)
        })
        const begun = seen.findIndex(({ drifts }) => drifts.length > 0)
        const over = seen.findIndex(({ drifts }, at) => at > begun && drifts.length === 0)
        assert.isAbove(begun, 0)
        assert.include(seen[over]?.balances ?? [], "b 50", "not while the false balance stands")
      }),
    )
  }
})
