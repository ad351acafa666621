import { Effect } from "effect"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { alice, type Flow, type FlowServices, type FlowSetup, flow } from "./Flow.ts"
import { type Front, honest, type Manner, startFront } from "./Fronts.ts"
import type { Body } from "./it.ts"
import { powOf, usdt } from "./TestSandbox.ts"
import type { Fields } from "./treasury.ts"

/** A treasury whose only gateway answers by its manner, at first this one; `url` is the network behind it. */
export const behind = (
  setup: FlowSetup,
  use: Body<[liar: Front, url: string, ...Parameters<Flow>], FlowServices>,
  manner: Manner = honest,
) => {
  let front: Front | undefined
  let network = ""
  return flow((...args) => use(front!, network, ...args), {
    ...setup,
    front: (url) =>
      Effect.map(startFront("liar", url), (started) => {
        front = started
        started.manner = manner
        network = url
        return started.server.url
      }),
  })
}

/** Work of a network with a window of so many blocks, easy enough for a test. */
export const pow = (window: number) => ({ pow: powOf(window) })
/** Balances of which both keep-bob and keep-eve pay in the same round. */
export const deposits = [
  { party: "alice", asset: "USDT", amount: "1_000" },
  { party: "bob", asset: "USDT", amount: "50" },
  { party: "eve", asset: "USDT", amount: "50" },
]
export const keepEve = {
  name: "keep-eve",
  topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "100", target: "110" }] },
}
/** A payday. A flow begins at 2027-01-15 08:00 UTC. */
export const wageAt = (cron: string, more: Fields = {}) => ({
  name: "wage",
  payout: { from: "alice", to: "eve", asset: "USDT", amount: "30" },
  schedule: { cron, ...more },
})
export const wage = wageAt("1 8 * * *")
export const wages = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.recent(50)),
  (all) => all.filter(({ rule }) => rule === "wage").map(({ state }) => state),
)
export const pages = Effect.map(
  Effect.flatMap(AlertQueue, (queue) => queue.due(100)),
  (due) => due.filter(({ severity }) => severity === "page").map(({ detail }) => detail),
)

/** Shows every transfer that it is asked for by its id as this one. */
export const shown =
  (status: string, to: string, amount: bigint) =>
  (id: string, timestamp: string): string => {
    const [fromAccountType, toAccountType] = ["ACCOUNT_TYPE_GENERAL", "ACCOUNT_TYPE_GENERAL"]
    const ends = { from: alice, fromAccountType, to, toAccountType, asset: usdt, amount: String(amount) }
    const transfer = { id, ...ends, reference: "", status, timestamp }
    return JSON.stringify({ transferNode: { transfer, fees: [] } })
  }

/** Keeps what is handed in while `keeps`, and shows transfers as `as` while it is there. */
export const keeper = () => {
  const kept: Array<{ readonly path: string; readonly body: string }> = []
  const state: { keeps: boolean; as: ReturnType<typeof shown> | undefined } = { keeps: true, as: undefined }
  const manner: Manner = async (request, ask) => {
    if (request.method === "POST" && state.keeps) {
      kept.push({ path: request.url.pathname, body: request.body })
      return { status: 503, headers: {}, text: "" }
    }
    const answer = await ask()
    const id = /^\/api\/v2\/transfer\/([0-9a-f]{64})$/.exec(request.url.pathname)?.[1]
    const at = answer.headers["x-block-timestamp"] ?? ""
    return state.as === undefined || id === undefined ? answer : { ...answer, status: 200, text: state.as(id, at) }
  }
  return { kept, state, manner }
}
