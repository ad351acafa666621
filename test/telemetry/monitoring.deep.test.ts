import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { Effect } from "effect"
import { assert, beforeEach, describe, it } from "vitest"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { root } from "../support/Cofferer.ts"

const run = (program: string, args: ReadonlyArray<string>, input = "") => {
  const { error, status, stdout, stderr } = spawnSync(program, args, {
    input,
    cwd: join(root, "config/monitoring"),
    encoding: "utf8",
    timeout: 120_000,
  })
  return { isThere: error === undefined, status, output: stdout + stderr }
}

describe("the files for Prometheus", () => {
  const { isThere } = run("promtool", ["--version"])
  beforeEach(({ skip }) => skip(!isThere, "needs promtool"))

  it.each([
    ["configuration", ["check", "config", "prometheus.yaml"]],
    ["rules", ["check", "rules", "alerts.yaml"]],
    ["tests of the rules", ["test", "rules", "alerts.test.yaml"]],
  ])("are taken by promtool: %s", (_, args) => {
    const { status, output } = run("promtool", args)
    assert.strictEqual(status, 0, output)
    assert.include(output, "SUCCESS")
  })

  it("find nothing to say of the metrics", async () => {
    const names = { gateways: ["a"], rules: ["fund"], payers: ["reserve"], assets: ["USDT"], receivers: ["log"] }
    const metrics = Metrics.layer({ treasury: "harbor", mode: "live", version: "1", revision: "", ...names })
    const text = Effect.flatMap(Metrics, (service) => Effect.promise(service.text))
    const input = await Effect.runPromise(Effect.provide(text, metrics))
    assert.deepInclude(run("promtool", ["check", "metrics"], input), { status: 0, output: "" })
  })
})

describe("the file for Alertmanager", () => {
  const { isThere } = run("amtool", ["--version"])
  beforeEach(({ skip }) => skip(!isThere, "needs amtool"))

  it("is taken by amtool", () => {
    const { status, output } = run("amtool", ["check-config", "alertmanager.yaml"])
    assert.strictEqual(status, 0, output)
  })
})
