import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { type Flow, type FlowServices, type FlowSetup, flow, paid, pass, round } from "../support/Flow.ts"
import { altered, type Front, type Manner, startFront } from "../support/Fronts.ts"
import type { Body } from "../support/it.ts"
import { powOf } from "../support/TestSandbox.ts"
import { waitUntil } from "../support/until.ts"

/** The network's default window, with a block each second. */
const scenario = { pow: powOf(100) }

/** A lone gateway that lies. */
interface Liar {
  front: Front | undefined
  /** Blocks by which it moves its head, its row headers and the marks of its listings. */
  by: bigint
  /** Whether it keeps transactions to itself, and those that it kept. */
  keeps: boolean
  readonly kept: Array<string>
  network: string
}

const shifted = (by: bigint): Manner =>
  altered(
    ({ method }) => method === "GET",
    (answer) => {
      const height = answer.headers["x-block-height"]
      const headers = height === undefined ? {} : { "x-block-height": String(BigInt(height) + by) }
      const text = answer.text.replace(/^(\{"height": *")(\d+)"/, (_, key, old) => `${key}${BigInt(old) + by}"`)
      return { ...answer, headers: { ...answer.headers, ...headers }, text }
    },
  )

const mannerOf =
  (liar: Liar): Manner =>
  async (request, ask) => {
    if (request.method !== "POST" || !liar.keeps) return shifted(liar.by)(request, ask)
    liar.kept.push(`${request.url.pathname}\n${request.body}`)
    return { status: 503, headers: {}, text: "" }
  }

const behindLiar = (use: Body<[liar: Liar, ...Parameters<Flow>], FlowServices>) => {
  const liar: Liar = { front: undefined, by: 0n, keeps: true, kept: [], network: "" }
  const setup: FlowSetup = {
    scenario,
    // The form of this network: what was kept is taken as it is.
    network: { framing: "bare" },
    front: (url) =>
      Effect.map(startFront("liar", url), (front) => {
        front.manner = mannerOf(liar)
        liar.network = url
        return front.server.url
      }),
  }
  return flow((...args) => use(liar, ...args), setup)
}

/** Hands the network all that was kept, within its window. */
const release = (liar: Liar) =>
  Effect.promise(async () => {
    liar.keeps = false
    for (const one of new Set(liar.kept)) {
      const [path, body = ""] = one.split("\n")
      await fetch(`${liar.network}${path}`, { method: "POST", body })
    }
  })

const attempts = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return { intent, attempts: yield* outbox.attempts(intent?.id ?? "") }
})

describe("a lone gateway whose head, row headers and marks are 900 blocks ahead for four seconds", () => {
  it.effect.each([0, 20, 50])("kills no attempt that may still execute, %i s after it was sent", (seconds) =>
    behindLiar(function* (liar, options, sandbox) {
      const passing = Effect.ignore(round(options, sandbox))
      yield* waitUntil("a payment to be kept back", () => liar.kept.length > 0, passing)
      yield* pass(sandbox, seconds, passing)
      // Slow to sign: what a lie of this kind would have signed on has no place in the network.
      for (const second of [0n, 1n, 2n, 3n]) {
        liar.by = 900n + 12n * second
        yield* Effect.ignore(round(options, sandbox, new Set(["submit"])))
      }
      liar.by = 0n
      yield* pass(sandbox, 34, passing)
      yield* release(liar)
      yield* pass(sandbox, 60, passing)
      const { intent, attempts: made } = yield* attempts
      assert.lengthOf(yield* paid(sandbox), 1, "it executed once")
      assert.deepStrictEqual([intent?.state, made.map(({ state }) => state)], ["confirmed", ["confirmed"]])
    }),
  )

  it.effect("does not keep an attempt that never executed from being proven so", () =>
    behindLiar(function* (liar, options, sandbox) {
      const passing = Effect.ignore(round(options, sandbox))
      yield* waitUntil("a payment to be kept back", () => liar.kept.length > 0, passing)
      yield* pass(sandbox, 20, passing)
      liar.by = 900n
      for (let i = 0; i < 4; i++) yield* passing
      liar.by = 0n
      yield* pass(sandbox, 160, passing)
      const { attempts: made } = yield* attempts
      assert.strictEqual(made[0]?.state, "expired")
    }),
  )
})
