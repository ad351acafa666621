import { Effect } from "effect"
import { powHashFunction } from "../../domain/powHashFunction.ts"
import type { Chain } from "../Chain.ts"
import { rulesNow } from "../WorkRules.ts"
import { nodeError, ok, refuse } from "./Answer.ts"
import { edgesOf, invalidPagination, type Listing, pageOf, readPaging } from "./Paging.ts"
import type { Route } from "./Route.ts"

interface Parameter {
  readonly key: string
  readonly value: string
}

/** The network parameters that a treasury can meet, sorted by key. Values are text as the network has them. */
const parametersOf = (chain: Chain): ReadonlyArray<Parameter> => {
  const { scenario } = chain
  const pow = rulesNow(chain)
  return Object.entries({
    ...Object.fromEntries(scenario.parameters),
    "network.transaction.defaultgas": "1",
    "network.transactions.maxgasperblock": "500000",
    "spam.pow.difficulty": String(pow.difficulty),
    "spam.pow.hashFunction": powHashFunction,
    "spam.pow.increaseDifficulty": pow.increaseDifficulty ? "1" : "0",
    "spam.pow.numberOfPastBlocks": String(pow.pastBlocks),
    "spam.pow.numberOfTxPerBlock": String(pow.txPerBlock),
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
}

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
      const page = yield* world.node.read((chain) => pageOf(parametersOf(chain), paging, listing))
      return ok({ networkParameters: edgesOf(page, cursorOf, (parameter) => parameter) })
    }),
}

export const parameter: Route = {
  operation: "parameter",
  method: "GET",
  path: "/api/v2/network/parameters/:key",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const found = yield* world.node.read((chain) => parametersOf(chain).find(({ key }) => key === ask.params["key"]))
      if (found !== undefined) return ok({ networkParameter: found })
      const detail = {
        code: 100_002,
        message: "failed to get network parameters",
        inner: "no resource corresponding to this id",
      }
      return yield* refuse(nodeError("NotFound", detail))
    }),
}
