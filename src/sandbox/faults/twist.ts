import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import { txHash } from "../../tx/Transaction.ts"
import type { Chain, Fault, PastState } from "../Chain.ts"
import { blocksOf, faultCodeOf } from "../Faults.ts"
import type { World } from "../http/Answer.ts"
import type { LedgerNode } from "../LedgerNode.ts"
import { asOf, momentAt, skewed } from "./asOf.ts"

/** The network that a request meets, and the one that the headers of its answer describe. */
interface Twisted {
  readonly world: World
  readonly headers: World
}

/** Puts a fault of stage "world" between a request and the true network. */
export const twist = ({ world, headers }: Twisted, fault: Fault): Twisted => {
  const both = (change: (world: World) => World): Twisted => ({ world: change(world), headers: change(headers) })
  switch (fault.kind) {
    case "stale_read":
      return { world: viewed(world, (chain) => back(chain, fault.seen)), headers }
    case "rolled_back_read":
      return both((w) => viewed(w, (chain) => back(chain, fault.seen)))
    case "lagging_replica":
      return both((w) => viewed(w, (chain) => back(chain, momentAt(chain.faults, chain.height - blocksOf(fault)))))
    case "clock_skew":
      return both((w) => viewed(w, (chain) => skewed(chain, BigInt(fault.skewMillis ?? 0) * 1_000_000n)))
    case "chain_id_change":
      return both((w) => {
        const scenario = { ...w.scenario, chainId: fault.chainId ?? "" }
        return { ...otherwise(w, (chain) => ({ ...chain, scenario })), scenario }
      })
    default:
      return { world: { ...world, node: { ...world.node, submit: lyingSubmit(world.node, fault) } }, headers }
  }
}

const back = (chain: Chain, then: PastState | undefined): Chain => (then === undefined ? chain : asOf(chain, then))

type View = (chain: Chain) => Chain

const viewed = (world: World, view: View): World => ({
  ...world,
  node: { ...world.node, read: (query) => world.node.read((chain) => query(view(chain))) },
})

/** Tells and checks by another view of the chain; blocks are made by the true one. */
const otherwise = (world: World, view: View): World => {
  const { node } = viewed(world, view)
  const { submit } = world.node
  return {
    ...world,
    node: {
      ...node,
      submit: (bytes, further) => submit(bytes, further === undefined ? view : (chain) => further(view(chain))),
    },
  }
}

const refusals: Readonly<Record<number, string>> = {
  51: "proposals are disabled",
  60: "tx.signature.value (invalid signature)",
  70: "could not transfer funds, not enough funds to transfer",
  80: "unknown command",
  89: "failed to verify proof of work",
}

const refusal = (bytes: Uint8Array, fault: Fault) => {
  const code = faultCodeOf(fault)
  return { _tag: "Checked", hash: txHash(bytes), code, text: refusals[code] ?? "" } as const
}

type Submit = LedgerNode["submit"]

/** A submission that a node treats differently from its answer. */
const lyingSubmit = (node: LedgerNode, fault: Fault): Submit => {
  switch (fault.kind) {
    case "lying_success":
      return (bytes) => Effect.succeed({ _tag: "Checked", hash: txHash(bytes), code: 0, text: "" })
    case "lying_failure":
      return (bytes, view) =>
        Effect.map(node.submit(bytes, view), (said) =>
          said._tag === "Checked" && said.code === 0 ? refusal(bytes, fault) : said,
        )
    case "wrong_hash":
      return (bytes, view) =>
        Effect.map(node.submit(bytes, view), (said) =>
          said._tag === "Checked" ? { ...said, hash: bytesToHex(sha256(sha256(bytes))) } : said,
        )
    case "late_broadcast":
      return (bytes) =>
        Effect.as(
          node.alterFaults(({ height, faults }) => {
            faults.late.push({ height: height + blocksOf(fault), hex: bytesToHex(bytes) })
          }),
          refusal(bytes, fault),
        )
    case "lost_mempool":
      return (bytes, view) =>
        Effect.tap(node.submit(bytes, view), () =>
          node.alterFaults(({ faults }) => {
            faults.mempoolLost = true
          }),
        )
    case "execution_failure":
      return (bytes, view) => submitDoomed(node, bytes, view)
    case "duplicate_delivery":
      return (bytes, view) => Effect.andThen(node.submit(bytes, view), node.submit(bytes, view))
    default:
      return node.submit
  }
}

/** Marked to fail before it is submitted, since a block could include it at once; a refused one is not marked. */
const submitDoomed = Effect.fnUntraced(function* (node: LedgerNode, ...[bytes, view]: Parameters<Submit>) {
  const hash = txHash(bytes)
  let isNew = false
  yield* node.alterFaults(({ faults: { doomed } }) => {
    isNew = !doomed.has(hash)
    doomed.add(hash)
  })
  const said = yield* node.submit(bytes, view)
  const isRefused = said._tag === "Turned" || said.code !== 0
  if (isRefused && isNew) yield* node.alterFaults(({ faults }) => void faults.doomed.delete(hash))
  return said
})
