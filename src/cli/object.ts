import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { storeLayer } from "../services.ts"
import { ObjectBody, objectTo } from "../status/objectTo.ts"
import { failWith } from "./CliFailure.ts"
import { bodyOf, codeOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import { outputFlag, printResult } from "./output.ts"
import { reasonFlag } from "./pause.ts"
import { configFlag, dataFlag, storedSetup } from "./setup.ts"
import { userName } from "./userName.ts"

/** Keeps terms that wait from coming into force by the passing of time: at the daemon, or in its store. */
export const object = Command.make(
  "object",
  {
    hash: Argument.String("hash").pipe(
      Argument.withSchema(ObjectBody.fields.hash),
      Argument.withDescription("Hash of the terms that wait, as status and the alerts name it"),
    ),
    reason: reasonFlag,
    config: configFlag,
    data: dataFlag,
    output: outputFlag,
  },
  Effect.fn(function* ({ hash, reason, output, ...chosen }) {
    const dataDir = yield* dataDirOf(chosen)
    const body = { hash, reason, author: userName() }
    const answer = yield* control(dataDir, "POST", "/api/v1/object", body)
    const done = answer === undefined ? yield* stored(chosen, dataDir, body) : yield* bodyOf(answer)
    const text = `objected to the terms ${hash}: the old ones hold until operators agree to the new ones`
    return yield* printResult(output, done, () => text)
  }),
).pipe(Command.withDescription("Object to weaker terms that wait: operators alone put them in force then"))

const stored = Effect.fnUntraced(function* (
  chosen: Parameters<typeof storedSetup>[0],
  dataDir: string,
  body: typeof ObjectBody.Type,
) {
  const found = yield* storedSetup(chosen, dataDir)
  const done = yield* objectTo(body).pipe(
    Effect.provide(storeLayer(found)),
    Effect.mapError((error) => failWith("failure", error.message)),
  )
  return "problem" in done ? yield* failWith(codeOf(done.status), `${done.problem}; ${done.remedy}`) : done
})
