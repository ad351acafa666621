import { existsSync, statSync } from "node:fs"
import { Effect, Layer } from "effect"
import { readableByOthers } from "../config/ownFiles.ts"
import { formatDuration } from "../config/schema/Fields.ts"
import { secretFilesIn } from "../config/schema/Receivers.ts"
import { isEmbedded, type Treasury } from "../config/Treasury.ts"
import { ConfigError, configProblem, type Problem } from "../config/yaml/ConfigError.ts"
import { nameRemedy } from "../config/yaml/decodeAll.ts"
import type { Asset } from "../domain/Asset.ts"
import { shellWord } from "../domain/text.ts"
import { escapeText, ifSupported } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { walkAssets } from "../gateway/walkPages.ts"
import { gatewayLayer, keyFileOf } from "../layers.ts"
import { isLarger, type Party } from "../rules/Account.ts"
import { isPaying } from "../rules/Rule.ts"
import { publicKeyOf } from "../sandbox/Keys.ts"
import { decodeScenario, type Scenario } from "../sandbox/Scenario.ts"
import { openKeyFile } from "../signer/KeyFile.ts"
import type { Setup } from "./common/setup.ts"
import { layerMetrics } from "./run/logging.ts"

/** Problems of a key file. It is opened before anything runs, so that each is reported with its line. */
const keyFileProblems = ({ document }: Treasury, { name, signer, publicKey }: Party, file: string) =>
  openKeyFile(file, publicKey).pipe(
    Effect.as([]),
    Effect.catchTag("ConfigError", ({ problems }) => {
      const path = ["parties", name, "signer", ...Object.keys(signer ?? {})]
      return Effect.succeed(
        problems.map(({ message, remedy }) => document.problem(path, `${file}: ${message}`, remedy)),
      )
    }),
  )

/** Compares a party's key with the one that the embedded network will make from its seed; undefined if they agree. */
const sandboxKeyProblem = ({ document }: Treasury, { seed, parties }: Scenario, party: Party): Problem | undefined => {
  const { name, publicKey, signer } = party
  const isPayer = signer !== undefined && "sandbox" in signer
  const key = isPayer ? signer.sandbox : name
  if (!parties.includes(key)) {
    if (!isPayer) return undefined
    const remedy = nameRemedy(key, parties, "add it under sandbox.parties")
    return document.problem(["parties", name, "signer", "sandbox"], `the sandbox has no party "${key}"`, remedy)
  }
  const right = publicKeyOf(seed, key)
  if (right === publicKey || (signer !== undefined && !isPayer)) return undefined
  const message = `parties.${name}.publicKey is not the key that the sandbox makes for ${key}`
  return document.problem(["parties", name, "publicKey"], message, `write publicKey: "${right}"`)
}

/** Warns of each secret file, other than a key, that others may read. A start goes on: the daemon can alert people. */
export const looseSecrets = ({
  treasury: { receivers, alerting, network, tracing },
  postgresUrlFile,
}: Pick<Setup, "treasury" | "postgresUrlFile">): ReadonlyArray<Problem> => {
  const headers = [...network.gateways, tracing].flatMap((one) => [...(one?.headerFiles.values() ?? [])])
  const files = [...(postgresUrlFile === undefined ? [] : [postgresUrlFile]), ...headers]
  return [...new Set([...files, ...[...receivers, alerting.heartbeat].flatMap(secretFilesIn)])].flatMap((file) => {
    const why = existsSync(file) ? readableByOthers(statSync(file), "secret") : undefined
    return why === undefined ? [] : configProblem(file, why, `run: chmod 600 ${shellWord(file)}`).problems
  })
}

/**
 * Checks every key, and fails with all that is wrong. A missing file is an error if the caller is about to sign
 * (`willSign`) in mode live, else one of the returned warnings. Returns the names of the parties whose keys match too.
 */
export const checkKeys = Effect.fnUntraced(function* (
  { treasury, mode, dataDir }: Pick<Setup, "treasury" | "mode" | "dataDir">,
  willSign: boolean,
) {
  const errors: Array<Problem> = []
  const warnings: Array<Problem> = []
  const matching: Array<string> = []
  const parties = [...treasury.parties.values()]
  const usesSandboxKeys = parties.some(({ signer }) => signer !== undefined && "sandbox" in signer)
  const scenario =
    usesSandboxKeys && isEmbedded(treasury)
      ? yield* decodeScenario(treasury.document, treasury.network.chainId)
      : undefined
  for (const party of parties) {
    const { name, signer } = party
    const problem = scenario && sandboxKeyProblem(treasury, scenario, party)
    if (problem !== undefined) (signer === undefined ? warnings : errors).push(problem)
    if (signer === undefined) continue
    const isCompared = scenario !== undefined && "sandbox" in signer
    const file = keyFileOf(party, dataDir)!
    if (isCompared || existsSync(file)) {
      if (!isCompared) errors.push(...(yield* keyFileProblems(treasury, party, file)))
      matching.push(name)
      continue
    }
    const remedy =
      "file" in signer
        ? `restore it, or for a new party make it: cofferer keys new ${shellWord(file)}, and set publicKey to the key that it prints`
        : "add sandbox: { seed, parties, assets }, or name signer: { file }"
    const at = ["parties", name, "signer", "file" in signer ? "file" : "sandbox"]
    const missing = willSign && mode === "live" ? errors : warnings
    missing.push(treasury.document.problem(at, `no such file: ${file}`, remedy))
  }
  if (errors.length > 0) return yield* new ConfigError({ problems: errors })
  return { warnings, matching }
})

/** Checks the network's settings: impossible ones are errors, those that would pay nothing are warnings. */
export const checkNetwork = Effect.fnUntraced(function* (treasury: Treasury) {
  const { document, network } = treasury
  const scenario = isEmbedded(treasury) ? yield* decodeScenario(document, network.chainId) : undefined
  const listed = new Map(scenario?.assets.map((asset) => [asset.id, asset]))
  const where = "under sandbox.assets: nothing of it would be paid"
  const wrong = wrongDecimals(treasury, listed, { where, alternative: "or change sandbox.assets" })
  if (wrong.length > 0) return yield* new ConfigError({ problems: [...wrong] })
  return [...shortMaxAges(treasury), ...feeWarnings(treasury, scenario)]
})

/** Pins whose decimals differ from the listing's: amounts would be a power of ten too large or too small. */
const wrongDecimals = (
  { assets, document }: Treasury,
  listed: ReadonlyMap<string, { readonly decimals: number }>,
  { where, alternative }: { readonly where: string; readonly alternative: string },
): ReadonlyArray<Problem> =>
  [...assets.values()].flatMap(({ symbol, id, decimals }) => {
    const right = listed.get(id)?.decimals
    if (right === undefined || right === decimals) return []
    const message = `${symbol} has ${decimals} decimals here and ${right} ${where}`
    return [document.problem(["assets", symbol, "decimals"], message, `write ${right} ${alternative}`)]
  })

/** Warns of each `maxAge` that is shorter than the time between two polls. */
const shortMaxAges = ({ network, rules, document }: Treasury): ReadonlyArray<Problem> => {
  const { maxAgeMillis, pollIdleMillis } = network
  const idle = formatDuration(pollIdleMillis)
  const problem = (path: ReadonlyArray<PropertyKey>, millis: number) =>
    document.problem(
      path,
      `maxAge ${formatDuration(millis)} is shorter than the ${idle} between two readings (network.poll.idle): most of the time balances are too old to pay on`,
      "raise maxAge, or lower network.poll.idle",
    )
  return [
    ...(maxAgeMillis < pollIdleMillis ? [problem(["network", "maxAge"], maxAgeMillis)] : []),
    ...rules.flatMap((rule, i) =>
      isPaying(rule) && rule.maxAgeMillis !== undefined && rule.maxAgeMillis < pollIdleMillis
        ? [problem(["rules", i, "maxAge"], rule.maxAgeMillis)]
        : [],
    ),
  ]
}

/** Warns if the signer has no fee to judge transfers by, or one from the file only. */
const feeWarnings = (treasury: Treasury, scenario: Scenario | undefined): ReadonlyArray<Problem> => {
  const { network, policy, rules, document } = treasury
  const { fee } = network
  if (fee === undefined) {
    if (scenario?.profile !== "specification" || !rules.some(isPaying)) return []
    const message = "the embedded network has no parameters: its fee is not known, and no transfer would be signed"
    return [document.problem(["network"], message, 'write fee: { factor: "0.001", maxQuantum: "1" }')]
  }
  const above = isLarger(fee.factor, policy.maxFee)
    ? "; it is above policy.maxFee, so that only transfers under its maxQuantum would be signed"
    : ""
  const message = `if no gateway reports the network's fee, transfers are signed with this configured fee${above}`
  const remedy = "remove it if the gateways report transfer.fee.factor; otherwise keep it up to date"
  return [document.problem(["network", "fee"], message, remedy)]
}

/** Longest wait of a command for the gateways. */
export const gatewayWaitMillis = 5_000

/** Result of a comparison with the gateways: warnings, and what was not compared (undefined if all was). */
const compared = (warnings: ReadonlyArray<Problem>, note?: string) => ({ warnings, note })

/**
 * Compares chain id, ids, decimals and symbols of the file with those of its gateways. Other decimals are an error,
 * since amounts would be paid a power of ten too large or too small; other symbols are a warning.
 */
export const checkGateway = Effect.fn("Check.gateway")(
  function* (treasury: Treasury) {
    const { chainId } = yield* (yield* GatewayReader).head
    if (chainId !== treasury.network.chainId) return yield* wrongChain(treasury, chainId)
    const listed = yield* listing
    if (listed === undefined) {
      return compared([], "the gateway gave no complete asset listing; ids and decimals were not compared")
    }
    const wrong = wrongDecimals(treasury, listed, {
      where: "at the gateway",
      alternative: "unless the gateway is wrong",
    })
    if (wrong.length > 0) return yield* new ConfigError({ problems: [...wrong] })
    return compared(unlisted(treasury, listed))
  },
  (effect, treasury) =>
    effect.pipe(
      Effect.provide(gatewayLayer({ treasury }).pipe(Layer.provide(layerMetrics(treasury)))),
      Effect.timeoutOrElse({ duration: gatewayWaitMillis, orElse: () => Effect.succeed(unanswered(treasury)) }),
      Effect.catchTag("GatewayError", ({ reason }) =>
        reason._tag === "OtherChain" ? wrongChain(treasury, reason.chainId) : Effect.succeed(unanswered(treasury)),
      ),
    ),
)

const unanswered = ({ network: { quorum } }: Treasury) =>
  compared(
    [],
    `${quorum === 1 ? "no gateway" : `fewer than ${quorum} gateways`} answered; chain id, asset ids and decimals were not compared`,
  )

const wrongChain = ({ document, network }: Treasury, reported: string) => {
  const message = `the gateway is on chain ${escapeText(reported)}, not on ${network.chainId}`
  const remedy = "correct network.chainId, or the address in network.gateways"
  return Effect.fail(new ConfigError({ problems: [document.problem(["network", "chainId"], message, remedy)] }))
}

/** Undefined if the gateway lists no assets, or its list has no end. */
const listing = Effect.flatMap(GatewayReader, walkAssets).pipe(
  ifSupported,
  Effect.map((walk) => (walk?.complete ? new Map(walk.rows.map((asset) => [asset.id, asset])) : undefined)),
)

/** Warns of ids that the gateway does not list, or lists under another symbol. */
const unlisted = ({ assets, document }: Treasury, listed: ReadonlyMap<string, Asset>): ReadonlyArray<Problem> =>
  [...assets.values()].flatMap(({ symbol, id }) => {
    const found = listed.get(id)
    if (found?.symbol === symbol) return []
    const message =
      found === undefined
        ? `the gateway does not list ${symbol}: nothing of it is paid`
        : `the gateway calls ${symbol} "${escapeText(found.symbol)}"`
    return [document.problem(["assets", symbol, "id"], message, 'compare the id: "cofferer assets" lists them')]
  })
