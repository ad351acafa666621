import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AcceptBody, acceptTerms } from "../http/termsApproval.ts"
import { bodyOf, control, throughDaemon } from "./common/client.ts"
import { printResult } from "./common/output.ts"
import { commonFlags, dataDirOf, notRunning, userName } from "./common/setup.ts"
import { reasonFlag } from "./pause.ts"

/** Lets the daemon read its files again: all of it is put in force, or nothing. */
export const reload = Command.make(
  "reload",
  {
    reason: reasonFlag,
    allowWeaker: Flag.Boolean("allow-weaker").pipe(
      Flag.withDescription("Accept a file that permits more than before"),
      Flag.withDefault(false),
    ),
    ...commonFlags,
  },
  Effect.fn(function* ({ reason, allowWeaker, output, ...chosen }) {
    const dataDir = yield* dataDirOf(chosen)
    const author = userName()
    const answer = yield* control(dataDir, "POST", "/api/v1/reload", { reason, author, allowWeaker })
    if (answer === undefined) return yield* notRunning(chosen, dataDir)
    const done = (yield* bodyOf(answer)) as {
      readonly hash: string
      readonly parts?: ReadonlyArray<string>
      readonly weaker?: ReadonlyArray<string>
    }
    return yield* printResult(output, done, () => {
      if (done.parts === undefined) return `nothing changed: ${done.hash.slice(0, 12)} is in force`
      const weaker = (done.weaker ?? []).map((words) => `now permitted: ${words}`)
      return [`in force: ${done.parts.join(", ")} changed, ${done.hash.slice(0, 12)}`, ...weaker].join("\n")
    })
  }),
).pipe(Command.withDescription("Put the changed treasury file in force, whole or not at all"))

const accept = Command.make(
  "accept",
  {
    hash: Argument.String("hash").pipe(
      Argument.withSchema(AcceptBody.fields.hash),
      Argument.withDescription("Hash of the file's terms, as status and the page name it"),
    ),
    reason: reasonFlag.pipe(Flag.optional),
    ...commonFlags,
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
).pipe(Command.withDescription("Accept the file's terms that halted a start, where no operator can sign them"))

/** Terms that bound the money: who signs them, `approve terms` says. */
export const terms = Command.make("terms").pipe(
  Command.withDescription("Terms of a file that permits more than the terms in force"),
  Command.withSubcommands([accept]),
)
