import { randomBytes } from "node:crypto"
import { privateKeyOf, publicKeyOf } from "../../../src/sandbox/Keys.ts"
import { wallet } from "../peers.ts"
import { asset, blockMillis, chainId, difficulty, others, seed } from "./treasury.ts"

/**
 * The sequential client: it encodes, signs, solves and submits one payment after the other with the network's own
 * packages, and keeps nothing. It asks for the newest block once a block.
 */
export const makePeer = async (url: string) => {
  const keys = await Promise.all(others.map((name) => wallet.key(privateKeyOf(seed, name))))
  const to = publicKeyOf(seed, "hot")
  let head = { height: "", hash: "" }
  let askedAt = Number.NEGATIVE_INFINITY
  let count = 0
  return async (): Promise<void> => {
    if (performance.now() - askedAt > blockMillis) {
      askedAt = performance.now()
      head = (await (await fetch(`${url}/blockchain/height`)).json()) as typeof head
    }
    const from = count++ % others.length
    const nonce = randomBytes(8).readBigUInt64BE()
    const inputData = wallet.encode({ nonce, height: BigInt(head.height), to, asset, amount: 1_000_000n })
    const signature = await keys[from]!.sign(inputData, chainId)
    const tid = randomBytes(32).toString("hex")
    const pow = await wallet.solve(difficulty, head.hash, tid)
    const tx = {
      inputData: Buffer.from(inputData).toString("base64"),
      signature: { value: Buffer.from(signature).toString("hex"), algo: "vega/ed25519", version: 1 },
      pubKey: publicKeyOf(seed, others[from]!),
      version: "TX_VERSION_V3",
      pow: { tid, nonce: String(pow.nonce) },
    }
    const body = JSON.stringify({ tx, type: "TYPE_SYNC" })
    const answer = await (await fetch(`${url}/transaction`, { method: "POST", body })).text()
    if (!answer.startsWith('{"success":true')) throw new Error(`the sequential client was refused: ${answer}`)
  }
}
