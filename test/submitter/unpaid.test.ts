import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { AlertQueue } from "../../src/store/AlertQueue.ts"
import { Findings } from "../../src/store/Findings.ts"
import { Outbox } from "../../src/store/Outbox.ts"
import { alice, eve, paid, round } from "../support/Flow.ts"
import { honest, type Manner } from "../support/Fronts.ts"
import { intentsOf, rounds } from "../support/Intents.ts"
import { behind, keeper, pages, pow, shown, wage, wages } from "../support/LoneLiar.ts"
import { one, usdt } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

const vault = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const withdrawing = {
  rules: [
    {
      name: "to-vault",
      withdraw: { from: "alice", asset: "USDT", above: "900", target: "800", to: "vault" },
      priority: 1,
    },
  ],
  allow: [{ from: "alice", to: ["vault"], asset: "USDT", perTransfer: "600", per24h: "600", transfersPer24h: 2 }],
  more: { addresses: { vault } },
}
const isUnpaid =
  /^to-vault: 200\.00 USDT alice -> vault is recorded as paid .+ movements have none of it\..+"cofferer submit"$/
const unchecked =
  /^wage: .+ -> eve is recorded as paid on one gateway's word, and could not be checked any more .+"cofferer submit"$/

const tickets = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (due) => due.filter(({ severity, kind }) => severity === "ticket" && kind === "intent").map(({ detail }) => detail),
)

describe("a payment that is recorded as paid on one gateway's word", () => {
  it.effect("calls people by a ticket if its movements stay uncounted for a day", () =>
    behind({ scenario: pow(40), rules: [wage], network: { framing: "bare" } }, (liar, _, options, sandbox) =>
      Effect.gen(function* () {
        yield* rounds(options, sandbox, 20)
        const before = (yield* paid(sandbox)).length
        yield* TestClock.adjust("40 seconds")
        const { kept, state, manner } = keeper()
        liar.manner = manner
        const passing = Effect.ignore(round(options, sandbox))
        yield* waitUntil("a payment to be kept back", () => kept.length > 0, passing)
        const told = shown("STATUS_DONE", eve, 30n * one)
        const [sent] = (yield* (yield* Outbox).recent(50)).filter(({ rule }) => rule === "wage")
        const at = String(BigInt(sent?.updatedAt ?? 0) * 1_000_000n + 1_000_000_000n)
        state.as = (id) => told(id, at)
        for (let i = 0; i < 45 && (yield* wages)[0] !== "confirmed"; i++) yield* passing
        liar.manner = honest
        // The machine is off over a night, before the window is over and its movements are counted.
        yield* TestClock.adjust("21 hours")
        for (let i = 0; i < 90; i++) yield* passing
        assert.deepStrictEqual([yield* wages, (yield* paid(sandbox)).length - before], [["confirmed"], 0])
        assert.deepStrictEqual(yield* (yield* Findings).watched, [], "nobody looks at it any more")
        const [ticket, ...more] = yield* tickets
        assert.match(ticket ?? "", unchecked)
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual(yield* pages, [], "that none is listed any more proves nothing")
      }),
    ),
  )

  for (const isPaid of [false, true]) {
    it.effect(`calls ${isPaid ? "nobody" : "people"} for a withdrawal ${isPaid ? "that" : "and nothing"} left`, () =>
      behind({ scenario: pow(40), ...withdrawing, network: { framing: "bare" } }, (liar, _, options, sandbox) =>
        Effect.gen(function* () {
          const { states, attempts } = intentsOf("withdraw")
          let sent = 0
          const lying: Manner = async (request, ask) => {
            if (request.method === "POST" && ++sent > 0) return { status: 503, headers: {}, text: "" }
            const answer = await ask()
            const id = /^\/api\/v2\/withdrawal\/([0-9a-f]{64})$/.exec(request.url.pathname)?.[1]
            if (id === undefined) return answer
            const [status, amount] = ["STATUS_FINALIZED", String(200n * one)]
            const ext = { erc20: { receiverAddress: vault } }
            const withdrawal = { id, partyId: alice, amount, asset: usdt, status, createdTimestamp, ext }
            return { ...answer, status: 200, text: JSON.stringify({ withdrawal }) }
          }
          let createdTimestamp = "0"
          const unconfirmed = new Set(["confirm"])
          if (!isPaid) liar.manner = lying
          while ((yield* attempts).length === 0) yield* Effect.ignore(round(options, sandbox, unconfirmed))
          createdTimestamp = String(BigInt((yield* attempts)[0]!.createdAt) * 1_000_000n + 1_000_000_000n)
          for (let i = 0; i < 60 && (yield* states)[0] !== "confirmed"; i++)
            yield* Effect.ignore(round(options, sandbox))
          assert.deepStrictEqual(yield* states, ["confirmed"])
          liar.manner = honest
          for (let i = 0; i < 90; i++) yield* Effect.ignore(round(options, sandbox))
          assert.deepStrictEqual(yield* (yield* Findings).watched, [])
          const [page, ...more] = yield* pages
          if (isPaid) assert.isUndefined(page)
          else assert.match(page ?? "", isUnpaid)
          assert.deepStrictEqual([more, yield* tickets], [[], []])
        }),
      ),
    )
  }
})
