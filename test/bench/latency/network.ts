import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Logger, Schedule } from "effect"
import { parseYaml } from "../../../src/config/yaml/Yaml.ts"
import { writeKeys } from "../../../src/sandbox/Keys.ts"
import { Sandbox } from "../../../src/sandbox/Sandbox.ts"
import { decodeScenario } from "../../../src/sandbox/Scenario.ts"
import { treasuryText } from "./treasury.ts"

/**
 * A network with the timing of a real one, in a process of its own: `network.ts DIR FALLS SEED [SPEED]`. It makes a
 * block each second; its core answers from the newest one at once, its data node from 0.2 to 1.0 s after it. Writes the
 * treasury that pays on it into DIR, and prints a line of JSON for each fall once it is visible. With SPEED all of it,
 * the pace of the treasury too, is that many times as fast.
 */
const [dir = "", falls = "", seed = "", speed = "1"] = process.argv.slice(2)
const blockMillis = 1_000 / Number(speed)
/** Beside the core, all that a real network answers from the tables of its data node. */
const dataNode = ["balanceChanges", "accounts", "transfers", "transfer", "ledgerEntries", "assets", "parameters"]

let state = Number(seed) + 1
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

/** Each fall begins in calm: the payment of the one before is confirmed, and the pace is that of idle times. */
const fallBlocks = Array.from({ length: Number(falls) }, (_, n) => {
  // The first payment also finds out the wire form of the gateway.
  const begin = n === 0 ? 12 : 20 + n * 10
  return begin + Math.floor(random() * 3)
})

const program = Effect.gen(function* () {
  const sandbox = yield* Sandbox
  const arm = (operation: string, durationMillis: number) =>
    sandbox.answer({
      method: "POST",
      url: "/sandbox/faults",
      address: "",
      body: Effect.succeed(JSON.stringify({ operation, kind: "lagging_replica", blocks: 1, durationMillis })),
    })
  writeFileSync(join(dir, "treasury.yaml"), treasuryText(sandbox.url, seed, [], Number(speed)))
  writeKeys(join(dir, "data", "sandbox"), seed, ["reserve"])
  console.log(JSON.stringify({ url: sandbox.url }))
  const block = Effect.gen(function* () {
    const lagMillis = Math.round((blockMillis / 1_000) * (200 + random() * 790))
    yield* sandbox.stepBlock
    const visible = Date.now() + lagMillis
    for (const operation of dataNode) yield* arm(operation, lagMillis)
    const { height } = yield* sandbox.ledger.head
    if (fallBlocks.includes(height)) console.log(JSON.stringify({ visible }))
  })
  return yield* Effect.repeat(block, Schedule.fixed(blockMillis))
})

const document = parseYaml("treasury.yaml", treasuryText("http://127.0.0.1:1", seed, fallBlocks))
await Effect.runPromise(
  Effect.gen(function* () {
    const scenario = yield* decodeScenario(yield* document, "latency-1")
    yield* Effect.provide(program, Sandbox.layer({ scenario, dir: undefined, portBusy: "free", clock: "manual" }))
  }).pipe(Effect.provide(Logger.layer([]))),
)
