import { Effect, Layer, Logger, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { storeLayer } from "../services.ts"
import { AcceptBody, acceptTerms } from "../status/termsHalt.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, codeOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { configFlag, dataFlag, storedSetup } from "./setup.ts"
import { userName } from "./userName.ts"

type Asked = typeof AcceptBody.Type

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
    const dataDir = yield* dataDirOf(chosen)
    const asked: Asked = { hash, author: userName(), ...(Option.isSome(reason) ? { reason: reason.value } : {}) }
    const answer = yield* control(dataDir, "POST", "/api/v1/terms/accept", asked)
    const done = answer === undefined ? yield* stored(chosen, dataDir, asked) : yield* bodyOf(answer)
    const { isInForce } = done as { readonly isInForce: boolean }
    return yield* printResult(output, done, () =>
      isInForce
        ? `terms ${hash} are in force`
        : `terms ${hash} come into force after an hour in which nothing is signed; "cofferer halt" stops it`,
    )
  }),
).pipe(Command.withDescription("Put the file's terms in force that halt a start, where no operator can sign them"))

const stored = Effect.fnUntraced(function* (chosen: Parameters<typeof storedSetup>[0], dataDir: string, asked: Asked) {
  const found = yield* storedSetup(chosen, dataDir)
  const done = yield* acceptTerms(asked).pipe(
    Effect.provide(Layer.merge(storeLayer(found), Logger.layer([]))),
    Effect.mapError((error) => failWith("failure", error.message)),
  )
  return "problem" in done ? yield* failWith(codeOf(done.status), `${done.problem}; ${done.remedy}`) : done
})

/** Terms that bound the money: who signs them, `approve terms` says. */
export const terms = Command.make("terms").pipe(
  Command.withDescription("Terms of a file that permit more than those in force"),
  Command.withSubcommands([accept]),
)
