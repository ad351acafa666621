import { Effect } from "effect"
import type { ConfigError } from "../../src/config/ConfigError.ts"
import { parseYaml } from "../../src/config/Yaml.ts"
import { Sandbox, type SandboxOptions } from "../../src/sandbox/Sandbox.ts"
import type { SandboxError } from "../../src/sandbox/SandboxError.ts"
import { decodeScenario, type Scenario } from "../../src/sandbox/Scenario.ts"
import type { TestClient } from "./TestClient.ts"

export const usdt = "bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba"
export const vega = "d1984e3d365faa05bcafbe41f50f90e3663ee7c0da22bb1e24b164e9532691b2"
/** One USDT in base units. */
export const one = 1_000_000n

/** A small network: difficulty 3, a window of 5 blocks, no limiter. Lines given behind replace none, they add. */
export const scenarioText = (more = "", change: Readonly<Record<string, string>> = {}): string => {
  const lines: Record<string, string> = {
    seed: "test",
    listen: '"127.0.0.1:0"',
    profile: '"0.75"',
    rateLimit: "off",
    pow: "{ difficulty: 3, pastBlocks: 5, txPerBlock: 2, increaseDifficulty: true }",
    parties: "[alice, bob, eve]",
    ...change,
  }
  const assets = `  assets:
    - { id: ${usdt}, name: Tether USD, symbol: USDT, decimals: 6, quantum: "1_000_000", builtin: { maxFaucetAmountMint: "1_000" }, status: { enabled: 0 } }
    - { id: ${vega}, name: Vega, symbol: VEGA, decimals: 18, quantum: "1", builtin: {}, status: { enabled: 0 } }
  deposits:
    - { party: alice, asset: USDT, amount: "1_000" }
    - { party: bob, asset: USDT, amount: "50" }
`
  const own = Object.entries(lines).map(([key, value]) => `  ${key}: ${value}\n`)
  return `sandbox:\n${own.join("")}${assets}${more}`
}

export const chainId = "sandbox-1"

export const scenarioOf = (text: string): Effect.Effect<Scenario, ConfigError> =>
  Effect.flatMap(parseYaml("test.yaml", text), (document) => decodeScenario(document, chainId))

export const clientOf = (sandbox: Sandbox["Service"], seed = "test"): TestClient => ({
  url: sandbox.url,
  chainId,
  seed,
})

/** Runs one test against a network of its own, with blocks by hand unless told otherwise. */
export const withSandbox = <A, E>(
  options: { readonly text?: string } & Partial<Omit<SandboxOptions, "scenario">>,
  use: (client: TestClient, sandbox: Sandbox["Service"]) => Effect.Effect<A, E>,
): Effect.Effect<A, E | ConfigError | SandboxError> =>
  Effect.gen(function* () {
    const text = options.text ?? scenarioText()
    const scenario = yield* scenarioOf(text)
    const layer = Sandbox.layer({ dir: undefined, portBusy: "error", clock: "manual", ...options, scenario })
    return yield* Effect.flatMap(Sandbox, (sandbox) => use(clientOf(sandbox, scenario.seed), sandbox)).pipe(
      Effect.provide(layer, { local: true }),
    )
  })
