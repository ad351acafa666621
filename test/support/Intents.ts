import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { IntentCommand, IntentState } from "../../src/domain/Intent.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { RuleStates } from "../../src/store/rules/RuleStates.ts"
import { isSolved } from "../../src/tx/ProofOfWork.ts"
import { signatureAlgorithm, signatureVersion } from "../../src/tx/Transaction.ts"
import { type Flow, round } from "./Flow.ts"
import { at, request, type TestClient } from "./TestClient.ts"
import { waitUntil } from "./until.ts"

type Options = Parameters<Flow>[0]
type Network = Sandbox["Service"]

/** Reasons for which signing is stopped. */
export const halts = Effect.map(
  Effect.flatMap(Controls, (controls) => controls.halts),
  (all) => all.map(({ reason }) => reason),
)

/** By rule: the reason for which it holds, or its state. */
export const reasons = Effect.map(
  Effect.flatMap(RuleStates, (store) => store.all),
  (all) => Object.fromEntries(all.map((m) => [m.rule, m.reason ?? m.state])),
)
/** Texts of the alerts that are due. */
export const dueDetails = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (all) => all.map(({ detail }) => detail),
)

/** What a rule last came to; undefined where it was never evaluated. */
export const ruleState = (name: string) =>
  Effect.map(
    Effect.flatMap(RuleStates, (store) => store.all),
    (all) => all.find(({ rule }) => rule === name),
  )

export const rounds = Effect.fnUntraced(function* (
  options: Options,
  sandbox: Network,
  count: number,
  skip?: ReadonlySet<string>,
) {
  for (let i = 0; i < count; i++) yield* round(options, sandbox, skip)
})

/** The payment that was decided last. */
export const newestIntent = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(1)),
  ([intent = assert.fail("no payment")]) => intent,
)

/** Attempts of the newest payment. */
export const newestAttempts = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  return yield* outbox.attempts(intent!.id)
})

/** Intents of one command, the newest first, with the attempts of the newest. */
export const intentsOf = (command: IntentCommand) => {
  const intents = Effect.map(
    Effect.flatMap(Outbox, (outbox) => outbox.recent(20)),
    (all) => all.filter((intent) => intent.command === command),
  )
  const states = Effect.map(intents, (all) => all.map(({ state }) => state))
  const attempts = Effect.gen(function* () {
    const [intent] = yield* intents
    return yield* (yield* Outbox).attempts(intent?.id ?? "")
  })
  /** Rounds until one is in the state; fails after forty. */
  const until = Effect.fnUntraced(function* (
    options: Options,
    sandbox: Network,
    state: IntentState,
    skip?: ReadonlySet<string>,
  ) {
    for (let i = 0; i < 40; i++) {
      if ((yield* states).includes(state)) return
      yield* round(options, sandbox, skip)
    }
    const details = (yield* (yield* RuleStates).all).map(({ rule, detail }) => `${rule}: ${detail}`)
    assert.fail(`no ${command} came to ${state}: ${yield* states}; ${details.join("; ")}`)
  })
  return { intents, states, attempts, until }
}

/** Until the mempool holds a second transaction. */
export const waitForTaken = (client: TestClient) =>
  waitUntil(
    "a second transaction in the mempool",
    Effect.map(request(client, "/sandbox/ledger"), (reply) => at(reply, "mempool.1") !== undefined),
  )

/** Whether an attempt may still execute. */
export const hasAttempt = Effect.map(
  Effect.flatMap(Outbox, ({ live }) => live),
  (all) => all.length > 0,
)

/** The newest payment, and its first attempt. */
export const newest = Effect.gen(function* () {
  const outbox = yield* Outbox
  const [intent] = yield* outbox.recent(1)
  const [attempt] = yield* outbox.attempts(intent!.id)
  return { intent: intent!, attempt: attempt! }
})

/** Hands in again, as anybody can, a command whose signature was public once, with work of their own. */
export const replay = Effect.fnUntraced(function* (client: TestClient) {
  const { attempt } = yield* newest
  const tid = "ab".repeat(32)
  let nonce = 0n
  while (!isSolved({ blockHash: attempt.anchorHash, tid }, nonce, 3)) nonce++
  const tx = {
    inputData: Buffer.from(attempt.inputData).toString("base64"),
    signature: { value: attempt.signature, algo: signatureAlgorithm, version: signatureVersion },
    pubKey: attempt.party,
    version: "TX_VERSION_V3",
    pow: { tid, nonce: String(nonce) },
  }
  return yield* request(client, "/transaction", { body: JSON.stringify({ tx, type: "TYPE_SYNC" }) })
})
