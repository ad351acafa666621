import { Effect } from "effect"
import { live } from "../../gateway/GatewayServer.ts"
import { corpus } from "../../gateway/hostile/corpus.ts"
import { judge } from "../../gateway/hostile/judge.ts"

const [url = "", rounds = "1"] = process.argv.slice(2)
const mebibyte = 2 ** 20

const cases = Object.entries(corpus).flatMap(([family, all]) =>
  all.map((bad, number) => ({ bad, url: `${url}/${family}/${number}`, millis: [] as Array<number> })),
)

/** Milliseconds that this thread has worked: what others do on the machine meanwhile does not count. */
const worked = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** The longest turn of the event loop since it was last asked. */
let longest = 0
let last = worked()
const tick = () => {
  const now = worked()
  longest = Math.max(longest, now - last)
  last = now
  ticking = setImmediate(tick)
}
let ticking = setImmediate(tick)

const turn = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

const rss = () => {
  globalThis.gc?.()
  return process.memoryUsage.rss() / mebibyte
}

/** The first round warms the program up, and counts for nothing but what is wrong. */
const program = Effect.gen(function* () {
  const problems: Array<string> = []
  const grown: Array<number> = []
  let before = 0
  for (let round = 0; round <= Number(rounds); round++) {
    for (const one of cases) {
      yield* turn
      longest = 0
      const problem = yield* judge(one.bad, one.url)
      yield* turn
      if (round > 0) one.millis.push(longest)
      if (problem !== undefined) problems.push(problem)
    }
    const after = rss()
    if (round > 0) grown.push(after - before)
    before = after
  }
  return { problems, grown }
})

const middle = (samples: ReadonlyArray<number>): number =>
  samples.toSorted((a, b) => a - b)[Math.floor((samples.length - 1) / 2)] ?? Number.NaN

const { problems, grown } = await Effect.runPromise(Effect.provide(program, live))
clearImmediate(ticking)
const slowest = cases
  .map(({ bad, millis }) => ({ name: `${bad.ask}: ${bad.name}`, millis: middle(millis) }))
  .sort((a, b) => b.millis - a.millis)
console.log(JSON.stringify({ count: cases.length, problems, grown, slowest: slowest.slice(0, 20) }))
process.exit(0)
