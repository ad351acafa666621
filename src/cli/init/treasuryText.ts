import type { Mode } from "../../config/Treasury.ts"
import { formatLevel } from "../../domain/Amount.ts"
import type { Share } from "../../rules/Account.ts"
import type { Pin } from "../assets.ts"
import { percent } from "../common/worstCase.ts"

/** The answers to every question of `init`. */
interface NewTreasury {
  readonly name: string
  readonly mode: Mode
  readonly chainId: string
  /** Addresses by name. */
  readonly gateways: ReadonlyArray<readonly [name: string, url: string]>
  readonly asset: Pin
  readonly payer: { readonly name: string; readonly publicKey: string; readonly keyFile: string }
  readonly payee: { readonly name: string; readonly publicKey: string }
  /** As a person wrote them, in units of the asset. */
  readonly below: string
  readonly target: string
  /** The same target in base units. */
  readonly targetUnits: bigint
  readonly feeFactor: Share | undefined
}

const commentColumn = 37
const paymentsPerDay = 4

const noted = (line: string, comment: string): string => `${line.padEnd(commentColumn - 2)}  # ${comment}`

/** The default of policy.maxFee: 0.2 %. */
const isAboveDefault = ({ numerator, denominator }: Share): boolean => numerator * 1_000n > denominator * 2n

const maxFeeLine = (fee: Share | undefined): string => {
  if (fee === undefined) return noted("  maxFee: 0.2%", "the gateway does not tell its fee: see network.fee above")
  const now = percent(fee).replace(" ", "")
  return isAboveDefault(fee)
    ? noted(`  maxFee: ${now}`, "as the network has it; a higher fee is not paid")
    : noted("  maxFee: 0.2%", `the network takes ${now} now; a higher fee than this is not paid`)
}

const quoted = (text: string): string => JSON.stringify(text)
const amount = (units: bigint, decimals: number): string => quoted(formatLevel(units, decimals).replaceAll(",", "_"))

/** A commented treasury file: one payer, one account that is kept funded, and a policy that permits just that. */
export const treasuryFileText = (it: NewTreasury): string => {
  const { asset, payer, payee, targetUnits } = it
  const perTransfer = amount(targetUnits, asset.decimals)
  const perDay = amount(targetUnits * BigInt(paymentsPerDay), asset.decimals)
  return `${[
    '# Written by "cofferer init". config/treasury.example.yaml shows every key with its unit and default.',
    "version: 1",
    `name: ${it.name}`,
    noted(`mode: ${it.mode}`, "observe | shadow | live; only live signs and pays"),
    "network:",
    noted(`  chainId: ${quoted(it.chainId)}`, "from the gateway; any other chain halts"),
    noted("  gateways:", "https, or http on loopback; the majority must agree before money moves"),
    ...it.gateways.map(([name, url]) => `    ${name}: ${quoted(url)}`),
    ...(it.feeFactor === undefined
      ? ['  # fee: { factor: "0.001", maxQuantum: "1" }   # this gateway tells no fee: without this nothing is signed']
      : []),
    noted("assets:", "pinned by id: another asset of the same name changes nothing"),
    `  ${asset.symbol}: { id: "${asset.id}", decimals: ${asset.decimals} }`,
    noted("parties:", "only a party that pays has a signer; paths are relative to this file"),
    `  ${payer.name}: { publicKey: "${payer.publicKey}", signer: { file: ${quoted(payer.keyFile)} } }`,
    `  ${payee.name}: { publicKey: "${payee.publicKey}" }`,
    noted("rules:", "docs/rules.md explains every kind of rule"),
    noted(`  - name: keep-${payee.name}-funded`, "below the trigger, bring the balance to the target"),
    `    topUp: { from: ${payer.name}, levels: [{ party: ${payee.name}, asset: ${asset.symbol}, below: ${quoted(it.below)}, target: ${quoted(it.target)} }] }`,
    noted("    for: 30s", "below the trigger this long, and in two observations"),
    noted("    cooldown: 10m", "between two payments to the same account"),
    noted("policy:", "enforced by the signer; what no line allows is not signed"),
    maxFeeLine(it.feeFactor),
    noted("  allow:", `the most that one payment and 24 hours may take: here ${paymentsPerDay} full payments`),
    `    - { from: ${payer.name}, to: [${payee.name}], asset: ${asset.symbol}, perTransfer: ${perTransfer}, per24h: ${perDay}, transfersPer24h: ${paymentsPerDay} }`,
    "alerts:",
    noted("  receivers: { log: { log: {} } }", "the log alone; add webhook, slack, pagerduty, email or a command"),
  ].join("\n")}\n`
}
