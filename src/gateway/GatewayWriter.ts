import { Context, Effect } from "effect"
import type { Transaction } from "../tx/Transaction.ts"
import type { GatewayError } from "./GatewayError.ts"
import { SubmissionAnswer, type SubmitType, submissionRequest } from "./schema/Submission.ts"
import type { Transport } from "./Transport.ts"

/** The one way by which money can move. Only the submitter requires it. */
export class GatewayWriter extends Context.Service<
  GatewayWriter,
  {
    /**
     * Sends a transaction exactly once, with `inputData` as the caller framed it. The answer is passed on as it came:
     * a success with a code, or another hash than ours, is for the caller to judge. Neither answer nor error proves
     * that the transaction will not execute.
     */
    readonly submit: (
      tx: Transaction,
      options?: {
        readonly type?: SubmitType
        /** Which of several gateways takes it; default the first. */
        readonly gateway?: string
      },
    ) => Effect.Effect<SubmissionAnswer, GatewayError>
  }
>()("cofferer/gateway/GatewayWriter") {
  static readonly make = (transport: Transport["Service"]): GatewayWriter["Service"] =>
    GatewayWriter.of({
      submit: Effect.fn("GatewayWriter.submit")(function* (tx, options) {
        const { value } = yield* transport.request({
          operation: "submit",
          path: "/transaction",
          body: submissionRequest(tx, options?.type ?? transport.options.submitType),
          schema: SubmissionAnswer,
        })
        return value
      }),
    })

  /** Sends by the gateway that is asked for. */
  static readonly together = (
    writers: ReadonlyMap<string, GatewayWriter["Service"]>,
    first: GatewayWriter["Service"],
  ): GatewayWriter["Service"] =>
    GatewayWriter.of({
      submit: (tx, options) => (writers.get(options?.gateway ?? "") ?? first).submit(tx, options),
    })
}
