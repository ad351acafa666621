import { hash, type KeyObject, sign } from "node:crypto"
import type { Command } from "../../src/domain/Command.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Chain, Included } from "../../src/sandbox/Chain.ts"
import { privateKeyOf, publicKeyOf } from "../../src/sandbox/Keys.ts"
import { encodeInputData } from "../../src/tx/InputData.ts"
import { leadingZeroBits, powPreimage } from "../../src/tx/ProofOfWork.ts"
import { transactionBytes, txHash, withChainPrefix } from "../../src/tx/Transaction.ts"
import { type Dice, makeDice } from "./Dice.ts"
import { signingKey } from "./signingKey.ts"
import { actions } from "./TrafficActions.ts"
import { difficulty, names, pastBlocks } from "./TrafficScenario.ts"

/** Native, because there are a hundred thousand of them. */
const sha3 = (bytes: Uint8Array): Buffer => hash("sha3-256", bytes, "buffer")

export interface Trader {
  readonly name: string
  readonly publicKey: PublicKey
  readonly key: KeyObject
}

/** What is to be signed; what is left out is as it should be. */
export interface Draft {
  readonly command: Command
  readonly from?: Trader
  readonly nonce?: bigint
  readonly height?: number
  readonly tid?: string
  readonly chainId?: string
  /** One that proves nothing. */
  readonly work?: "weak"
  readonly signature?: "broken"
}

/** Bytes on their way, and what one must know of them to judge what becomes of them. */
export interface Sent {
  readonly action: string
  readonly from: Trader
  readonly command: Command
  readonly nonce: bigint
  readonly height: number
  readonly tid: string
  readonly bytes: Uint8Array
  readonly hash: string
  readonly id: string
}

/** What fifty parties know together. */
export interface Traffic {
  readonly seed: string
  readonly dice: Dice
  readonly chain: Chain
  readonly traders: ReadonlyArray<Trader>
  readonly sent: Map<string, Sent>
  /** Included, and not yet out of the window. */
  recent: ReadonlyArray<Sent>
  /** Recurring transfers that were taken. */
  readonly standing: Array<Sent>
  count: number
}

export const makeTraffic = (chain: Chain): Traffic => {
  const { seed } = chain.scenario
  const traders = names.map((name): Trader => {
    return { name, publicKey: publicKeyOf(seed, name), key: signingKey(privateKeyOf(seed, name)) }
  })
  return { seed, dice: makeDice(seed), chain, traders, sent: new Map(), recent: [], standing: [], count: 0 }
}

const totalWeight = actions.reduce((sum, { weight }) => sum + weight, 0)

/** One more thing that somebody does; low numbers are busier than high ones. */
export const nextOf = (traffic: Traffic): Sent => {
  const { dice, traders } = traffic
  for (;;) {
    let at = dice.below(totalWeight)
    const action = actions.find(({ weight }) => {
      at -= weight
      return at < 0
    })
    const from = traders[Math.floor(traders.length * dice.next() ** 1.6)]
    const draft = from === undefined ? undefined : action?.draft(traffic, from)
    if (action === undefined || from === undefined || draft === undefined) continue
    const sent = "bytes" in draft ? { ...draft, action: action.name } : signed(traffic, { from, ...draft }, action.name)
    traffic.sent.set(sent.hash, sent)
    return sent
  }
}

const signed = (traffic: Traffic, draft: Draft & { readonly from: Trader }, action: string): Sent => {
  const { chain, dice } = traffic
  const { from, command } = draft
  const { chainId } = chain.scenario
  const nonce = draft.nonce ?? BigInt(++traffic.count)
  const height = draft.height ?? Math.max(1, chain.height - dice.below(4))
  const tid = draft.tid ?? `work ${++traffic.count}`
  const inputData = encodeInputData({ nonce, blockHeight: BigInt(height), command })
  const signature = sign(null, sha3(withChainPrefix(draft.chainId ?? chainId, inputData)), from.key)
  if (draft.signature === "broken") signature.writeUInt8(signature.readUInt8(3) ^ 1, 3)
  const work = { blockHash: chain.hashes.get(height) ?? chain.hash, tid }
  let powNonce = 0n
  while (leadingZeroBits(sha3(powPreimage(work, powNonce))) >= difficulty === (draft.work === "weak")) powNonce++
  const hex = signature.toString("hex")
  const pow = { tid, nonce: powNonce }
  const bytes = transactionBytes({ inputData, signature: hex, pubKey: from.publicKey, version: 3, pow })
  const id = sha3(signature).toString("hex")
  return { action, from, command, nonce, height, tid, bytes, hash: txHash(bytes), id }
}

/** Learns what a block took. */
export const settle = (traffic: Traffic, included: ReadonlyArray<Included>): void => {
  const taken = included.flatMap(({ hash }) => traffic.sent.get(hash) ?? [])
  const oldest = traffic.chain.height - pastBlocks
  traffic.recent = [...traffic.recent.filter(({ height }) => height > oldest), ...taken]
  for (const { hash, code } of included) {
    const sent = traffic.sent.get(hash)
    if (code === 0 && sent?.command._tag === "Transfer" && sent.command.kind._tag === "Recurring") {
      traffic.standing.push(sent)
    }
  }
}
