import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { toJson } from "../../src/cli/common/output.ts"
import { type Story, storyText } from "../../src/cli/common/storyText.ts"
import { storyOf } from "../../src/http/stories.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { endIntent } from "../../src/submitter/endIntent.ts"
import { flow, round } from "../support/Flow.ts"
import { it } from "../support/it.ts"

/** The newest payment's story, as the command line gets it. */
const told = Effect.gen(function* () {
  const [intent] = yield* (yield* Outbox).recent(1)
  return JSON.parse(toJson(yield* storyOf(intent!.id))) as Story
})

describe("the story of a payment", () => {
  it.effect("tells every step of it in a line of its own", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 8; i++) yield* round(options, sandbox)
      const story = yield* told
      const lines = storyText(story).split("\n")
      assert.match(lines[0] ?? "", /^\w{4} {2}confirmed {2}150\.00 USDT {2}alice -> bob {3}\(keep-bob\)$/)
      assert.match(lines[2] ?? "", /fee 0\.15 of at most 0\.30$/)
      assert.match(
        lines[4] ?? "",
        /^ {2}1 {2}confirmed {2}2 sends {2}window ends at block \d+ {2}transfer [0-9a-f]{64} {2}tx/,
      )
      const steps = [
        /proposed +50\.00 is below 100/,
        /decision +keep-bob: .*; policy [0-9a-f]{8} line 1 permits 200 each, 400 and 4 transfers in 24 h/,
        /reserved +permitted; money and limits are reserved/,
        /names +in the configuration in force: \S+ \(\d+ decimals\) \S+ -> \S+/,
        /permitted +attempt 1 by policy [0-9a-f]{8} line 1$/m,
        /signature +attempt 1 by policy [0-9a-f]{8} line 1; digest [0-9a-f]{12}\.\./,
        /signed +attempt 1 on block \d+, valid to block \d+; transfer [0-9a-f]{12}\.\./,
        /in_flight +signed on block \d+/,
        /work +attempt 1: nonce \d+, tid/,
        /sending +attempt 1: send 1 to sandbox in the prefixed wire form, tx/,
        /answer +attempt 1, send 1: in the wrong wire form, code 60: /,
        /evidence +attempt 1: refused: /,
        /refused +attempt 1: in the wrong wire form/,
        /sending +attempt 1: send 2 to sandbox in the bare wire form, tx/,
        /answer +attempt 1, send 2: accepted, code 0/,
        /evidence +attempt 1: accepted/,
        /accepted +attempt 1: accepted/,
        /evidence +attempt 1: executed: transfer by id: done/,
        /confirmed +attempt 1: 150\.00 USDT alice -> bob/,
        /confirmed +150\.00 USDT alice -> bob, fee 0\.15, confirmed on the ledger$/m,
      ]
      const journal = lines.slice(6)
      assert.strictEqual(journal.length, story.journal.length)
      for (const step of steps)
        assert.isTrue(
          journal.some((line) => step.test(line)),
          `${step} in\n${journal.join("\n")}`,
        )
    }),
  )

  it.effect("names the person who ended it, and why", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit"]))
      const [intent] = yield* (yield* Outbox).recent(1)
      yield* endIntent(
        { intentId: intent!.id, verb: { verb: "reject" }, author: "ana", reason: "too early" },
        () => Effect.void,
      )
      const text = storyText(yield* told)
      assert.match(text, /awaiting_approval +asked ana/)
      assert.match(text, /rejected +rejected by ana: too early \(reject by ana\)/)
      assert.include(text, "none signed")
      assert.match(text, /, no fee$/m)
    }),
  )

  it.effect("tells refusals, unknown kinds and what cannot be read", () =>
    flow(function* (options, sandbox) {
      for (let i = 0; i < 3; i++) yield* round(options, sandbox, new Set(["submit"]))
      const story = yield* told
      const place = { seq: 1, at: 0, treasury: "", subject: "", prev: "", hash: "" }
      const entry = (kind: string, body: string) => ({ ...place, kind, body })
      const journal = [
        entry("refusal", '{"k":1,"refusal":"floor","detail":"too little"}'),
        entry("duplicate", '{"n":2,"detail":"executed 2 times"}'),
        entry("omen", '{"raven":1}'),
        entry("decision", '{"rule":"r","sentence":"s","policy":"p"}'),
        entry("send", "{"),
      ]
      const text = storyText({ ...story, journal })
      assert.match(text, /refusal +the signer refused attempt 1 \(floor\): too little/)
      assert.match(text, /duplicate +executed 2 times/)
      assert.match(text, /omen +\{"raven":1\}/)
      assert.include(text, "policy p has no line that permits it")
      assert.include(storyText({ ...story, journal: [] }), "nothing")
    }),
  )
})
