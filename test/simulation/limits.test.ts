import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { makeBench } from "./bench.ts"
import { runWithLimits } from "./limits.ts"

describe("the daemon before a gateway that bans who asks too much", () => {
  let bench: Awaited<ReturnType<typeof makeBench>>
  beforeAll(async () => {
    bench = await makeBench()
  })
  afterAll(() => bench.close())

  it("is never refused in an hour, first without rest, beside a neighbour who is counted with it", () => {
    const lives = [
      { minutes: 11, pollMillis: 20 },
      { minutes: 49, pollMillis: 1_000 },
    ]
    const options = { lives, neighbourPerSecond: 12, naiveLanes: 0 }
    const { daemon, neighbour, behindSeconds, executed } = runWithLimits(bench, options)
    assert.deepInclude(daemon, { tooMany: 0, banned: 0 })
    assert.deepInclude(neighbour, { tooMany: 0, banned: 0 })
    const minutes = daemon.perMinute.slice(0, 60)
    assert.lengthOf(minutes, 60)
    assert.isAtLeast(Math.min(...minutes.slice(0, 11)), 300, "its polls go on")
    assert.isAtLeast(Math.min(...minutes), 120, "its polls go on")
    assert.isAtMost(Math.max(...minutes), 660, "half of what the gateway lets through, and a burst")
    assert.isBelow(behindSeconds, 3)
    assert.isAtLeast(executed, 10)
  }, 600_000)

  it("is not banned where one who polls four listings as fast as they come is", () => {
    const options = { lives: [{ minutes: 2, pollMillis: 20 }], neighbourPerSecond: 0, naiveLanes: 4 }
    const { daemon, naive } = runWithLimits(bench, options)
    assert.isAbove(naive.tooMany, 0)
    assert.isAbove(naive.banned, 0)
    assert.deepStrictEqual(naive.perMinute.slice(1), [], "nothing is read during a ban")
    assert.deepInclude(daemon, { tooMany: 0, banned: 0 })
    assert.isAtLeast(Math.min(...daemon.perMinute.slice(0, 2)), 500)
  }, 600_000)
})
