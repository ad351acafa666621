import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { shortId } from "../domain/Hex.ts"
import { storyWithApproval } from "../http/approvals.ts"
import { type EndBody, type EndVerb, endPayment } from "../http/controlVerbs.ts"
import { intentsMax, listIntents } from "../http/stories.ts"
import { Tags } from "../store/payments/LedgerAudit.ts"
import { InFlight } from "../submitter/InFlight.ts"
import { agreementFlags, matchesId, signAgreement } from "./approve.ts"
import { noDaemonLine, throughDaemon } from "./common/client.ts"
import { failWith, type Output, printResult } from "./common/output.ts"
import {
  type Chosen,
  commonFlags,
  cutList,
  limitFlag,
  type Setup,
  switchFlag,
  textArgument,
  userName,
} from "./common/setup.ts"
import { storyText } from "./common/storyText.ts"
import { reasonFlag } from "./controls.ts"
import { intentsText } from "./status.ts"

interface ChosenEnd extends Chosen {
  readonly id: string
  readonly reason: string
  readonly output: Output
  readonly key?: Option.Option<string>
  readonly signature?: Option.Option<string>
}

/** Ends a payment through the daemon, or in its database if none runs. */
const end = Effect.fnUntraced(function* (
  chosen: ChosenEnd,
  verb: EndVerb,
  more: Pick<typeof EndBody.Type, "executed" | "neverExecuted">,
) {
  const path = `/api/v1/intents/${encodeURIComponent(chosen.id)}/${verb}`
  const ended = yield* signAgreement(
    { key: chosen.key ?? Option.none(), signature: chosen.signature ?? Option.none(), output: chosen.output },
    {
      kind: "resolve",
      says: {
        payment: (id) => matchesId(chosen.id, id),
        outcome: more.executed === undefined ? "never executed" : `executed ${more.executed.toLowerCase()}`,
        reason: chosen.reason,
      },
    },
    Effect.fnUntraced(function* (signed) {
      const body = { reason: chosen.reason, author: userName(), ...more, ...signed }
      const stored = ({ treasury }: Setup) =>
        Effect.map(endPayment(treasury, chosen.id, verb, body), (done) => ("ended" in done ? done.ended : done)).pipe(
          Effect.provide(InFlight.layer),
          // No key is open here, so no transfer is recognized by its tag.
          Effect.provideService(Tags, { of: () => undefined }),
        )
      return (yield* throughDaemon(chosen, path, stored, { body })).body
    }),
  )
  yield* printResult(
    chosen.output,
    ended,
    () => `${shortId(ended.id).slice(0, 4)} is ${ended.detail}${ended.after === null ? "" : `\n${ended.after}`}`,
  )
})

const endFlags = {
  id: textArgument("id", "Id of the payment, or its first characters"),
  reason: reasonFlag,
  ...commonFlags,
}

const resolve = Command.make(
  "resolve",
  {
    ...endFlags,
    ...agreementFlags,
    executed: Flag.String("executed").pipe(
      Flag.withSchema(
        Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/, { expected: "a hash of 64 hex characters" })),
      ),
      Flag.withDescription("It executed: hash of its transaction on the ledger, or its transfer id"),
      Flag.optional,
    ),
    neverExecuted: switchFlag("never-executed", "It did not execute, and its window has passed"),
  },
  Effect.fn(function* (chosen) {
    const executed = Option.getOrUndefined(chosen.executed)
    if ((executed !== undefined) === chosen.neverExecuted) {
      return yield* failWith("usage", "give either --executed TXHASH or --never-executed")
    }
    return yield* end(chosen, "resolve", executed === undefined ? { neverExecuted: true } : { executed })
  }),
).pipe(
  Command.withDescription("Record how a payment in state manual or unknown ended: give --executed or --never-executed"),
)

const endCommand = (verb: EndVerb, description: string) =>
  Command.make(
    verb,
    endFlags,
    Effect.fn((chosen) => end(chosen, verb, {})),
  ).pipe(Command.withDescription(description))

/** Rejects a payment. Any user of the socket may reject, not only approvers. */
export const reject = endCommand("reject", "Reject a payment that is proposed or waits for approval")

/** Verbs by which a person ends a payment. */
const endCommands = [
  resolve,
  reject,
  endCommand("cancel", "Cancel a payment that is not signed yet"),
  endCommand("abandon", "End a payment whose signed attempts are proven to never execute"),
] as const

const show = Command.make(
  "show",
  { id: textArgument("id", "Id of the payment, or its first characters"), ...commonFlags },
  Effect.fn(function* (chosen) {
    const path = `/api/v1/intents/${encodeURIComponent(chosen.id)}`
    const stored = ({ treasury }: Setup) => storyWithApproval(treasury, chosen.id)
    const { body: story } = yield* throughDaemon(chosen, path, stored)
    return yield* printResult(chosen.output, story, () => storyText(story))
  }),
).pipe(Command.withDescription("Show everything about one payment"))

export const intents = Command.make(
  "intents",
  {
    limit: limitFlag("payments", intentsMax),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const { limit } = chosen
    const path = `/api/v1/intents?limit=${limit + 1}`
    const { running, body: found } = yield* throughDaemon(chosen, path, () => listIntents(limit + 1))
    const list = yield* cutList(found, limit, "payment")
    yield* printResult(chosen.output, list, () =>
      [
        ...(running ? [] : [noDaemonLine]),
        list.length === 0 ? "no payment yet" : `payments (UTC)\n${intentsText(list)}`,
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("List payments"), Command.withSubcommands([show, ...endCommands]))
