import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AcceptBody, acceptTerms } from "../status/termsHalt.ts"
import { outputFlag, printResult } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { configFlag, dataFlag } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"
import { userName } from "./userName.ts"

const accept = Command.make(
  "accept",
  {
    hash: Argument.String("hash").pipe(
      Argument.withSchema(AcceptBody.fields.hash),
      Argument.withDescription("Hash of the file's terms, as status and the page name it"),
    ),
    reason: reasonFlag.pipe(Flag.optional),
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* ({ hash, reason, output, ...chosen }) {
    const body = { hash, author: userName(), ...(Option.isSome(reason) ? { reason: reason.value } : {}) }
    const path = "/api/v1/terms/accept"
    const { body: done } = yield* throughDaemon(chosen, { method: "POST", path, body, stored: () => acceptTerms(body) })
    return yield* printResult(output, done, () =>
      done.isInForce
        ? `terms ${hash} are in force`
        : `terms ${hash} come into force after an hour in which nothing is signed; "cofferer halt" stops it`,
    )
  }),
).pipe(Command.withDescription("Put the file's terms in force that halt a start, where no operator can sign them"))

/** Terms that bound the money: who signs them, `approve terms` says. */
export const terms = Command.make("terms").pipe(
  Command.withDescription("Terms of a file that permit more than those in force"),
  Command.withSubcommands([accept]),
)
