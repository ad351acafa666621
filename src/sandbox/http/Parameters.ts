import { Effect } from "effect"
import { powHashFunction } from "../../tx/ProofOfWork.ts"
import type { Scenario } from "../Scenario.ts"
import { nodeError, ok, refuse } from "./Answer.ts"
import { edgesOf, invalidPagination, type Listing, pageOf, readPaging } from "./Paging.ts"
import type { Route } from "./Route.ts"

interface Parameter {
  readonly key: string
  readonly value: string
}

/** The network parameters that a treasury can meet, sorted by key. Values are text as the network has them. */
const parametersOf = (scenario: Scenario): ReadonlyArray<Parameter> =>
  Object.entries({
    ...Object.fromEntries(scenario.parameters),
    "network.transaction.defaultgas": "1",
    "network.transactions.maxgasperblock": "500000",
    "spam.pow.difficulty": String(scenario.pow.difficulty),
    "spam.pow.hashFunction": powHashFunction,
    "spam.pow.increaseDifficulty": scenario.pow.increaseDifficulty ? "1" : "0",
    "spam.pow.numberOfPastBlocks": String(scenario.pow.pastBlocks),
    "spam.pow.numberOfTxPerBlock": String(scenario.pow.txPerBlock),
    "spam.protection.maxUserTransfersPerEpoch": String(scenario.transfersPerEpoch),
    "spam.protection.minimumWithdrawalQuantumMultiple": scenario.minWithdrawalQuantum,
    "transfer.fee.factor": scenario.feeFactor,
    "transfer.fee.maxQuantumAmount": scenario.feeMaxQuantum,
    "transfer.feeDiscountDecayFraction": "0.8",
    "transfer.feeDiscountMinimumTrackedAmount": "0.01",
    "transfer.minTransferQuantumMultiple": scenario.minTransferQuantum,
    "validators.epoch.length": scenario.epochLength,
  })
    .map(([key, value]) => ({ key, value }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))

const cursorOf = (parameter: Parameter): string => Buffer.from(parameter.key).toString("base64")

const listing: Listing<Parameter> = {
  cursorOf,
  keyOf: (parameter) => parameter.key,
  keyOfCursor: (decoded) => decoded,
}

/** All network parameters, always upwards by key. */
export const parameters: Route = {
  operation: "parameters",
  method: "GET",
  path: "/api/v2/network/parameters",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const paging = { ...(yield* readPaging(ask.query, invalidPagination)), newestFirst: false }
      const page = pageOf(parametersOf(world.scenario), paging, listing)
      return ok({ networkParameters: edgesOf(page, cursorOf, (parameter) => parameter) })
    }),
}

export const parameter: Route = {
  operation: "parameter",
  method: "GET",
  path: "/api/v2/network/parameters/:key",
  specified: false,
  answer: (world, ask) => {
    const found = parametersOf(world.scenario).find(({ key }) => key === ask.params["key"])
    if (found !== undefined) return Effect.succeed(ok({ networkParameter: found }))
    const detail = {
      code: 100_002,
      message: "failed to get network parameters",
      inner: "no resource corresponding to this id",
    }
    return Effect.fail(refuse(nodeError("NotFound", detail)))
  },
}
