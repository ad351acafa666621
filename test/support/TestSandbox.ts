import { Effect } from "effect"
import type { ConfigError } from "../../src/config/yaml/ConfigError.ts"
import { parseYaml } from "../../src/config/yaml/Yaml.ts"
import { Sandbox, type SandboxOptions } from "../../src/sandbox/Sandbox.ts"
import { decodeScenario, type Scenario } from "../../src/sandbox/Scenario.ts"
import { serveSandbox } from "./InProcess.ts"
import { type Body, effectOf } from "./it.ts"
import type { TestClient } from "./TestClient.ts"
import { type Fields, yamlText } from "./treasury.ts"

export const usdt = "bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba"
export const vega = "d1984e3d365faa05bcafbe41f50f90e3663ee7c0da22bb1e24b164e9532691b2"
/** The assets of the small network. */
export const tether = {
  id: usdt,
  name: "Tether USD",
  symbol: "USDT",
  decimals: 6,
  quantum: "1_000_000",
  builtin: { maxFaucetAmountMint: "1_000" },
  status: { enabled: 0 },
}
export const vegaAsset = {
  id: vega,
  name: "Vega",
  symbol: "VEGA",
  decimals: 18,
  quantum: "1",
  builtin: {},
  status: { enabled: 0 },
}
/** One USDT in base units. */
export const one = 1_000_000n

/** What a scenario has besides the small network's own. */
interface MoreOfScenario {
  readonly assets?: ReadonlyArray<Fields>
  readonly deposits?: ReadonlyArray<Fields>
}

/** Work of a network with a window of so many blocks, easy enough for a test. */
export const powOf = (pastBlocks: number) => ({ difficulty: 3, pastBlocks, txPerBlock: 2, increaseDifficulty: true })

/** A small network: difficulty 3, a window of 5 blocks, no limiter. Keys of `change` replace those of the network. */
export const scenarioText = (change: Fields = {}, { assets = [], deposits = [] }: MoreOfScenario = {}): string =>
  yamlText({
    sandbox: {
      seed: "test",
      listen: "127.0.0.1:0",
      profile: "0.75",
      rateLimit: "off",
      pow: powOf(5),
      parties: ["alice", "bob", "eve"],
      assets: [tether, vegaAsset, ...assets],
      deposits: [
        { party: "alice", asset: "USDT", amount: "1_000" },
        { party: "bob", asset: "USDT", amount: "50" },
        ...deposits,
      ],
      ...change,
    },
  })

export const chainId = "sandbox-1"

export const scenarioOf = (text: string): Effect.Effect<Scenario, ConfigError> =>
  Effect.flatMap(parseYaml("test.yaml", text), (document) => decodeScenario(document, chainId))

const kept = new Map<string, Scenario>()
/** The same, decoded once for all networks of a text. */
const scenarioKept = (text: string) =>
  Effect.suspend(() => {
    const scenario = kept.get(text)
    return scenario === undefined
      ? Effect.tap(scenarioOf(text), (one) => Effect.sync(() => kept.set(text, one)))
      : Effect.succeed(scenario)
  })

const clientOf = (sandbox: Sandbox["Service"], seed = "test"): TestClient => ({
  url: sandbox.url,
  chainId,
  seed,
})

/** Runs one test against a network of its own, with blocks by hand unless told otherwise. */
export const withSandbox = <A>(
  {
    isHere = false,
    change = (scenario) => scenario,
    ...options
  }: {
    readonly text?: string
    readonly isHere?: boolean
    readonly change?: (scenario: Scenario) => Scenario
  } & Partial<Omit<SandboxOptions, "scenario">>,
  use: Body<[TestClient, Sandbox["Service"]], never, A>,
): Effect.Effect<A, unknown> =>
  Effect.gen(function* () {
    const text = options.text ?? scenarioText()
    const scenario = change(yield* scenarioKept(text))
    const layer = Sandbox.layer({ dir: undefined, portBusy: "error", clock: "manual", ...options, scenario })
    return yield* Effect.gen(function* () {
      const sandbox = yield* Sandbox
      yield* serveSandbox(sandbox)
      return yield* effectOf(use({ ...clientOf(sandbox, scenario.seed), isHere }, sandbox))
    }).pipe(Effect.scoped, Effect.provide(layer, { local: true }))
    // As in a daemon without a collector.
  }).pipe(Effect.withTracerEnabled(false))
