import { Effect, Schema } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Database } from "../store/Database.ts"
import { Journal } from "../store/Journal.ts"
import { Signals } from "../store/Signals.ts"
import { TermsLog } from "../store/TermsLog.ts"
import { Words } from "./people.ts"
import { problem } from "./stories.ts"

export const ObjectBody = Schema.Struct({
  hash: Schema.String.check(Schema.isPattern(/^[0-9a-f]{8,64}$/, { expected: "8 to 64 hex characters" })),
  reason: Words,
  author: Words,
})

/** Objects to terms that wait: from then on operators alone put them in force. Anybody may, since it only stops. */
export const objectTo = Effect.fn("Terms.objectTo")(function* ({ hash, reason, author }: typeof ObjectBody.Type) {
  const log = yield* TermsLog
  const wait = yield* log.waiting
  if (wait === undefined) return problem("no terms wait", 404, '"cofferer status" shows what waits')
  if (!wait.hash.startsWith(hash)) {
    return problem(`the terms that wait are ${wait.hash.slice(0, 8)}, not ${hash}`, 404, "name these")
  }
  if (wait.objection !== undefined) return { objected: wait.hash, isNew: false }
  const { name } = (yield* ConfigInForce).now().treasury
  const detail = `${author} objected to the terms ${wait.hash.slice(0, 8)}`
  const write = Effect.gen(function* () {
    yield* log.object(wait.id, author, reason)
    const body = { detail, terms: wait.hash, reason, author }
    yield* (yield* Journal).append({ kind: "config", subject: name, body })
    yield* (yield* AlertQueue).raise({
      dedup: `terms/${wait.hash.slice(0, 8)}/objection/${wait.id}`,
      severity: "page",
      kind: "config",
      subject: name,
      detail: `${detail}: ${reason}; the old terms stay in force until operators agree to the new ones`,
      fields: {},
    })
  })
  yield* (yield* Database).atomically(write)
  yield* (yield* Signals).wake("alerts")
  return { objected: wait.hash, isNew: true }
})
