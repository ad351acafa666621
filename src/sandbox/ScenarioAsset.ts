import { formatAmount, parseWritten } from "../domain/Amount.ts"
import type { ScenarioAsset, ScenarioDeposit } from "./Scenario.ts"
import type { ScenarioText } from "./ScenarioText.ts"

/** Takes a problem with its place and what to do about it. */
export type Report = (path: ReadonlyArray<PropertyKey>, message: string, remedy: string) => void

/** Places behind the point that fit into an amount of 256 bits. */
const decimalsMax = 77

/** The faucet of a built-in asset gives so much at once, the bridge lets one party deposit so much in all. */
export const checkDeposits = (
  deposits: ReadonlyArray<ScenarioDeposit>,
  assets: ReadonlyArray<ScenarioAsset>,
  report: Report,
): ReadonlyArray<ScenarioDeposit> => {
  const sums = new Map<string, bigint>()
  for (const [i, { party, assetId, amount, height }] of deposits.entries()) {
    const asset = assets.find(({ id }) => id === assetId)
    if (asset === undefined) continue
    const status = asset.statuses.findLast((entry) => entry.height <= height)?.status
    if (status !== "STATUS_ENABLED") {
      const enabled = asset.statuses.find((entry) => entry.status === "STATUS_ENABLED")?.height
      const remedy = enabled === undefined ? "enable the asset, or leave the deposit out" : `write block: ${enabled}`
      report(["deposits", i], `${asset.symbol} is not enabled at block ${height}`, remedy)
    }
    const sum = (sums.get(`${party} ${assetId}`) ?? 0n) + amount
    sums.set(`${party} ${assetId}`, sum)
    const { source } = asset
    const limit = BigInt(source.kind === "builtin" ? source.maxFaucetAmountMint || "0" : source.lifetimeLimit)
    if (limit === 0n || (source.kind === "builtin" ? amount : sum) <= limit) continue
    const most = formatAmount(limit, asset.decimals)
    report(
      ["deposits", i, "amount"],
      source.kind === "builtin"
        ? `the faucet of ${asset.symbol} gives at most ${most} at once`
        : `one party may deposit at most ${most} ${asset.symbol} in all`,
      source.kind === "builtin"
        ? "split the deposit, or raise builtin.maxFaucetAmountMint"
        : "raise erc20.lifetimeLimit",
    )
  }
  return deposits
}

export const units = (text: string, decimals: number, report: Report, path: ReadonlyArray<PropertyKey>): bigint => {
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

export const buildAsset = (
  raw: ScenarioText["assets"][number],
  report: Report,
  path: ReadonlyArray<PropertyKey>,
): ScenarioAsset => {
  const decimals = Number(raw.decimals)
  if (decimals > decimalsMax) {
    report([...path, "decimals"], `decimals is 0 to ${decimalsMax}`, "write a number such as 6 or 18")
  }
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
