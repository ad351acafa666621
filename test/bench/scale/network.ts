import { Effect, Layer, Logger, Schedule } from "effect"
import { Sandbox } from "../../../src/sandbox/Sandbox.ts"
import { type Fall, layerOfMany, writeTreasuries } from "../../support/Treasuries.ts"

/**
 * A network of many treasuries in a process of its own: `network.ts DIR COUNT FALLS BLOCK REQUESTS`. It writes their
 * files into DIR and makes a block each second. From BLOCK on the hot account of one treasury after the other falls,
 * four in a block; each is a line of JSON once it is visible.
 */
const [dir = "", count = "", falls = "", first = "", requests = ""] = process.argv.slice(2)
const perBlock = 4

const planned = Array.from({ length: Number(falls) }, (_, n): Fall => {
  // Neighbours in time are far from each other in the list.
  return { treasury: (n * 37) % Number(count), block: Number(first) + Math.floor(n / perBlock) }
})

const program = Effect.gen(function* () {
  const sandbox = yield* Sandbox
  writeTreasuries(dir, Number(count), sandbox.url, { requestsPerSecond: Number(requests) })
  console.log(JSON.stringify({ url: sandbox.url }))
  const block = Effect.gen(function* () {
    yield* sandbox.stepBlock
    const { height } = yield* sandbox.ledger.head
    const visible = Date.now()
    for (const fall of planned) if (fall.block === height) console.log(JSON.stringify({ visible, ...fall }))
  })
  return yield* Effect.repeat(block, Schedule.fixed(1_000))
})

const layer = Layer.provideMerge(layerOfMany(Number(count), planned, { clock: "manual" }), Logger.layer([]))
await Effect.runPromise(Effect.provide(program, layer))
