import { userInfo } from "node:os"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { storeLayer } from "../services.ts"
import { askTrustHead, HeightText } from "../status/askTrust.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, codeOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult, toJson } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { configFlag, dataFlag, storedSetup } from "./setup.ts"
import { agreementFlags, signAgreement } from "./signAgreement.ts"

const flags = { reason: reasonFlag, ...agreementFlags, config: configFlag, data: dataFlag, output: outputFlag }

/** The answer is of the same version as this command line. */
interface Trusted {
  readonly trusted: string
}

const head = Command.make(
  "head",
  {
    height: Argument.String("height").pipe(
      Argument.withSchema(HeightText),
      Argument.withDescription("Newest block that another source shows, since the head is doubted"),
    ),
    ...flags,
  },
  Effect.fn(function* (chosen) {
    const dataDir = yield* dataDirOf(chosen)
    const done = yield* signAgreement(
      chosen,
      Effect.fnUntraced(function* (more) {
        const { height, reason } = chosen
        const asked = { height, reason, author: userInfo().username, ...more }
        const answer = yield* control(dataDir, "POST", "/api/v1/trust/head", asked)
        if (answer !== undefined) return yield* bodyOf(answer)
        const found = yield* storedSetup(chosen, dataDir)
        const stored = yield* askTrustHead(found.treasury, asked).pipe(
          Effect.provide(storeLayer(found)),
          Effect.mapError((error) => failWith("failure", error.message)),
        )
        if ("problem" in stored) return yield* failWith(codeOf(stored.status), `${stored.problem}; ${stored.remedy}`)
        return JSON.parse(toJson(stored)) as unknown
      }),
    )
    const text = () => `block ${(done as Trusted).trusted} is believed, and payments go on from it`
    return yield* printResult(chosen.output, done, text)
  }),
).pipe(Command.withDescription("Believe the newest block that the gateway tells, where it is doubted"))

/** What people say for the network, where its word alone is not enough. */
export const trust = Command.make("trust").pipe(
  Command.withDescription("Believe what the network tells and Cofferer doubts, with a reason"),
  Command.withSubcommands([head]),
)
