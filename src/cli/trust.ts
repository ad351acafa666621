import { Effect, type Option } from "effect"
import { Argument, Command } from "effect/cli"
import { storeLayer } from "../services.ts"
import { askTrustHead, askTrustWork, HeightText } from "../status/askTrust.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, codeOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { type Output, outputFlag, printResult, toJson } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { type Chosen, configFlag, dataFlag, storedSetup } from "./setup.ts"
import { agreementFlags, signAgreement } from "./signAgreement.ts"
import { userName } from "./userName.ts"

const flags = { reason: reasonFlag, ...agreementFlags, config: configFlag, data: dataFlag, output: outputFlag }

interface ChosenTrust extends Chosen {
  readonly reason: string
  readonly key: Option.Option<string>
  readonly signature: Option.Option<string>
  readonly output: Output
}

/** The answer is of the same version as this command line. */
interface Trusted {
  readonly trusted: string
}

const what = (more: { readonly height?: string }) => (more.height === undefined ? "work" : "head")

/** Whether the text says that what was typed is believed, and nothing else of the network's word. */
const trusts = (more: { readonly height?: string }) => (words: string) =>
  words.startsWith(
    more.height === undefined ? "the work for transactions since block " : `block ${more.height} as begun, `,
  )

/** Asks the daemon; where none runs, does the same with the database itself, by the same agreement. */
const perform = (chosen: ChosenTrust, more: { readonly height?: string }) =>
  signAgreement(
    chosen,
    { kind: "trust", says: { trusts: trusts(more), reason: chosen.reason } },
    Effect.fnUntraced(function* (signed) {
      const dataDir = yield* dataDirOf(chosen)
      const asked = { ...more, reason: chosen.reason, author: userName(), ...signed }
      const answer = yield* control(dataDir, "POST", `/api/v1/trust/${what(more)}`, asked)
      if (answer !== undefined) return yield* bodyOf(answer)
      const found = yield* storedSetup(chosen, dataDir)
      const { height } = more
      const stored = yield* Effect.gen(function* () {
        if (height === undefined) return yield* askTrustWork(found.treasury, asked)
        return yield* askTrustHead(found.treasury, { ...asked, height })
      }).pipe(
        Effect.provide(storeLayer(found)),
        Effect.mapError((error) => failWith("failure", error.message)),
      )
      if ("problem" in stored) return yield* failWith(codeOf(stored.status), `${stored.problem}; ${stored.remedy}`)
      return JSON.parse(toJson(stored)) as unknown
    }),
  )

const head = Command.make(
  "head",
  {
    height: Argument.String("height").pipe(
      Argument.withSchema(HeightText),
      Argument.withDescription("Newest block that another source shows, since the head is doubted"),
    ),
    ...flags,
  },
  Effect.fn(function* ({ height, ...chosen }) {
    const done = yield* perform(chosen, { height })
    const text = () => `block ${(done as Trusted).trusted} is believed, and payments go on from it`
    return yield* printResult(chosen.output, done, text)
  }),
).pipe(Command.withDescription("Believe the newest block that the gateway tells, where it is doubted"))

const work = Command.make(
  "work",
  flags,
  Effect.fn(function* (chosen) {
    const done = yield* perform(chosen, {})
    const text = () => `the work for transactions is believed: ${(done as Trusted).trusted}`
    return yield* printResult(chosen.output, done, text)
  }),
).pipe(Command.withDescription("Believe the work that the gateway asks of transactions, where it is not settled"))

/** What people say for the network, where its word alone is not enough. */
export const trust = Command.make("trust").pipe(
  Command.withDescription("Believe what the network tells and Cofferer doubts, with a reason"),
  Command.withSubcommands([head, work]),
)
