import { readdirSync, readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { decideOnce } from "../../src/engine/Engine.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { confirmOnce } from "../../src/submitter/Confirm.ts"
import { submitOnce } from "../../src/submitter/Submitter.ts"
import { signAttempt } from "../../src/submitter/signAttempt.ts"
import { flow, round, states } from "../support/Flow.ts"

const src = new URL("../../src/", import.meta.url)
/** Folder of src in which a span begins, by its name. */
const folders = new Map(
  readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("sandbox"))
    .flatMap((file) =>
      Array.from(
        readFileSync(new URL(file, src), "utf8").matchAll(/(?:Effect\.fn\(|withSpan\(|sql\.change\()"([^"]+)"/g),
        ([, name]) => [name ?? "", file.split("/")[0]] as const,
      ),
    ),
)

/** How often the spans of a step, in the order of their beginnings, go from one folder to another. */
const roomChanges = Effect.fnUntraced(function* <A, E, R>(step: Effect.Effect<A, E, R>) {
  const rooms: Array<string> = []
  const tracer = Tracer.make({
    span: (made) => {
      const room = folders.get(made.name)
      if (room !== undefined) rooms.push(room)
      return new Tracer.NativeSpan(made)
    },
  })
  // A flow makes no spans otherwise.
  yield* step.pipe(Effect.withTracerEnabled(true), Effect.provideService(Tracer.Tracer, tracer))
  return rooms.filter((room, i) => i > 0 && room !== rooms[i - 1]).length
})

it.effect(
  "one payment changes folders at most 12 times from its decision to its signature, and 8 while it is confirmed",
  () =>
    flow(
      function* (options, sandbox) {
        const { open } = yield* Outbox
        const read = round(options, sandbox, new Set(["decide", "submit", "confirm"]))
        let signing = 0
        while ((yield* open).length === 0) {
          yield* read
          signing = yield* roomChanges(decideOnce())
        }
        const [intent = assert.fail()] = yield* open
        signing += yield* roomChanges(signAttempt(intent))
        yield* submitOnce()
        yield* read
        const confirming = yield* roomChanges(confirmOnce())
        assert.deepStrictEqual(yield* states, ["confirmed"])
        assert.isAtLeast(Math.min(signing, confirming), 1, "spans are seen")
        assert.isAtMost(signing, 12)
        assert.isAtMost(confirming, 8)
      },
      { network: { framing: "bare" } },
    ),
)
