import { Effect } from "effect"
import { Command } from "../../src/domain/Command.ts"
import { at, head, payment, request, signed, submit, type TestClient } from "../support/TestClient.ts"
import { waitUntil } from "../support/until.ts"

/** So far away that no test comes to it: nobody is paid by them. */
const startEpoch = 1_000_000n

/**
 * Signs so many standing orders with the key of `from`, each for a receiver of its own and on a block of its own, and
 * waits for their blocks. Their ids.
 */
export const beginOrders = Effect.fnUntraced(function* (
  client: TestClient,
  { from, asset, count }: { readonly from: string; readonly asset: string; readonly count: number },
) {
  const ids: Array<string> = []
  let last = yield* head(client)
  for (let n = 1; n <= count; n++) {
    const plain = payment(client, `receiver-${n}`, 1_000_000n, { asset })
    if (plain._tag !== "Transfer") return yield* Effect.die("a payment is a transfer")
    const command = Command.cases.Transfer.make({ ...plain, kind: { _tag: "Recurring", factor: "1", startEpoch } })
    const order = signed(client, { from, command, ...last })
    const reply = yield* submit(client, order)
    if (at(reply, "code") !== 0) return yield* Effect.die(`a standing order is refused: ${reply.text}`)
    ids.push(order.transferId)
    const { height } = last
    const next = Effect.map(head(client), (now) => {
      last = now
      return now.height > height
    })
    yield* waitUntil("the next block", next)
  }
  const isThere = (ledger: unknown) => ids.every((id) => JSON.stringify(ledger).includes(id))
  const executed = Effect.map(request(client, "/sandbox/ledger"), (reply) => at(reply, "executed"))
  yield* waitUntil("the standing orders", Effect.map(executed, isThere))
  return ids
})
