import { powHashFunction } from "../../domain/chain.ts"
import type { Chain } from "../Chain.ts"
import { transfersLeft } from "../checkTx.ts"
import { formatTime, toMicros } from "../Ledger.ts"
import { rulesNow } from "../ReplayGuard.ts"
import { ok, reads } from "./Answer.ts"
import { type Listing, listedPage, readPaging } from "./Paging.ts"

/** All that a sender needs to know of the chain: the newest block, and what work it asks for. */
export const height = reads("height", "/blockchain/height", function* ({ node, scenario }) {
  const { height, hash, pow } = yield* node.read((chain) => ({ ...chain, pow: rulesNow(chain) }))
  return ok({
    height: String(height),
    hash,
    spamPowHashFunction: powHashFunction,
    spamPowDifficulty: pow.difficulty,
    spamPowNumberOfPastBlocks: pow.pastBlocks,
    spamPowNumberOfTxPerBlock: pow.txPerBlock,
    spamPowIncreasingDifficulty: pow.increaseDifficulty,
    chainId: scenario.chainId,
  })
})

/** The part that the daemon reads: the epoch, and when it ends. */
export const statistics = reads("statistics", "/statistics", function* ({ node, scenario, profile }) {
  const statistics = yield* node.read((chain) => ({
    blockHeight: String(chain.height),
    genesisTime: formatTime(chain.genesisTime),
    vegaTime: formatTime(chain.time),
    appVersion: profile.appVersion,
    chainVersion: profile.chainVersion,
    chainId: scenario.chainId,
    blockHash: chain.hash,
    epochSeq: String(chain.epoch.seq),
    epochStartTime: formatTime(chain.epoch.startTime),
    epochExpiryTime: formatTime(chain.epoch.startTime + chain.epochNanos),
  }))
  return ok({ statistics })
})

export const epoch = reads("epoch", "/api/v2/epoch", function* ({ node }) {
  const epoch = yield* node.read(({ epoch, epochNanos }) => ({
    seq: String(epoch.seq),
    timestamps: {
      startTime: String(toMicros(epoch.startTime)),
      expiryTime: String(toMicros(epoch.startTime + epochNanos)),
      endTime: "0",
      firstBlock: String(epoch.firstBlock),
      lastBlock: "0",
    },
    validators: [],
    delegations: [],
  }))
  return ok({ epoch })
})

const statisticsOf = (chain: Chain, party: string) => {
  const { transfersPerEpoch } = chain.scenario
  const used = transfersPerEpoch - transfersLeft(chain, party)
  return {
    transfers: { countForEpoch: String(used), maxForEpoch: String(transfersPerEpoch), minTokensRequired: "0" },
    epochSeq: String(chain.epoch.seq),
  }
}

/** A party's use of the network's transfer limit. Any text is a party. */
export const spamStatistics = reads("spam", "/statistics/spam/:party", function* ({ node, scenario }, ask) {
  const statistics = yield* node.read((chain) => statisticsOf(chain, ask.params["party"] ?? ""))
  return ok({ chainId: scenario.chainId, statistics })
})

/** The network parameters that a treasury can meet. Values are text as the network has them. */
const parametersOf = (chain: Chain) => {
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
  }).map(([key, value]) => ({ key, value }))
}

const listing: Listing<ReturnType<typeof parametersOf>[number]> = {
  keyOf: (parameter) => parameter.key,
  cursorOf: (parameter) => Buffer.from(parameter.key).toString("base64"),
  keyOfCursor: (decoded) => decoded,
}

/** All network parameters, always upwards by key. */
export const parameters = reads("parameters", "/api/v2/network/parameters", function* (world, ask) {
  const paging = { ...(yield* readPaging(ask.query)), newestFirst: false }
  const page = yield* world.node.read((chain) => listedPage(parametersOf(chain), paging, listing, (row) => row))
  return ok({ networkParameters: page })
})
