import { Effect } from "effect"
import * as Test from "../support/TestClient.ts"

/** What a client takes for the fate of its payment when it stops. */
type Belief = "paid" | "refused" | "gave up"

interface NaivePayment {
  readonly from: string
  readonly to: string
  /** Base units. */
  readonly amount: bigint
  readonly asset: string
  /** Marks all transactions of the payment. */
  readonly reference: string
}

/** How often it sends. */
const attemptsMax = 3
/** How long it waits for a submission, and what it reads of an answer. */
const patience = "10 seconds"
const bytesMax = 1_048_576
/** Pages of a listing that it turns before it gives the listing up. */
const pagesMax = 50

/** The answer was none that it understands. */
const unreadable = (cause: string) => Effect.fail(new Test.NoAnswer({ cause }))

const ask = (client: Test.TestClient, path: string) =>
  Test.request(client, path, { bytesMax }).pipe(
    Effect.filterOrElse(
      (reply) => reply.status === 200 && reply.json !== undefined,
      () => unreadable(path),
    ),
  )

/** One network parameter, found by turning the pages of all. */
const findParameter = (client: Test.TestClient, key: string) =>
  Effect.gen(function* () {
    const path = "/api/v2/network/parameters?pagination.first=1"
    let after = ""
    for (let page = 0; page < pagesMax; page++) {
      const reply = yield* ask(client, after === "" ? path : `${path}&pagination.after=${encodeURIComponent(after)}`)
      const { node } = (Test.at(reply, "networkParameters.edges.0") ?? {}) as { node?: Record<string, unknown> }
      if (node?.["key"] === key) return Number(node["value"])
      if (Test.at(reply, "networkParameters.pageInfo.hasNextPage") !== true) break
      after = String(Test.at(reply, "networkParameters.pageInfo.endCursor"))
    }
    return yield* unreadable(`no parameter ${key}`)
  })

/** Signs with a new nonce and new work for whatever the network says of itself, and sends. */
const attempt = (client: Test.TestClient, payment: NaivePayment) =>
  Effect.gen(function* () {
    const head = yield* ask(client, "/blockchain/height")
    const difficulty = yield* findParameter(client, "spam.pow.difficulty")
    const { from, to, amount, asset, reference } = payment
    const tx = Test.signed(client, {
      from,
      command: Test.payment(client, to, amount, { asset, reference }),
      height: Number(Test.at(head, "height")),
      hash: String(Test.at(head, "hash")),
      chainId: String(Test.at(head, "chainId")),
      difficulty,
    })
    const reply = yield* Test.request(client, "/transaction", { body: tx.body, bytesMax }).pipe(
      Effect.timeoutOrElse({ duration: patience, orElse: () => unreadable("timeout") }),
    )
    return Test.at(reply, "success")
  })

/**
 * Pays as one would who trusts every answer: whatever is no "success": true is a reason to sign another transaction and
 * send it, three at most. `pause` lies between them. It is what an agent must not be.
 */
export const payNaively = <E>(
  client: Test.TestClient,
  payment: NaivePayment,
  pause: Effect.Effect<unknown, E>,
): Effect.Effect<Belief, E> =>
  Effect.gen(function* () {
    let belief: Belief = "gave up"
    for (let n = 0; n < attemptsMax; n++) {
      if (n > 0) yield* pause
      const success = yield* Effect.orElseSucceed(attempt(client, payment), () => undefined)
      if (success === true) return "paid"
      belief = success === false ? "refused" : "gave up"
    }
    return belief
  })
