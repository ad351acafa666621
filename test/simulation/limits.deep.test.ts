import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { makeBench } from "./bench.ts"
import { judgeLimits, restless } from "./judgeLimits.ts"
import { runWithLimits } from "./limits.ts"

describe("the daemon before a gateway that bans who asks too much", () => {
  let bench: Awaited<ReturnType<typeof makeBench>>
  beforeAll(async () => {
    bench = await makeBench()
  })
  afterAll(() => bench.close())

  it("is never refused, first without rest, beside a neighbour who is counted with it", () => {
    const options = restless(3, 7)
    assert.deepStrictEqual(judgeLimits(options.lives, runWithLimits(bench, options)), [])
  })

  it("is not banned, unlike one that polls four listings without pause", () => {
    const options = { lives: [{ minutes: 2, pollMillis: 20 }], neighbourPerSecond: 0, naiveLanes: 4 }
    const { daemon, naive } = runWithLimits(bench, options)
    assert.isAbove(naive.tooMany, 0)
    assert.isAbove(naive.banned, 0)
    assert.deepStrictEqual(naive.perMinute.slice(1), [], "nothing is read during a ban")
    assert.deepInclude(daemon, { tooMany: 0, banned: 0 })
    assert.isAtLeast(Math.min(...daemon.perMinute.slice(0, 2)), 500)
  })
})
