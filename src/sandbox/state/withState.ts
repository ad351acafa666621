import type { Scenario, ScenarioAsset } from "../Scenario.ts"
import type { NetworkState } from "./NetworkState.ts"

/** The network parameters that a sandbox obeys, by the name that the scenario has for each. */
export const obeyed = {
  difficulty: "spam.pow.difficulty",
  pastBlocks: "spam.pow.numberOfPastBlocks",
  txPerBlock: "spam.pow.numberOfTxPerBlock",
  increaseDifficulty: "spam.pow.increaseDifficulty",
  transfersPerEpoch: "spam.protection.maxUserTransfersPerEpoch",
  minWithdrawalQuantum: "spam.protection.minimumWithdrawalQuantumMultiple",
  feeFactor: "transfer.fee.factor",
  feeMaxQuantum: "transfer.fee.maxQuantumAmount",
  minTransferQuantum: "transfer.minTransferQuantumMultiple",
  epochLength: "validators.epoch.length",
} as const

/**
 * The scenario of a network that goes on from a state: chain id, parameters and assets are the state's. What the
 * scenario plans for blocks up to the state's height is past and does not happen.
 */
export const withState = (scenario: Scenario, state: NetworkState): Scenario => {
  const parameters = state.parameters ?? {}
  const text = (name: keyof typeof obeyed, fallback: string): string => parameters[obeyed[name]] ?? fallback
  const { pow } = scenario
  const given = (state.assets ?? []).map(
    ({ status, ...asset }): ScenarioAsset => ({
      ...asset,
      statuses: [{ height: 0, status }],
    }),
  )
  const ids = new Set(given.map(({ id }) => id))
  return {
    ...scenario,
    chainId: state.chainId,
    pow: {
      difficulty: Number(text("difficulty", String(pow.difficulty))),
      pastBlocks: Number(text("pastBlocks", String(pow.pastBlocks))),
      txPerBlock: Number(text("txPerBlock", String(pow.txPerBlock))),
      increaseDifficulty: text("increaseDifficulty", pow.increaseDifficulty ? "1" : "0") === "1",
    },
    powChanges: scenario.powChanges.filter(({ height }) => height > state.height),
    transfersPerEpoch: Number(text("transfersPerEpoch", String(scenario.transfersPerEpoch))),
    minWithdrawalQuantum: text("minWithdrawalQuantum", scenario.minWithdrawalQuantum),
    feeFactor: text("feeFactor", scenario.feeFactor),
    feeMaxQuantum: text("feeMaxQuantum", scenario.feeMaxQuantum),
    minTransferQuantum: text("minTransferQuantum", scenario.minTransferQuantum),
    epochLength: text("epochLength", scenario.epochLength),
    parameters: new Map(Object.entries(parameters)),
    validators: state.epoch.validators ?? [],
    assets: [...given, ...scenario.assets.filter(({ id }) => !ids.has(id))],
  }
}
