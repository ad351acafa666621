import { Context, Effect, Schema } from "effect"
import { signatureAlgorithm, signatureVersion, type Transaction, txVersions } from "../tx/Transaction.ts"
import type { GatewayError } from "./GatewayError.ts"
import type { Turn } from "./Limiter.ts"
import { Flag, Int64, orDefault, SafeInt, Text } from "./schema/Numbers.ts"
import type { Transport } from "./Transport.ts"

/** The gateway's answer to a submission. Nothing here proves anything about execution, and its fields may disagree. */
export const SubmissionAnswer = Schema.Struct({
  success: Flag,
  /** As given: upper case on real networks. */
  txHash: Text,
  /** Category of failure; 0 with success. */
  code: orDefault(SafeInt, 0),
  /** The gateway's words, of any length and with any characters: escapeText before they are kept or shown. */
  data: Text,
  log: Text,
  /** Unused by the network. */
  height: orDefault(Int64, 0),
})
export type SubmissionAnswer = typeof SubmissionAnswer.Type

const versionNames = new Map<number, string>(Object.entries(txVersions).map(([name, n]) => [n, name]))

/**
 * Body of POST /transaction. 64-bit numbers are text, and bytes standard base64 with padding; else it is refused.
 * Real networks ignore the type, and always wait for the mempool's check.
 */
export const submissionRequest = (tx: Transaction) => ({
  tx: {
    inputData: Buffer.from(tx.inputData).toString("base64"),
    signature: { value: tx.signature, algo: signatureAlgorithm, version: signatureVersion },
    pubKey: tx.pubKey,
    version: versionNames.get(tx.version) ?? tx.version,
    pow: { tid: tx.pow.tid, nonce: tx.pow.nonce.toString() },
  },
  type: "TYPE_SYNC",
})

/** The only way to move money. Only the submitter requires it. */
export class GatewayWriter extends Context.Service<
  GatewayWriter,
  {
    /**
     * Waits until one submission may be sent, ahead of all reads. Fails as RateLimited where that takes too long, as
     * Banned during a ban; nothing was sent then. The caller then checks again that it may send, and sends at once.
     */
    readonly turn: (options?: { readonly gateway?: string }) => Effect.Effect<Turn, GatewayError>
    /**
     * Sends a transaction exactly once, with `inputData` as the caller framed it. The answer is passed on as it came:
     * a success with a code, or another hash than ours, is for the caller to judge. Neither answer nor error proves
     * that the transaction will not execute.
     */
    readonly submit: (
      tx: Transaction,
      options?: {
        /** Taken before, from the same gateway; otherwise it waits for one. */
        readonly turn?: Turn
        /** Which of several gateways takes it; default the first. */
        readonly gateway?: string
        /** Asked just before the request leaves; false: it fails as Unreachable. Default true. */
        readonly mayLeave?: Effect.Effect<boolean>
      },
    ) => Effect.Effect<SubmissionAnswer, GatewayError>
  }
>()("cofferer/gateway/GatewayWriter") {
  static readonly make = (transport: Transport): GatewayWriter["Service"] =>
    GatewayWriter.of({
      turn: Effect.fn("GatewayWriter.turn")(() => transport.writeTurn),
      submit: Effect.fn("GatewayWriter.submit")(function* (tx, options) {
        const { value } = yield* transport.request({
          operation: "submit",
          path: "/transaction",
          body: submissionRequest(tx),
          schema: SubmissionAnswer,
          turn: options?.turn,
          mayLeave: options?.mayLeave,
        })
        return value
      }),
    })

  /** Sends through the gateway that the caller names, by default the first. */
  static readonly routed = (
    writers: ReadonlyMap<string, GatewayWriter["Service"]>,
    first: GatewayWriter["Service"],
  ): GatewayWriter["Service"] => {
    const of = (gateway = "") => writers.get(gateway) ?? first
    return GatewayWriter.of({
      turn: (options) => of(options?.gateway).turn(options),
      submit: (tx, options) => of(options?.gateway).submit(tx, options),
    })
  }
}
