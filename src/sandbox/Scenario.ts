import { Effect } from "effect"
import { durationMillis, isLoopback, parseListen } from "../config/schema/Fields.ts"
import { ConfigError, inOrder, type Problem } from "../config/yaml/ConfigError.ts"
import { decodeParts } from "../config/yaml/decodeParts.ts"
import { parsePlaced, type YamlDocument } from "../config/yaml/Yaml.ts"
import { parseWritten } from "../domain/Amount.ts"
import type { Asset, AssetStatusName } from "../domain/Asset.ts"
import { type FaultSpec, faultCodes, faultStatuses, problemOfFault } from "./Faults.ts"
import { ScenarioText, signedMillis } from "./ScenarioText.ts"

export interface ScenarioAsset {
  readonly id: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly quantum: bigint
  readonly source: Exclude<Asset["source"], { readonly kind: "unknown" }>
  /** In order of height; the last one whose height is reached applies. */
  readonly statuses: ReadonlyArray<{ readonly height: number; readonly status: AssetStatusName }>
}

/** Takes money from one party for another without a transaction, as a trading loss would. */
export interface Spender {
  readonly from: string
  readonly to: string
  readonly assetId: string
  readonly at: ReadonlyMap<number, bigint>
  /** Takes `amount` again every `blocks` blocks after `since`, the last block of `at`. */
  readonly every: { readonly blocks: number; readonly since: number; readonly amount: bigint } | undefined
}

/** Proof of work that the network requires. */
export interface PowRules {
  readonly difficulty: number
  readonly pastBlocks: number
  readonly txPerBlock: number
  readonly increaseDifficulty: boolean
}

/** Definition of a network: all settings of the sandbox, in the program's own terms. */
export type Scenario = ReturnType<typeof build>

/** Lists of names that the other keys refer to. */
const naming = ["parties", "assets"].map((key) => ["sandbox", key])
/** Values for keys that are wrong, so that the others are checked too. */
const instead = { seed: parsePlaced("", "unknown").tree }

/** Reads the `sandbox:` key of a configuration. All problems are reported, each with its line and a remedy. */
export const decodeScenario = Effect.fnUntraced(function* (whole: YamlDocument, chainId: string) {
  if ((whole.value as { readonly sandbox?: unknown } | null)?.sandbox === undefined) {
    const remedy = "add sandbox: { seed: any-text, parties: [...], assets: [...] }, as config/sandbox.yaml has it"
    return yield* new ConfigError({ problems: [whole.problem([], "sandbox is missing", remedy)] })
  }
  const { value: raw, document, ...decoded } = decodeParts(ScenarioText, whole, { under: ["sandbox"], naming, instead })
  if (raw === undefined) return yield* inOrder(decoded.problems)
  const found: Array<Problem> = []
  const listen = raw.listen ?? gatewayOf(document) ?? "127.0.0.1:3008"
  const scenario = build({ ...raw, listen }, chainId, (path, message, remedy) => {
    found.push(document.problem(["sandbox", ...path], message, remedy))
  })
  const problems = [...decoded.problems, ...found.filter((problem) => !decoded.isConsequence(problem))]
  return problems.length > 0 ? yield* inOrder(problems) : scenario
})

/** Host and port of the file's first gateway on this machine. */
const gatewayOf = ({ value }: YamlDocument): string | undefined => {
  const { network } = value as { readonly network?: { readonly gateways?: Readonly<Record<string, unknown>> } }
  const urls = Object.values(network?.gateways ?? {}).flatMap((gateway) => {
    const written = typeof gateway === "string" ? gateway : (gateway as { readonly url?: unknown } | null)?.url
    return typeof written === "string" && URL.canParse(written) ? [new URL(written)] : []
  })
  const near = urls.find(({ protocol, hostname }) => protocol === "http:" && isLoopback(hostname))
  return near === undefined ? undefined : `${near.hostname}:${near.port || 80}`
}

const build = (raw: ScenarioText & { readonly listen: string }, chainId: string, report: Report) => {
  const assets = raw.assets.map((asset, i) => buildAsset(asset, report, ["assets", i]))
  const party = (name: string, path: ReadonlyArray<PropertyKey>): string => {
    if (!raw.parties.includes(name)) report(path, `unknown party "${name}"`, `known: ${raw.parties.join(", ")}`)
    return name
  }
  const money = (symbol: string, amount: string, path: ReadonlyArray<PropertyKey>) => {
    const asset = assets.find((a) => a.symbol === symbol)
    if (asset === undefined)
      report(path, `unknown asset "${symbol}"`, `known: ${assets.map((a) => a.symbol).join(", ")}`)
    return { assetId: asset?.id ?? "", amount: units(amount, asset?.decimals ?? 0, report, path) }
  }
  for (const [i, { id }] of raw.assets.entries()) {
    const first = raw.assets.findIndex((asset) => asset.id === id)
    if (first < i) report(["assets", i, "id"], `asset ${first + 1} has the same id`, "give each asset its own")
  }
  return {
    chainId,
    /** The same seed gives the same keys, block hashes and draws. */
    seed: raw.seed,
    listen: parseListen(raw.listen),
    profile: raw.profile ?? "0.75",
    blockIntervalMillis: durationMillis(raw.blockInterval ?? "1s"),
    rateLimit: raw.rateLimit !== "off",
    pow: { ...powDefault, ...powRulesOf(raw.pow ?? {}) },
    /** In order of height: what changes for commands anchored on that block and later. */
    powChanges: (raw.powChanges ?? [])
      .map(({ block, ...change }) => ({ height: Number(block), rules: powRulesOf(change) }))
      .sort((a, b) => a.height - b.height),
    epochLength: raw.epochLength ?? "24h",
    /** Transfers and cancellations that one party may include in an epoch. */
    transfersPerEpoch: Number(raw.transfersPerEpoch ?? "20"),
    feeFactor: raw.feeFactor ?? "0.001",
    feeMaxQuantum: raw.feeMaxQuantum ?? "1",
    minTransferQuantum: raw.minTransferQuantum ?? "0.1",
    minWithdrawalQuantum: raw.minWithdrawalQuantum ?? "10",
    /** Network parameters that the sandbox reports and does not obey, by key. */
    parameters: new Map() as ReadonlyMap<string, string>,
    parties: raw.parties,
    assets,
    deposits: checkDeposits(
      (raw.deposits ?? []).map((d, i) => ({
        party: party(d.party, ["deposits", i, "party"]),
        height: Math.max(1, Number(d.block ?? "1")),
        ...money(d.asset, d.amount, ["deposits", i, "amount"]),
      })),
      assets,
      report,
    ),
    spenders: (raw.spenders ?? []).map((s, i): Spender => {
      const path = ["spenders", i]
      const at = (s.at ?? []).map((entry, k): [number, bigint] => [
        Number(entry.block),
        money(s.asset, entry.amount, [...path, "at", k, "amount"]).amount,
      ])
      const since = Math.max(1, ...at.map(([height]) => height))
      const { every } = s
      return {
        from: party(s.from, [...path, "from"]),
        to: party(s.to, [...path, "to"]),
        assetId: money(s.asset, "0", [...path, "asset"]).assetId,
        at: new Map(at),
        every:
          every === undefined
            ? undefined
            : {
                blocks: Math.max(1, Number(every.blocks)),
                since,
                amount: money(s.asset, every.amount, [...path, "every", "amount"]).amount,
              },
      }
    }),
    faults: (raw.faults ?? []).map((f, i) => ({
      height: Number(f.block),
      fault: buildFault(f, (message, remedy) => report(["faults", i], message, remedy)),
    })),
  }
}

const powDefault: PowRules = { difficulty: 15, pastBlocks: 100, txPerBlock: 2, increaseDifficulty: true }

type PowText = NonNullable<ScenarioText["pow"]>

const powRulesOf = (raw: PowText): Partial<PowRules> => ({
  ...(raw.difficulty === undefined ? {} : { difficulty: Number(raw.difficulty) }),
  ...(raw.pastBlocks === undefined ? {} : { pastBlocks: Number(raw.pastBlocks) }),
  ...(raw.txPerBlock === undefined ? {} : { txPerBlock: Number(raw.txPerBlock) }),
  ...(raw.increaseDifficulty === undefined ? {} : { increaseDifficulty: raw.increaseDifficulty === "true" }),
})

type Report = (path: ReadonlyArray<PropertyKey>, message: string, remedy: string) => void

/** Reports deposits at a block at which their asset is not enabled. */
const checkDeposits = <D extends { readonly assetId: string; readonly height: number }>(
  deposits: ReadonlyArray<D>,
  assets: ReadonlyArray<ScenarioAsset>,
  report: Report,
) => {
  for (const [i, { assetId, height }] of deposits.entries()) {
    const asset = assets.find(({ id }) => id === assetId)
    const status = asset?.statuses.findLast((entry) => entry.height <= height)?.status
    if (asset === undefined || status === "STATUS_ENABLED") continue
    const enabled = asset.statuses.find((entry) => entry.status === "STATUS_ENABLED")?.height
    const remedy = enabled === undefined ? "enable the asset, or leave the deposit out" : `write block: ${enabled}`
    report(["deposits", i], `${asset.symbol} is not enabled at block ${height}`, remedy)
  }
  return deposits
}

const units = (text: string, decimals: number, report: Report, path: ReadonlyArray<PropertyKey>): bigint => {
  const parsed = parseWritten(text, decimals)
  if ("units" in parsed) return parsed.units
  report(path, parsed.error.split(": ")[0]!, parsed.error.split(": ")[1] ?? "write a smaller amount")
  return 0n
}

const statusNames = [
  ["proposed", "STATUS_PROPOSED"],
  ["rejected", "STATUS_REJECTED"],
  ["pendingListing", "STATUS_PENDING_LISTING"],
  ["enabled", "STATUS_ENABLED"],
] as const

const buildAsset = (
  raw: ScenarioText["assets"][number],
  report: Report,
  path: ReadonlyArray<PropertyKey>,
): ScenarioAsset => {
  const decimals = Number(raw.decimals)
  const statuses = statusNames
    .flatMap(([word, status]) => (raw.status[word] === undefined ? [] : [{ height: Number(raw.status[word]), status }]))
    .sort((a, b) => a.height - b.height)
  if (statuses.length === 0) report([...path, "status"], `${raw.symbol} never has a status`, "add enabled: 0")
  if ((raw.builtin === undefined) === (raw.erc20 === undefined)) {
    report(path, `${raw.symbol} needs one source`, "write either builtin: or erc20:")
  }
  const limit = (text: string | undefined): string => units(text ?? "0", decimals, report, path).toString()
  const faucet = raw.builtin?.maxFaucetAmountMint
  return {
    id: raw.id,
    name: raw.name,
    symbol: raw.symbol,
    decimals,
    quantum: units(raw.quantum, 0, report, [...path, "quantum"]),
    source:
      raw.erc20 === undefined
        ? { kind: "builtin", maxFaucetAmountMint: faucet === undefined ? "" : limit(faucet) }
        : {
            kind: "erc20",
            contractAddress: raw.erc20.contractAddress,
            lifetimeLimit: limit(raw.erc20.lifetimeLimit),
            withdrawThreshold: limit(raw.erc20.withdrawThreshold),
            chainId: raw.erc20.chainId ?? "1",
          },
    statuses,
  }
}

const buildFault = (
  raw: NonNullable<ScenarioText["faults"]>[number],
  report: (message: string, remedy: string) => void,
): FaultSpec => {
  const status = faultStatuses.find((one) => String(one) === raw.status)
  const code = faultCodes.find((one) => String(one) === raw.code)
  const fault: FaultSpec = {
    operation: raw.operation,
    kind: raw.kind,
    rate: Number(raw.rate ?? "1"),
    ...(raw.count === undefined ? {} : { count: Number(raw.count) }),
    ...(raw.duration === undefined ? {} : { durationMillis: durationMillis(raw.duration) }),
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
    ...(raw.effect === undefined ? {} : { effect: raw.effect === "true" }),
    ...(raw.delay === undefined ? {} : { delayMillis: durationMillis(raw.delay) }),
    ...(raw.blocks === undefined ? {} : { blocks: Number(raw.blocks) }),
    ...(raw.skew === undefined ? {} : { skewMillis: signedMillis(raw.skew) }),
    ...(raw.chainId === undefined ? {} : { chainId: raw.chainId }),
  }
  const problem = problemOfFault(fault)
  if (problem !== undefined) report(problem.message, problem.remedy)
  return fault
}
