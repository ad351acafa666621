import { createHash } from "node:crypto"
import type { Effect } from "effect"
import { rulesFor } from "../../src/sandbox/ReplayGuard.ts"
import { payment, signed } from "../support/TestClient.ts"
import { usdt } from "../support/TestSandbox.ts"
import { unit } from "./Book.ts"
import { chainId, keySeed, type Network } from "./Network.ts"

type Run = <A, E>(effect: Effect.Effect<A, E>) => A

/**
 * Somebody who has the reserve's key as well pays the spender with it, whatever the daemon does. Returns the transfer's
 * id; undefined where the network would not take it.
 */
export const payElsewhere = (
  { node, chain, world }: Network,
  who: string,
  amount: number,
  run: Run,
): string | undefined => {
  const client = { url: "", chainId, seed: keySeed }
  const tid = createHash("sha256").update(`${who}elsewhere ${chain.height}`).digest("hex")
  const tx = signed(client, {
    from: `${who}reserve`,
    command: payment(client, "spender", BigInt(amount) * unit, { asset: usdt }),
    height: chain.height,
    hash: chain.hash,
    difficulty: rulesFor(chain, chain.height)?.difficulty ?? 0,
    framing: world.profile.framing,
    nonce: 7_000_000_000n + BigInt(chain.height),
    tid,
  })
  const said = run(node.submit(Buffer.from(tx.raw, "base64")))
  return said._tag === "Checked" && said.code === 0 ? tx.transferId : undefined
}
