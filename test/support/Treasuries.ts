import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Deferred, Effect, Fiber, Layer, Logger } from "effect"
import { documentOf, parsePlaced } from "../../src/config/yaml/Yaml.ts"
import { publicKeyOf, writeKeys } from "../../src/sandbox/Keys.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { decodeScenario, type Scenario } from "../../src/sandbox/Scenario.ts"

const seed = "many"
const manyChainId = "many-1"
/** Parties of each treasury times assets: ten accounts; a rule for each asset. */
const assets = ["A", "B", "C", "D", "E"].map((symbol, n) => ({ symbol, id: `${n + 1}`.repeat(64) }))

/** Name of one of many treasuries, by its number from 0. */
export const treasuryName = (n: number): string => `t${String(n).padStart(4, "0")}`
const names = (count: number) => Array.from({ length: count }, (_, n) => treasuryName(n))

/** A fall of the watched account of one treasury, in a block. */
export interface Fall {
  readonly treasury: number
  readonly block: number
}

/** One treasury of many, with keys beside its file. */
export const treasuryFile = (name: string, url: string, { more = "", poll = "" } = {}): string => `version: 1
name: ${name}
mode: live
network: { chainId: ${manyChainId}, gateways: { node: "${url}" }${poll === "" ? "" : `, poll: { busy: ${poll}, idle: ${poll} }`} }
${more}
assets: { ${assets.map(({ symbol, id }) => `${symbol}: { id: ${id}, decimals: 6 }`).join(", ")} }
parties:
  reserve: { publicKey: "${publicKeyOf(seed, `${name}-reserve`)}", signer: { file: keys/${name}-reserve } }
  hot: { publicKey: "${publicKeyOf(seed, `${name}-hot`)}" }
rules:
${assets
  .map(
    ({ symbol }) =>
      `  - { name: keep-${symbol.toLowerCase()}, topUp: { from: reserve, levels: [{ party: hot, asset: ${symbol}, below: "10_000", target: "25_000" }] } }`,
  )
  .join("\n")}
policy:
  maxFee: 0.2%
  allow:
${assets.map(({ symbol }) => `    - { from: reserve, to: [hot], asset: ${symbol}, perTransfer: "25_000", per24h: "1_000_000", transfersPer24h: 100 }`).join("\n")}
`

/** Writes a folder of treasuries that pay on the network at `url`. */
export const writeTreasuries = (
  dir: string,
  count: number,
  url: string,
  { requestsPerSecond = 1_000, poll = "", shared = "" } = {},
): void => {
  mkdirSync(dir, { recursive: true })
  writeFileSync(
    join(dir, "daemon.yaml"),
    `version: 1\nlisten: "127.0.0.1:0"\ndataDir: .data\nrequestsPerSecond: ${requestsPerSecond}\n${shared}`,
  )
  const all = names(count)
  for (const name of all) writeFileSync(join(dir, `${name}.yaml`), treasuryFile(name, url, { poll }))
  writeKeys(
    dir,
    seed,
    all.map((name) => `${name}-reserve`),
  )
}

const networkText = (count: number, falls: ReadonlyArray<Fall>, blockInterval = "1s"): string => {
  const all = names(count)
  const flow = (value: unknown) => JSON.stringify(value)
  const parties = ["spender", ...all.flatMap((name) => [`${name}-hot`, `${name}-reserve`])]
  const deposits = all.flatMap((name) =>
    assets.flatMap(({ symbol }) => [
      { party: `${name}-hot`, asset: symbol, amount: "25_000" },
      { party: `${name}-reserve`, asset: symbol, amount: "100_000_000" },
    ]),
  )
  const spenders = falls.map(({ treasury, block }) => ({
    from: `${treasuryName(treasury)}-hot`,
    to: "spender",
    asset: "A",
    at: [{ block: String(block), amount: "16_000" }],
  }))
  return `sandbox:
  seed: "${seed}"
  listen: "127.0.0.1:0"
  rateLimit: "off"
  blockInterval: ${blockInterval}
  transfersPerEpoch: "1000"
  pow: { difficulty: 10, pastBlocks: 100, txPerBlock: 2, increaseDifficulty: true }
  parties: ${flow(parties)}
  assets:
${assets.map(({ symbol, id }) => `    - { id: "${id}", name: ${symbol}, symbol: ${symbol}, decimals: 6, quantum: "1_000_000", builtin: {}, status: { enabled: 0 } }`).join("\n")}
  deposits: ${flow(deposits)}
  spenders: ${flow(spenders)}
`
}

/** The network of so many treasuries, whose hot accounts fall in the given blocks. */
export const layerOfMany = (
  count: number,
  falls: ReadonlyArray<Fall>,
  {
    blockInterval = "1s",
    clock,
    onScenario = () => {},
  }: {
    readonly blockInterval?: string
    readonly clock: "real" | "manual"
    readonly onScenario?: (scenario: Scenario) => void
  },
) => {
  // As large as no person writes it: past the bound of files.
  const { tree, problems } = parsePlaced("network.yaml", networkText(count, falls, blockInterval))
  const document = documentOf({ file: "network.yaml", text: "", tree, problems })
  return Layer.unwrap(
    Effect.map(decodeScenario(document, manyChainId), (scenario) => {
      onScenario(scenario)
      return Sandbox.layer({ scenario, dir: undefined, portBusy: "free", clock })
    }),
  )
}

/** Runs such a network, with blocks by the clock, until it is stopped. */
export const networkOf = async (count: number, falls: ReadonlyArray<Fall>, blockInterval: string) => {
  const started = Deferred.makeUnsafe<Sandbox["Service"]>()
  let spenders: Scenario["spenders"] = []
  const onScenario = (scenario: Scenario) => {
    spenders = scenario.spenders
  }
  const layer = layerOfMany(count, falls, { blockInterval, clock: "real", onScenario })
  const program = Effect.gen(function* () {
    const sandbox = yield* Sandbox
    yield* Deferred.succeed(started, sandbox)
    return yield* sandbox.join
  }).pipe(Effect.provide(Layer.provideMerge(layer, Logger.layer([]))))
  const fiber = Effect.runFork(Effect.tapCause(program, (cause) => Deferred.failCause(started, cause as never)))
  const { url, ledger } = await Effect.runPromise(Deferred.await(started))
  return {
    url,
    executed: () => Effect.runPromise(ledger.executed),
    /** From now on no account falls. */
    calm: () => {
      for (const { at } of spenders) (at as Map<number, bigint>).clear()
    },
    stop: () => Effect.runPromise(Fiber.interrupt(fiber)),
  }
}
