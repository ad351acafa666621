import { Effect } from "effect"
import { ConfigError, type Problem } from "../config/ConfigError.ts"
import { formatDuration } from "../config/Fields.ts"
import { isEmbedded, type Treasury } from "../config/Treasury.ts"
import { isPaying, type PayingRule } from "../rules/Rule.ts"
import { networkTransfersPerDay } from "../rules/worstCase.ts"
import { decodeScenario, type Scenario } from "../sandbox/Scenario.ts"

/** What the file says of its network that cannot be so, as an error, or that would pay nothing, as warnings. */
export const checkNetwork = Effect.fnUntraced(function* (treasury: Treasury) {
  const { document, network } = treasury
  const scenario = isEmbedded(treasury) ? yield* decodeScenario(document, network.chainId) : undefined
  const own = new Map(scenario?.assets.map((asset) => [asset.id, asset]))
  const where = "under sandbox.assets: nothing of it would be paid"
  const wrong = wrongDecimals(treasury, own, where, "or change sandbox.assets")
  if (wrong.length > 0) return yield* new ConfigError({ problems: [...wrong] })
  return [
    ...tooOld(treasury),
    ...feeSource(treasury, scenario),
    ...allKept(treasury, scenario?.transfersPerEpoch ?? networkTransfersPerDay),
  ]
})

/** Pins that differ from what stands there, by id: amounts would be a power of ten too large or too small. */
export const wrongDecimals = (
  { assets, document }: Treasury,
  there: ReadonlyMap<string, { readonly decimals: number }>,
  where: string,
  otherwise: string,
): ReadonlyArray<Problem> =>
  [...assets.values()].flatMap(({ symbol, id, decimals }) => {
    const right = there.get(id)?.decimals
    if (right === undefined || right === decimals) return []
    const message = `${symbol} has ${decimals} decimals here and ${right} ${where}`
    return [document.problem(["assets", symbol, "decimals"], message, `write ${right}, ${otherwise}`)]
  })

/** Limits for the age of knowledge that it passes before it is read anew. */
const tooOld = ({ network, rules, document }: Treasury): ReadonlyArray<Problem> => {
  const { maxAgeMillis, pollIdleMillis } = network
  const idle = formatDuration(pollIdleMillis)
  const problem = (path: ReadonlyArray<PropertyKey>, millis: number) =>
    document.problem(
      path,
      `maxAge ${formatDuration(millis)} is shorter than the ${idle} between two readings (network.poll.idle): most of the time all is too old to pay on`,
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

/** From where the fee is known by which each transfer is judged when it is signed. */
const feeSource = (treasury: Treasury, scenario: Scenario | undefined): ReadonlyArray<Problem> => {
  const { network, policy, rules, document } = treasury
  const { fee } = network
  if (fee === undefined) {
    if (scenario?.profile !== "specification" || !rules.some(isPaying)) return []
    const message = "the embedded network has no parameters: its fee is not known, and no transfer would be signed"
    return [document.problem(["network"], message, 'write fee: { factor: "0.001", maxQuantum: "1" }')]
  }
  const { maxFee } = policy
  const isAbove = fee.factor.numerator * maxFee.denominator > maxFee.numerator * fee.factor.denominator
  const above = isAbove
    ? "; it is above policy.maxFee, so that only transfers under its maxQuantum would be signed"
    : ""
  const message = `where no gateway tells the network's fee, transfers are signed by this configured one${above}`
  const remedy = "leave it out where the gateways tell transfer.fee.factor, and look after it where they do not"
  return [document.problem(["network", "fee"], message, remedy)]
}

/** Parties whose rules never get a transfer, since all of them are kept for people. */
const allKept = ({ parties, rules, document }: Treasury, limit: number): ReadonlyArray<Problem> =>
  [...parties.values()].flatMap(({ name, transfersKept }) => {
    if (transfersKept < limit || !rules.some((rule) => isPaying(rule) && payersOf(rule).includes(name))) return []
    const message = `transfersKept ${transfersKept} of the ${limit} that the network permits in an epoch: no rule could ever pay from ${name}`
    return [document.problem(["parties", name, "transfersKept"], message, `write less than ${limit}`)]
  })

/** Who sends the transfers of a rule; a withdrawal is none, and what people are asked for is not ours. */
const payersOf = (rule: PayingRule): ReadonlyArray<string> => {
  switch (rule.kind) {
    case "topUp":
    case "payout":
    case "code":
      return [rule.from.name]
    case "sweep":
      return rule.levels.map(({ party }) => party.name)
    case "split":
      return [rule.level.party.name]
    case "rebalance":
      return rule.weights.map(({ party }) => party.name)
    case "withdraw":
    case "request":
      return []
  }
}
