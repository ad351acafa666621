import { createHash } from "node:crypto"
import { Effect, Result } from "effect"
import { readTransaction } from "../../src/sandbox/http/Submit.ts"
import { decodeInputData } from "../../src/tx/InputData.ts"
import { decodeTransaction, transferId, txHash } from "../../src/tx/Transaction.ts"
import type { Dice } from "../support/Dice.ts"
import { chainId, type Network } from "./Network.ts"
import { remine } from "./remine.ts"

/** Who brings our public bytes to the network without being us. What executes a second time by that is not ours. */
export interface ThirdParty {
  /** "transfer height" of what the network would execute once more by somebody else's doing. */
  readonly replayed: ReadonlySet<string>
  /** Takes what went over the wire. */
  readonly hear: (bytes: Uint8Array) => void
  /** Hands it in again, most of all when the network is about to forget it. */
  readonly rebroadcast: () => void
  /** What stayed on the way for longer than margins can foresee is no send of ours any more. */
  readonly noteArrival: (body: string, leftAt: number) => void
  /** What the newest block took of theirs, of a payment that an earlier block holds. */
  readonly noteBlock: () => void
  /** A gateway that kept a transaction back broadcasts it: where the network takes it twice, that is its doing. */
  readonly noteLate: () => void
}

/** The transaction in the body of a submission; undefined where it is none. */
export const bytesOf = (body: string): Uint8Array | undefined =>
  Effect.runSync(readTransaction(body).pipe(Effect.orElseSucceed(() => undefined)))

/** The transaction in bytes that are on the wire; undefined where it is none. */
export const decodedOf = decodeTransaction

/** The block that a transaction's window begins after. */
export const anchorOf = (bytes: Uint8Array): number => {
  const data = decodeTransaction(bytes)?.inputData ?? new Uint8Array()
  for (const bare of [data, data.subarray(chainId.length + 1)]) {
    const read = decodeInputData(bare)
    if (Result.isSuccess(read)) return Number(read.success.blockHeight)
  }
  return 0
}

const transferOf = (bytes: Uint8Array | undefined): string =>
  transferId((bytes === undefined ? undefined : decodeTransaction(bytes))?.signature?.value ?? "")

/** A request is late by the network's own fault, on the wire or within a gateway, after so many blocks. */
const lateBlocks = 2
/** Transactions of a block, at most. */
const tailMax = 50

export const makeThirdParty = (options: {
  readonly network: Network
  readonly window: number
  readonly dice: Dice
  /** Whether what has executed is handed in again as well; else only what the network has lost. */
  readonly replays: boolean
  /** Brings an effect to its end at once. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => A
}): ThirdParty => {
  const { window, dice, replays, run } = options
  const { chain, node } = options.network
  const replayed = new Set<string>()
  const theirs = new Set<string>()
  /** The height at which the request left that arrived last, by the hash of what it carries. */
  const leftAtOf = new Map<string, number>()
  let heard: ReadonlyArray<{ readonly bytes: Uint8Array; readonly height: number }> = []
  const isExecuted = (id: string): boolean => chain.transfers.has(id) || chain.withdrawals.has(id)
  const note = (id: string) => replayed.add(`${id} ${chain.height + 1}`)
  const withOtherWork = (bytes: Uint8Array, anchor: number): Uint8Array | undefined => {
    const tid = createHash("sha256").update(bytes).update(String(chain.height)).digest("hex")
    return remine(bytes, anchor, chain, tid)
  }
  return {
    replayed,
    hear: (bytes) => {
      heard = [...heard, { bytes, height: anchorOf(bytes) }]
    },
    rebroadcast: () => {
      heard = heard.filter(({ height }) => height + window > chain.height)
      const wanted = heard.filter(({ bytes }) => replays || !isExecuted(transferOf(bytes)))
      const last = wanted.filter(({ height }) => height + window === chain.height + 1)
      const others = last.flatMap(({ bytes, height }) => withOtherWork(bytes, height) ?? [])
      const again = dice.next() < 0.2 && replays ? heard.slice(-1) : []
      for (const bytes of [...last.map((one) => one.bytes), ...others, ...again.map((one) => one.bytes)]) {
        const id = transferOf(bytes)
        const executed = isExecuted(id)
        const said = run(node.submit(bytes))
        // Ours are known by the bytes that were heard: whatever else is taken was made by them.
        if (others.includes(bytes) && said._tag === "Checked") theirs.add(said.hash)
        if (executed && said._tag === "Checked" && said.code === 0) note(id)
      }
    },
    noteArrival: (body, leftAt) => {
      const bytes = bytesOf(body)
      if (bytes !== undefined) leftAtOf.set(txHash(bytes), leftAt)
    },
    noteBlock: () => {
      const isNow = ({ height, code }: (typeof chain.included)[number]) => height === chain.height && code === 0
      for (const { hash, transferId: id } of chain.included.slice(-tailMax).filter(isNow)) {
        const isSecond = chain.included.some(
          (one) => one.transferId === id && one.code === 0 && one.height < chain.height,
        )
        const isLate = chain.height - 1 - (leftAtOf.get(hash) ?? chain.height) >= lateBlocks
        if (isSecond && (isLate || theirs.has(hash))) replayed.add(`${id} ${chain.height}`)
      }
    },
    noteLate: () => {
      for (const { height, hex } of chain.faults.late) {
        const id = transferOf(Buffer.from(hex, "hex"))
        if (height <= chain.height && isExecuted(id)) note(id)
      }
    },
  }
}
