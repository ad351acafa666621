import { resolve } from "node:path"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { termsOf } from "../config/ConfigInForce.ts"
import { visible } from "../domain/visible.ts"
import { termsHash } from "../rules/storedTerms.ts"
import { worstCase } from "../rules/worstCase.ts"
import { signApproval } from "../signer/signApproval.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag, filesOf, setup } from "./setup.ts"
import { needSignable } from "./signable.ts"
import { keyFlag, oneOf, printFlag, signatureFlag } from "./signingFlags.ts"
import { worstText } from "./worstCase.ts"

const Given = Schema.Struct({
  operator: Schema.String,
  missing: Schema.Int,
  others: Schema.Array(Schema.String),
})

const Asked = Schema.Struct({
  terms: Schema.String,
  policy: Schema.String,
  text: Schema.String,
})

const hash = Argument.String("hash").pipe(
  Argument.withSchema(
    Schema.String.check(Schema.isPattern(/^[0-9a-f]{8,64}$/, { expected: "8 to 64 hex characters" })),
  ),
  Argument.withDescription("Hash of the terms as reload names it, or of the policy in the file as check prints it"),
)

const flags = {
  hash,
  key: keyFlag,
  signature: signatureFlag,
  print: printFlag,
  config: configFlag,
  data: dataFlag,
  output: outputFlag,
}

/** An operator's word for the terms of a treasury file that are to come into force. */
export const approveTerms = Command.make(
  "terms",
  flags,
  Effect.fn(function* ({ hash, key, signature, print, output, ...chosen }) {
    yield* oneOf({ key, signature, print })
    const { treasury, dataDir } = yield* setup(chosen)
    const files = filesOf(chosen).map((file) => resolve(file))
    const answer = yield* control(dataDir, "POST", "/api/v1/terms/approve", { files })
    if (answer === undefined) return yield* failWith("notFound", `no daemon runs in ${dataDir}`)
    const { terms, policy, text } = yield* Schema.decodeUnknownEffect(Asked)(yield* bodyOf(answer))
    if (terms !== termsHash(termsOf({ treasury }))) {
      return yield* failWith("refused", "the daemon shows other terms than the file has that was read here; ask again")
    }
    const { name, network } = treasury
    const read = yield* needSignable(text, {
      kind: "terms",
      says: { treasury: name, chain: network.chainId, terms },
    })
    const weaker = read.facts.filter(([fact]) => fact.startsWith("weaker ")).map(([, words]) => words)
    if (!terms.startsWith(hash) && !policy.startsWith(hash)) {
      const is = `terms ${terms.slice(0, hash.length)} with policy ${policy.slice(0, hash.length)}`
      return yield* failWith("refused", `${treasury.file} has ${is}, not ${hash}`)
    }
    yield* Console.error(
      [
        weaker.length === 0 ? "Nothing in it is weaker." : "What is weaker in it:",
        ...weaker.map((words) => `  ${visible(words)}`),
        "At worst, in any 24 hours:",
        ...worstText(worstCase(treasury)).map((line) => `  ${line}`),
      ].join("\n"),
    )
    if (print) {
      yield* Console.error("What is signed, to the byte:")
      return yield* Console.log(text.slice(0, -1))
    }
    const given = Option.isSome(signature)
      ? signature.value
      : yield* signApproval(
          Option.getOrElse(key, () => ""),
          text,
        )
    const taken = yield* control(dataDir, "POST", "/api/v1/terms/approve", { files, signature: given })
    if (taken === undefined) return yield* failWith("notFound", `no daemon runs in ${dataDir}`)
    const done = yield* Schema.decodeUnknownEffect(Given)(yield* bodyOf(taken))
    return yield* printResult(output, done, () => {
      const next =
        done.missing > 0
          ? `${done.missing} more of ${done.others.join(", ")}`
          : '"reload" takes it now, and a start that it halted goes on'
      return `terms ${terms.slice(0, 8)} approved by ${done.operator}; ${next}`
    })
  }),
).pipe(Command.withDescription("Approve terms that permit more than those in force, before they are reloaded"))
