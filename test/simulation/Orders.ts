import type { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import type { Chain, Transfer } from "../../src/sandbox/Chain.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { putTransfer } from "../../src/sandbox/Payments.ts"
import { cancelTransfer } from "../../src/sandbox/Recurring.ts"
import { Database } from "../../src/store/Database.ts"
import { Findings } from "../../src/store/Findings.ts"
import { makeDice } from "../support/Dice.ts"
import { usdt } from "../support/TestSandbox.ts"
import type { Docket } from "./Docket.ts"
import { keySeed } from "./Network.ts"
import type { Gateways, Plan } from "./Plan.ts"

/** A transfer of the treasury's key that recurs: it was there before the first process. */
export interface Order {
  readonly id: string
  /** Block before which a person ends it by hand; undefined: nobody does. */
  readonly endsAt: number | undefined
}

const reserve = publicKeyOf(keySeed, "reserve")
/** The one that the rule is to leave alone. */
export const keptOrder = "5e".repeat(32)
export const cancelRule = "no-orders"
/** Cancellations that the policy allows in a day. */
export const cancelsPerDay = 2
/** So far away that no run comes to it: nobody is paid by them. */
const startEpoch = 1_000_000

/** Rule and policy of a treasury that ends standing orders. */
export const orderTexts = {
  rule: `  - name: ${cancelRule}
    cancel: { from: reserve, except: ["${keptOrder}"] }
`,
  policy: `  cancel: [{ from: reserve, transfersPer24h: ${cancelsPerDay} }]
`,
}

/** A sixth of the runs have some. The dice are their own: all other runs go as if there were no such thing. */
export const ordersOf = (seed: number, blocks: number): Plan["orders"] => {
  const dice = makeDice(`orders ${seed}`)
  if (dice.next() >= 1 / 6) return []
  const count = 1 + dice.below(5)
  const ended = Array.from({ length: count }, (_, i) => ({
    id: (i + 1).toString(16).padStart(2, "0").repeat(32),
    endsAt: dice.next() < 0.2 ? 2 + dice.below(blocks) : undefined,
  }))
  return [{ id: keptOrder, endsAt: undefined }, ...ended]
}

const transferOf = ({ id }: Order, time: bigint): Transfer => ({
  id,
  from: reserve,
  fromAccountType: "ACCOUNT_TYPE_GENERAL",
  to: publicKeyOf(keySeed, "spender"),
  toAccountType: "ACCOUNT_TYPE_GENERAL",
  asset: usdt,
  amount: 1_000_000n,
  reference: "",
  kind: { _tag: "recurring", startEpoch, factor: "1", dispatched: false },
  fees: [],
  status: "STATUS_PENDING",
  time,
  reason: "",
  open: true,
})

/** The ledger has them from the beginning. */
export const beginOrders = (chain: Chain, { orders }: Plan): void => {
  for (const order of orders) putTransfer(chain, transferOf(order, chain.time))
}

/** A person ends those whose block it is, whatever the daemon does about them. Returns those that were alive. */
export const endByHand = (chain: Chain, { orders }: Plan, block: number): ReadonlyArray<string> =>
  orders
    .filter(({ id, endsAt }) => endsAt === block && cancelTransfer(chain, { party: reserve }, id) === undefined)
    .map(({ id }) => id)

/** A person adopted them before the first day: the journal has none of them, and they are known all the same. */
export const adoptOrders = Effect.fnUntraced(function* (orders: Plan["orders"]) {
  if (orders.length === 0) return
  const findings = yield* Findings
  const transfers = orders.map((order) => ({ ...transferOf(order, 0n), status: "pending", timestamp: 0n }))
  yield* (yield* Database).atomically(
    Effect.andThen(
      findings.note({ party: reserve, cursor: undefined, transfers, isOwn: () => false }),
      findings.acknowledge(
        orders.map(({ id }) => id),
        "adopted",
      ),
    ),
  )
})

interface Cancelled {
  readonly id: string
  readonly state: string
  readonly order: string
}

/** Cancellations that the journal holds, against the standing orders of the ledger. */
export const judgeOrders = (evidence: {
  readonly db: DatabaseSync
  readonly chain: Chain
  readonly plan: Plan
  readonly gateways: Gateways
  readonly endedByHand: ReadonlySet<string>
  readonly docket: Docket
}): void => {
  const { db, chain, plan, gateways, endedByHand, docket } = evidence
  const wrong = { push: (words: string) => docket.wrong("order", words) }
  docket.chance("order", plan.orders.length)
  const intents = db
    .prepare("SELECT id, state, to_key AS 'order' FROM intents WHERE command = 'cancel'")
    .all() as unknown as ReadonlyArray<Cancelled>
  const statusOf = (id: string) => chain.transfers.get(id)?.status
  const isOurs = new Set(plan.orders.map(({ id }) => id))
  const executed = cancellations(chain)
  for (const { id, state, order } of intents) {
    const name = `cancellation ${id.slice(0, 8)} (${state}) of ${order.slice(0, 8)}`
    if (!isOurs.has(order) || order === keptOrder) wrong.push(`${name} is none that its rule names`)
    if (gateways === "honest" && state === "confirmed" && statusOf(order) !== "STATUS_CANCELLED") {
      wrong.push(`${name} ended nothing: the ledger has it as ${statusOf(order)}`)
    }
  }
  const byUs = plan.orders.filter(({ id }) => statusOf(id) === "STATUS_CANCELLED" && !endedByHand.has(id))
  if (byUs.length !== executed) wrong.push(`${byUs.length} standing orders ended by ${executed} cancellations`)
  if (executed > cancelsPerDay) wrong.push(`${executed} cancellations within a day, ${cancelsPerDay} are allowed`)
  for (const { id } of byUs) {
    const of = (wanted: string) => intents.filter(({ order, state }) => order === id && state === wanted).length
    const confirmed = of("confirmed")
    // As with payments (Judge.ts): one that its only gateway never answers for is left to people, with a page.
    const isLeft = confirmed === 0 && of("manual") === 1
    if (gateways === "honest" && confirmed !== 1 && !isLeft) {
      wrong.push(`${confirmed} cancellations are confirmed of ${id.slice(0, 8)}, which one ended`)
    }
  }
}

/** What the network calls the command. */
export const cancelCommand = "Cancel Transfer Funds"

/** Cancellations that the ledger executed. */
export const cancellations = (chain: Chain): number =>
  chain.included.filter(({ party, code, command }) => party === reserve && code === 0 && command === cancelCommand)
    .length
