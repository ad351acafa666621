import { spawnSync } from "node:child_process"
import { assert, it } from "vitest"

it("lets the process end when the layer's scope is closed", () => {
  const program = `
    import { Effect, Layer } from "effect"
    import { ProofOfWork } from "./src/pow/ProofOfWork.ts"
    import { Metrics } from "./src/telemetry/Metrics.ts"
    const metrics = Metrics.layer({
      treasury: "t", mode: "observe", gateways: [], rules: [], receivers: [], version: "0", revision: "0",
    })
    const work = { difficulty: 4, blockHash: "${"0".repeat(64)}", tid: "${"d".repeat(64)}" }
    const solve = ProofOfWork.use((pow) => pow.solve(work))
    const solution = await Effect.runPromise(Effect.provide(solve, ProofOfWork.layer.pipe(Layer.provide(metrics))))
    console.log(typeof solution.nonce)`
  const ended = spawnSync(process.execPath, ["--input-type=module-typescript", "--eval", program], {
    encoding: "utf8",
    timeout: 120_000,
  })
  assert.deepStrictEqual([ended.status, ended.stdout], [0, "bigint\n"], ended.stderr)
})
