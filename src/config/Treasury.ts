import { basename, extname, resolve as resolvePath } from "node:path"
import { Effect } from "effect"
import type { ApprovalGroup } from "../domain/Approval.ts"
import { majorityOf } from "../domain/chain.ts"
import { dayMillis } from "../domain/Time.ts"
import type { External, Party, PinnedAsset } from "../rules/Account.ts"
import { cycle } from "../rules/lint/cycle.ts"
import type { Finding, RuleSet } from "../rules/lint/Finding.ts"
import { kept } from "../rules/lint/kept.ts"
import { denied, floors, unreachable } from "../rules/lint/limits.ts"
import { eitherDay, quota, skippedMonths } from "../rules/lint/quota.ts"
import type { Policy, WrittenFee } from "../rules/policy/Policy.ts"
import { networkTransfersPerDay } from "../rules/policy/worstCase.ts"
import type { Rule } from "../rules/Rule.ts"
import { fraction } from "../rules/Snapshot.ts"
import { type AlertingConfig, type RouteConfig, resolveAlerts } from "./resolve/resolveAlerts.ts"
import { addressesOf, checkAddresses, resolveAssets, resolveParties } from "./resolve/resolveNames.ts"
import { resolveApprovals, resolvePolicy } from "./resolve/resolvePolicy.ts"
import { resolveRules } from "./resolve/resolveRules.ts"
import { type Address, durationMillis, parseListen } from "./schema/Fields.ts"
import type { ReceiverConfig } from "./schema/Receivers.ts"
import { TreasuryFile } from "./schema/TreasuryFile.ts"
import { type ConfigError, inOrder, type Problem } from "./yaml/ConfigError.ts"
import { decodeParts } from "./yaml/decodeParts.ts"
import { postgresUrlFile, type Reporter, reporter, secretFiles } from "./yaml/Reporter.ts"
import { readSources } from "./yaml/readSources.ts"
import { parsePlaced, type YamlDocument } from "./yaml/Yaml.ts"

export type Mode = "observe" | "shadow" | "live"

/** One gateway of the network. Header values come from files and are secrets. */
export interface GatewayConfig {
  readonly name: string
  readonly url: string
  /** Header name to the file that holds its value. */
  readonly headerFiles: ReadonlyMap<string, string>
}

interface NetworkConfig {
  readonly chainId: string
  /** At least one; the first is preferred while all are well. */
  readonly gateways: readonly [GatewayConfig, ...ReadonlyArray<GatewayConfig>]
  /** Number of gateways that must agree on an answer before money moves by it. */
  readonly quorum: number
  /** Knowledge older than this moves no money. */
  readonly maxAgeMillis: number
  readonly requestDeadlineMillis: number
  /** Between two comparisons of our rows with the gateway's own balances. */
  readonly reconcileMillis: number
  readonly pollBusyMillis: number
  readonly pollIdleMillis: number
  readonly framing: "auto" | "prefixed" | "bare"
  /** Configured network fee, for gateways that report no parameters. */
  readonly fee: WrittenFee | undefined
}

/** Settings of a process, of one treasury or of several. */
export interface ProcessConfig {
  readonly listen: Address
  /** Where metrics and probes are served as well, without a token. */
  readonly metrics: Address | undefined
  /** The collector of spans, and its headers with the files of their values. */
  readonly tracing: { readonly url: string; readonly headerFiles: ReadonlyMap<string, string> } | undefined
  readonly logLevel: "debug" | "info" | "warning" | "error"
}

/** One treasury, checked: every name resolved, every amount in base units. */
export interface Treasury extends ProcessConfig {
  readonly file: string
  /** The file or folder, and the overlays on it, as absolute paths. */
  readonly files: readonly [string, ...ReadonlyArray<string>]
  readonly name: string
  readonly mode: Mode
  readonly network: NetworkConfig
  readonly assets: ReadonlyMap<string, PinnedAsset>
  readonly parties: ReadonlyMap<string, Party>
  /** Addresses outside of the network that may be withdrawn to. */
  readonly addresses: ReadonlyMap<string, External>
  readonly rules: ReadonlyArray<Rule>
  readonly policy: Policy
  /** Operators whose signatures policy lines may ask for, by the group's name. */
  readonly approvals: ReadonlyMap<string, ApprovalGroup>
  readonly receivers: ReadonlyArray<ReceiverConfig>
  readonly routes: ReadonlyArray<RouteConfig>
  readonly alerting: AlertingConfig
  /** As written, relative to the file; undefined where the file does not say. */
  readonly storeDir: string | undefined
  readonly keepMillis: number
  /** File outside the data directory with the journal's position; undefined: none is kept. */
  readonly watermarkFile: string | undefined
  /** The file that holds PostgreSQL's address; undefined: the store is a file in the data directory. */
  readonly postgresUrlFile: string | undefined
  readonly document: YamlDocument
}

/** Reads a treasury file or folder, and overlays on it. Fails with every problem found, each with line and remedy. */
export const loadTreasury = (...files: readonly [file: string, ...overlays: ReadonlyArray<string>]) =>
  Effect.flatMap(readSources(files), treasuryOf)

/** The treasury that a document describes. With `checksFiles` the files that it names must be on this machine. */
export const treasuryOf = (document: YamlDocument, checksFiles = true): Effect.Effect<Treasury, ConfigError> =>
  Effect.suspend(() => {
    const { treasury, problems } = examineTreasury(document, checksFiles)
    return treasury === undefined || problems.length > 0 ? Effect.fail(inOrder(problems)) : Effect.succeed(treasury)
  })

/** All problems of a document, and the treasury without its faulty parts; undefined where too little is left. */
export const examineTreasury = (
  document: YamlDocument,
  checksFiles = true,
): { readonly treasury: Treasury | undefined; readonly problems: ReadonlyArray<Problem> } => {
  const decoded = decodeParts(TreasuryFile, document, { naming, instead })
  const { value: raw, left } = decoded
  // An unreadable value is also malformed: one line is enough.
  const unreadable = new Set(document.problems.map(placeText))
  const ofForm = decoded.problems.filter((one) => !unreadable.has(placeText(one)))
  const written = [...document.problems, ...ofForm]
  if (raw === undefined) return { treasury: undefined, problems: written }
  const problems: Array<Problem> = []
  const treasury = resolve(decoded.document, raw, reporter(decoded.document, problems, checksFiles))
  const faults = [...written, ...problems.filter((problem) => !decoded.isConsequence(problem))]
  const paths = problems.map(decoded.pathOf)
  const isJudged =
    document.problems.length === 0 &&
    ![...left, ...paths].some(([section, item]) => !unread.has(section) && (section !== "rules" || item === undefined))
  const unsound = new Set([
    ...decoded.lost,
    ...paths.flatMap(([section, item]) => (section === "rules" ? [raw.rules?.[Number(item)]?.name] : [])),
  ])
  const all = [...faults, ...(isJudged ? lintProblems(treasury, raw, unsound) : [])]
  return { treasury: { ...treasury, document }, problems: all }
}

const placeText = ({ file, line, column }: Problem): string => `${file}:${line}:${column}`

/** Parts whose names the rest of the file refers to. */
const naming = [["parties"], ["assets"], ["addresses"], ["hours"], ["approvals"], ["rules"], ["alerts", "receivers"]]

/** Where version or network are wrong: nothing else is checked against them. */
const instead = (() => {
  const { tree } = parsePlaced(
    "",
    'version: 1\nnetwork: { chainId: unknown, gateways: { unknown: "https://gateway.invalid" } }',
  )
  return Object.fromEntries(tree.kind === "map" ? [...tree.entries].map(([name, { value }]) => [name, value]) : [])
})()

const resolve = (document: YamlDocument, raw: TreasuryFile, report: Reporter): Treasury => {
  const assets = resolveAssets(raw, report)
  const parties = resolveParties(raw, assets, report)
  checkAddresses(raw, report)
  const rules = resolveRules(raw, parties, assets, report)
  const approvals = resolveApprovals(raw, parties, report)
  const policy = resolvePolicy(raw, parties, assets, approvals, report)
  const { dir, watermark } = raw.store ?? {}
  return {
    file: document.file,
    files: [resolvePath(document.file), ...(document.overlays ?? []).map((overlay) => resolvePath(overlay))],
    name: raw.name ?? basename(document.file, extname(document.file)),
    mode: raw.mode ?? "observe",
    network: resolveNetwork(raw, report),
    assets,
    parties,
    addresses: addressesOf(raw),
    rules,
    policy,
    approvals,
    ...resolveAlerts(raw, report),
    storeDir: dir === undefined ? undefined : report.path(dir, ["store", "dir"]),
    keepMillis: keepIn(raw, report),
    watermarkFile: watermark === undefined ? undefined : report.path(watermark, ["store", "watermark"]),
    postgresUrlFile: postgresUrlFile(raw, report),
    ...resolveProcess(raw.daemon ?? {}, ["daemon"], report),
    document,
  }
}

export const resolveProcess = (
  { listen, metrics, tracing, logLevel = "info" }: NonNullable<TreasuryFile["daemon"]>,
  path: ReadonlyArray<string>,
  report: Reporter,
): ProcessConfig => ({
  listen: parseListen(listen ?? "127.0.0.1:9464"),
  metrics: metrics === undefined ? undefined : parseListen(metrics),
  tracing: tracing && {
    url: tracing.url,
    headerFiles: secretFiles(tracing.headers ?? {}, [...path, "tracing", "headers"], report),
  },
  logLevel,
})

const resolveNetwork = (raw: TreasuryFile, report: Reporter): NetworkConfig => {
  const { network } = raw
  return {
    chainId: network.chainId,
    ...resolveGateways(network, report),
    maxAgeMillis: durationMillis(network.maxAge ?? "30s"),
    requestDeadlineMillis: durationMillis(network.requestDeadline ?? "10s"),
    reconcileMillis: durationMillis(network.reconcile ?? "5m"),
    pollBusyMillis: durationMillis(network.poll?.busy ?? "1s"),
    pollIdleMillis: durationMillis(network.poll?.idle ?? "2s"),
    framing: network.framing ?? "auto",
    fee: feeIn(network),
  }
}

const keepIn = ({ store }: TreasuryFile, report: Reporter): number => {
  const keep = store?.keep ?? "400d"
  const millis = durationMillis(keep)
  // Shorter, and nothing is left by which people find out in the morning why a rule paid in the night.
  if (millis < dayMillis) report.add(["store", "keep"], `${keep} is too short`, "write 1d or longer")
  return millis
}

const feeIn = ({ fee }: TreasuryFile["network"]): WrittenFee | undefined => {
  const [factor, maxQuantum] = [fraction(fee?.factor ?? ""), fraction(fee?.maxQuantum ?? "")]
  return factor === undefined || maxQuantum === undefined ? undefined : { factor, maxQuantum }
}

const resolveGateways = (
  network: TreasuryFile["network"],
  report: Reporter,
): Pick<NetworkConfig, "gateways" | "quorum"> => {
  const gateways = Object.entries(network.gateways).map(([name, gateway]): GatewayConfig => {
    const headers = typeof gateway === "string" ? {} : (gateway.headers ?? {})
    return {
      name,
      url: typeof gateway === "string" ? gateway : gateway.url,
      headerFiles: secretFiles(headers, ["network", "gateways", name, "headers"], report),
    }
  })
  const [first = { name: "none", url: "", headerFiles: new Map() }, ...others] = gateways
  if (gateways.length === 0) {
    report.add(["network", "gateways"], "no gateway is named", 'name at least one: { main: "https://..." }')
  }
  const urls = gateways.map(({ url }) => (URL.parse(url)?.href ?? url).replace(/\/+$/, ""))
  const twice = urls.findIndex((url, i) => urls.indexOf(url) < i)
  if (twice > 0) {
    const name = gateways[twice]?.name ?? ""
    report.add(
      ["network", "gateways", name],
      "its address is named twice",
      "a gateway that agrees with itself proves nothing",
    )
  }
  const quorum = network.quorum === undefined ? majorityOf(gateways.length) : Number(network.quorum)
  if (quorum < 1 || quorum > gateways.length) {
    const range = gateways.length === 1 ? "1" : `1 to ${gateways.length}`
    report.add(["network", "quorum"], `${quorum} of ${gateways.length} gateways cannot agree`, `write ${range}`)
  }
  return { gateways: [first, ...others], quorum }
}

/** True if the file describes an embedded network, which has quotas of its own. */
export const isEmbedded = ({ document }: Pick<Treasury, "document">): boolean =>
  (document.value as { sandbox?: unknown } | null)?.sandbox !== undefined

/**
 * Mistakes in rules and policy that are valid one by one: payments that can never be made, payments that go back and
 * forth forever, and rules whose effect differs from their text.
 */
export const lintTreasury = (treasury: Treasury): ReadonlyArray<Finding> => {
  const set: RuleSet = { ...treasury, transfersPerDay: isEmbedded(treasury) ? undefined : networkTransfersPerDay }
  return [denied, unreachable, floors, skippedMonths, eitherDay, quota, kept, cycle].flatMap((each) => each(set))
}

/** Where a finding stands, with its remedy. */
export const problemOf = ({ document }: Pick<Treasury, "document">, { path, message, remedy }: Finding): Problem =>
  document.problem(path, message, remedy)

/** Parts that the lint of rules and policy does not read. */
const unread: ReadonlySet<PropertyKey | undefined> = new Set([
  "version",
  "name",
  "network",
  "hours",
  "maintenance",
  "alerts",
  "store",
  "daemon",
])

/** Problems of valid values together. Rules that are wrong themselves take no part. */
const lintProblems = (
  treasury: Treasury,
  { rules = [] }: TreasuryFile,
  unsound: ReadonlySet<unknown>,
): ReadonlyArray<Problem> => {
  const sound = rules.map(({ name }): Rule => {
    const rule = treasury.rules.find((one) => one.name === name)
    return rule === undefined || unsound.has(name) ? { kind: "notify", name, asset: "any", becomes: [] } : rule
  })
  return lintTreasury({ ...treasury, rules: sound })
    .filter(({ severity }) => severity === "error")
    .map((finding) => problemOf(treasury, finding))
}
