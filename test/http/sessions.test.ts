import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeSessions, sessionMillis, wrongMax } from "../../src/http/access/access.ts"
import { it } from "../support/it.ts"

describe("sessions of browsers", () => {
  it.effect("are over after their time, whatever is read meanwhile", function* () {
    const sessions = makeSessions()
    const name = yield* sessions.begin("token")
    yield* TestClock.adjust(sessionMillis - 1)
    assert.isTrue(yield* sessions.has(["other", name], "token"))
    yield* TestClock.adjust(1)
    assert.isFalse(yield* sessions.has([name], "token"))
  })

  it.effect("are over when the token changes, when they are ended, and in another process", function* () {
    const sessions = makeSessions()
    const [first, second] = [yield* sessions.begin("token"), yield* sessions.begin("token")]
    assert.isFalse(yield* sessions.has([first], "new token"))
    sessions.end([first])
    assert.isFalse(yield* sessions.has([first], "token"))
    assert.isTrue(yield* sessions.has([second], "token"))
    assert.isFalse(yield* makeSessions().has([second], "token"))
  })

  it.effect("are bounded in number: the oldest makes room", function* () {
    const sessions = makeSessions()
    const first = yield* sessions.begin("token")
    const later = yield* Effect.replicateEffect(sessions.begin("token"), 100)
    assert.isFalse(yield* sessions.has([first], "token"))
    assert.isTrue(yield* sessions.has([later[0]!], "token"))
  })

  it.effect("block an address that sends wrong tokens, for a minute and alone", function* () {
    const sessions = makeSessions()
    for (let tries = 0; tries < wrongMax; tries++) {
      assert.isFalse(yield* sessions.isBlocked("192.0.2.1"))
      yield* sessions.noteWrong("192.0.2.1")
    }
    assert.isTrue(yield* sessions.isBlocked("192.0.2.1"))
    assert.isFalse(yield* sessions.isBlocked("192.0.2.2"))
    yield* TestClock.adjust(60_000)
    assert.isFalse(yield* sessions.isBlocked("192.0.2.1"))
  })
})
