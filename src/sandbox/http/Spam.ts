import { Effect } from "effect"
import { powHashFunction } from "../../domain/powHashFunction.ts"
import type { Chain } from "../Chain.ts"
import { transfersLeft } from "../checkTx.ts"
import { rulesFor, rulesNow } from "../WorkRules.ts"
import { ok } from "./Answer.ts"
import type { Route } from "./Route.ts"

const policy = (count: number, most: number | string, tokens: number | string = 0) => ({
  countForEpoch: String(count),
  maxForEpoch: String(most),
  minTokensRequired: String(tokens),
})

/** Limits that the sandbox tells and no treasury meets, by the parameters of a network or their defaults. */
const limitsOf = ({ scenario }: Chain) => {
  const of = (key: string, fallback: string): string => scenario.parameters.get(`spam.protection.${key}`) ?? fallback
  return {
    proposals: policy(0, of("max.proposals", "3"), of("proposal.min.tokens", "1")),
    delegations: policy(0, of("max.delegations", "390"), of("delegation.min.tokens", "1")),
    nodeAnnouncements: policy(0, 1, 1),
    issueSignatures: policy(0, 1, of("minMultisigUpdates", "100000000000000000000")),
    votes: of("max.votes", "3"),
    voteTokens: of("voting.min.tokens", "1"),
    createReferralSet: policy(0, of("max.createReferralSet", "3")),
    updateReferralSet: policy(0, of("max.updateReferralSet", "3")),
    applyReferralCode: policy(0, of("max.applyReferralCode", "5")),
  }
}

/** Zero bits that the party's next transaction on a height must show; undefined where there can be none. */
const expectedDifficulty = (chain: Chain, party: string, height: number): number | undefined => {
  const rules = rulesFor(chain, height)
  if (rules === undefined) return undefined
  const before = chain.guard.heights.get(height)?.parties.get(party)
  if (before === undefined || before.count < rules.txPerBlock) return rules.difficulty
  if (!rules.increaseDifficulty) return undefined
  let needed = 0
  for (let i = 0; i <= before.count; i++) needed += rules.difficulty + Math.floor(i / rules.txPerBlock)
  return Math.max(rules.difficulty, needed - before.zeros)
}

const blockState = (chain: Chain, party: string, height: number) => {
  const rules = rulesFor(chain, height) ?? rulesNow(chain)
  const expected = expectedDifficulty(chain, party, height)
  return {
    blockHeight: String(height),
    blockHash: chain.hashes.get(height) ?? "",
    transactionsSeen: String(chain.guard.heights.get(height)?.parties.get(party)?.count ?? 0),
    ...(expected === undefined ? {} : { expectedDifficulty: String(expected) }),
    hashFunction: powHashFunction,
    difficulty: String(rules.difficulty),
    txPerBlock: String(rules.txPerBlock),
    increasingDifficulty: rules.increaseDifficulty,
  }
}

const statisticsOf = (chain: Chain, party: string) => {
  const limits = limitsOf(chain)
  const { transfersPerEpoch } = chain.scenario
  const heights = [...chain.guard.heights].flatMap(([height, seen]) => (seen.parties.has(party) ? [height] : []))
  const votes = [...chain.epoch.votes].flatMap(([name, count]) => {
    const [voter, proposal] = name.split(" ")
    const about = { proposal, countForEpoch: String(count), minTokensRequired: limits.voteTokens }
    return voter === party ? [about] : []
  })
  return {
    proposals: limits.proposals,
    delegations: limits.delegations,
    transfers: policy(transfersPerEpoch - transfersLeft(chain, party), transfersPerEpoch),
    nodeAnnouncements: limits.nodeAnnouncements,
    votes: { statistics: votes, maxForEpoch: limits.votes },
    pow: {
      blockStates: [...heights.filter((height) => height !== chain.height), chain.height].map((height) =>
        blockState(chain, party, height),
      ),
      numberOfPastBlocks: String(rulesNow(chain).pastBlocks),
    },
    issueSignatures: limits.issueSignatures,
    epochSeq: String(chain.epoch.seq),
    createReferralSet: limits.createReferralSet,
    updateReferralSet: limits.updateReferralSet,
    applyReferralCode: limits.applyReferralCode,
  }
}

/** What a party has used of the network's limits, and what work its next transaction needs. Any text is a party. */
export const spamStatistics: Route = {
  operation: "spam",
  method: "GET",
  path: "/statistics/spam/:party",
  specified: false,
  answer: ({ node }, ask) =>
    Effect.map(
      node.read((chain) => ({
        chainId: chain.scenario.chainId,
        statistics: statisticsOf(chain, ask.params["party"] ?? ""),
      })),
      ok,
    ),
}
