import { readFileSync } from "node:fs"
import { Effect, Logger } from "effect"
import { parseYaml } from "../../../src/config/yaml/Yaml.ts"
import { Sandbox } from "../../../src/sandbox/Sandbox.ts"
import { decodeScenario } from "../../../src/sandbox/Scenario.ts"

/** A play-money network in memory, in a process of its own: `network.ts FILE`. Prints its address. */
const [file = ""] = process.argv.slice(2)
const program = Effect.gen(function* () {
  const scenario = yield* decodeScenario(yield* parseYaml(file, readFileSync(file, "utf8")), "submit-1")
  return yield* Effect.gen(function* () {
    const sandbox = yield* Sandbox
    console.log(JSON.stringify({ url: sandbox.url }))
    return yield* sandbox.join
  }).pipe(Effect.provide(Sandbox.layer({ scenario, dir: undefined, portBusy: "free", clock: "real" })))
})
await Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(Logger.layer([]))))
