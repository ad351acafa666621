import { Effect, Result } from "effect"
import { referenceText } from "../../src/domain/Reference.ts"
import type { Signer, SignRequest } from "../../src/signer/Signer.ts"
import type { JournalHead } from "../../src/store/journal/Journal.ts"
import { decodeInputData, encodeInputData } from "../../src/tx/InputData.ts"

/**
 * A signer that is asked for the permit first, as the submitter does, and then for the signature over bytes that name
 * it. What has been signed, and what is not a command, is asked for as it comes.
 */
export const permitted = (signer: Signer["Service"]): Signer["Service"] => {
  const named = new Map<string, Uint8Array>()
  const referenceFor = ({ party, intentId }: SignRequest, { seq, hash }: JournalHead) =>
    referenceText({ installation: "0a1b2c3d", seq, hash, tag: signer.tag(party, intentId) ?? "" })
  const sign = Effect.fnUntraced(function* (asked: SignRequest) {
    const { intentId, k, inputData } = asked
    const key = `${intentId}/${k}/${Buffer.from(inputData).toString("hex")}`
    const data = Result.getOrUndefined(decodeInputData(inputData))
    const earlier = named.get(key)
    if (earlier !== undefined || data === undefined) {
      return yield* signer.sign({ ...asked, inputData: earlier ?? inputData })
    }
    const { command } = data
    const made = yield* signer
      .permit({ ...asked, command })
      .pipe(
        Effect.map((permit) =>
          command._tag === "Transfer"
            ? encodeInputData({ ...data, command: { ...command, reference: referenceFor(asked, permit) } })
            : inputData,
        ),
      )
    const signature = yield* signer.sign({ ...asked, inputData: made })
    named.set(key, made)
    return signature
  })
  return { ...signer, sign }
}
