import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { worstCase } from "../rules/worstCase.ts"
import { signApproval } from "../signer/signApproval.ts"
import { policyText } from "../tx/Approval.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { outputFlag, printResult } from "./output.ts"
import { configFlag, dataFlag, setup } from "./setup.ts"
import { keyFlag, oneOf, printFlag, signatureFlag } from "./signingFlags.ts"
import { worstText } from "./worstCase.ts"

const Given = Schema.Struct({
  operator: Schema.String,
  missing: Schema.Int,
  others: Schema.Array(Schema.String),
})

const InForce = Schema.Struct({ digest: Schema.String })

/** An operator's word for the policy of a treasury file that is to come into force. */
export const approvePolicy = Command.make(
  "policy",
  {
    hash: Argument.String("hash").pipe(
      Argument.withSchema(
        Schema.String.check(Schema.isPattern(/^[0-9a-f]{8,64}$/, { expected: "8 to 64 hex characters" })),
      ),
      Argument.withDescription("Hash of the policy in the treasury file, as check prints it"),
    ),
    key: keyFlag,
    signature: signatureFlag,
    print: printFlag,
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* ({ hash, key, signature, print, output, ...chosen }) {
    yield* oneOf({ key, signature, print })
    const { treasury, dataDir } = yield* setup(chosen)
    const { digest } = treasury.policy
    if (!digest.startsWith(hash)) {
      return yield* failWith(
        "refused",
        `the policy of ${treasury.file} is ${digest.slice(0, hash.length)}, not ${hash}`,
      )
    }
    const asked = yield* control(dataDir, "GET", "/api/v1/policy/approve")
    if (asked === undefined) return yield* failWith("notFound", `no daemon runs in ${dataDir}`)
    const inForce = yield* Schema.decodeUnknownEffect(InForce)(yield* bodyOf(asked))
    if (inForce.digest === digest) {
      return yield* failWith(
        "refused",
        `policy ${treasury.policy.hash} is in force already; nothing is left to approve`,
      )
    }
    const text = policyText(treasury.name, inForce.digest, digest)
    yield* Console.error(
      ["At worst, in any 24 hours:", ...worstText(worstCase(treasury)).map((line) => `  ${line}`)].join("\n"),
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
    const answer = yield* control(dataDir, "POST", "/api/v1/policy/approve", { digest, signature: given })
    if (answer === undefined) return yield* failWith("notFound", `no daemon runs in ${dataDir}`)
    const done = yield* Schema.decodeUnknownEffect(Given)(yield* bodyOf(answer))
    return yield* printResult(output, done, () => {
      const next = done.missing > 0 ? `${done.missing} more of ${done.others.join(", ")}` : '"reload" takes it now'
      return `policy ${treasury.policy.hash} approved by ${done.operator}; ${next}`
    })
  }),
).pipe(Command.withDescription("Approve a policy that permits more than the one in force, before it is reloaded"))
