import { isSolved, leadingZeroBits, powHash } from "../tx/ProofOfWork.ts"
import type { Chain, ReplayGuard } from "./Chain.ts"
import type { Tx } from "./Mempool.ts"
import type { PowRules } from "./Scenario.ts"

const nonceKey = (tx: Pick<Tx, "party" | "nonce">): string => `${tx.party} ${tx.nonce}`

/** Checks a submission's work. Its tid is used up even if a later check refuses the transaction. */
export const checkWork = (chain: Chain, tx: Tx): string | undefined => {
  if (chain.guard.burnt.has(tx.tid)) return "proof of work tid already seen by the node"
  chain.guard.burnt.add(tx.tid)
  return verifyWork(chain, tx)
}

/** The network's error text if the transaction may not be included now. The checks are in the network's order. */
export const verifyWork = (chain: Chain, tx: Tx): string | undefined => {
  const { guard } = chain
  if (guard.txs.has(tx.hash)) return "transaction hash already used"
  const rules = rulesFor(chain, tx.height)
  if (rules === undefined) return "transaction too old"
  const blockHash = chain.hashes.get(tx.height)
  if (blockHash === undefined || tx.height > chain.height || tx.height + rules.pastBlocks <= chain.height) {
    return `unknown block height for tx:${tx.hash}, command:${tx.commandName}, party:${tx.party}`
  }
  if (guard.tids.has(tx.tid)) return "proof of work tid already used"
  if (guard.nonces.has(nonceKey(tx))) return "nonce already used by party"
  const work = { blockHash, tid: tx.tid }
  return isSolved(work, tx.powNonce, rules.difficulty) ? undefined : "failed to verify proof of work"
}

/** Leading zero bits of the work's hash. */
export const zerosOf = (chain: Chain, tx: Tx): number =>
  leadingZeroBits(powHash({ blockHash: chain.hashes.get(tx.height) ?? "", tid: tx.tid }, tx.powNonce))

/**
 * True if a proposer may include the transaction beside those already included for the same party and height: up to
 * `txPerBlock`; with increasing difficulty more, if the sum of all zero bits meets the sum of all required ones.
 */
export const mayInclude = (chain: Chain, tx: Tx, zeros: number): boolean => {
  const rules = rulesFor(chain, tx.height)
  if (rules === undefined) return false
  const before = chain.guard.heights.get(tx.height)?.parties.get(tx.party)
  if (before === undefined || before.count < rules.txPerBlock) return true
  if (!rules.increaseDifficulty) return false
  let needed = 0
  for (let i = 0; i <= before.count; i++) needed += rules.difficulty + Math.floor(i / rules.txPerBlock)
  return before.zeros + zeros >= needed
}

/** A transaction included in a block, as far as the guard remembers it. */
export interface IncludedTx extends Pick<Tx, "hash" | "party" | "nonce" | "tid" | "height"> {
  readonly zeros: number
}

export const recordTx = (guard: ReplayGuard, tx: IncludedTx): void => {
  let seen = guard.heights.get(tx.height)
  if (seen === undefined) {
    seen = { txs: [], parties: new Map() }
    guard.heights.set(tx.height, seen)
  }
  guard.txs.add(tx.hash)
  guard.tids.add(tx.tid)
  guard.nonces.add(nonceKey(tx))
  seen.txs.push(tx)
  const party = seen.parties.get(tx.party)
  if (party === undefined) seen.parties.set(tx.party, { zeros: tx.zeros, count: 1 })
  else {
    party.zeros += tx.zeros
    party.count++
  }
}

/** Forgets heights behind the window; with the profile's `replayHole` one too early. Returns the newest forgotten. */
export const prune = (chain: Chain): number => {
  const longest = Math.max(...chain.ruleSets.map(({ rules }) => rules.pastBlocks))
  const upTo = chain.height - longest + (chain.profile.replayHole ? 1 : 0)
  chain.guard.prunedTo = Math.max(chain.guard.prunedTo, upTo)
  for (const [height, seen] of chain.guard.heights) {
    if (height > upTo) continue
    for (const tx of seen.txs) {
      chain.guard.txs.delete(tx.hash)
      chain.guard.tids.delete(tx.tid)
      chain.guard.nonces.delete(nonceKey(tx))
    }
    chain.guard.heights.delete(height)
  }
  return upTo
}

/** The rules that a command anchored on the newest block must keep. */
export const rulesNow = (chain: Pick<Chain, "ruleSets">): PowRules => chain.ruleSets[chain.ruleSets.length - 1]!.rules

/** The rules for a height; undefined if its window is over: any command anchored on it is refused. */
export const rulesFor = (chain: Pick<Chain, "ruleSets">, height: number): PowRules | undefined =>
  chain.ruleSets.find(({ from, until }) => height >= from && (until === undefined || height <= until))?.rules

const isSame = (a: PowRules, b: PowRules): boolean =>
  a.difficulty === b.difficulty &&
  a.pastBlocks === b.pastBlocks &&
  a.txPerBlock === b.txPerBlock &&
  a.increaseDifficulty === b.increaseDifficulty

/**
 * Puts the scenario's rules in force at the beginning of a block, for commands anchored on it or later. Forgets rules
 * whose last window is over.
 */
export const updatePowRules = (chain: Chain): void => {
  const { height, scenario, ruleSets } = chain
  const planned = scenario.powChanges.filter((change) => change.height <= height).map(({ rules }) => rules)
  const rules: PowRules = Object.assign({}, scenario.pow, ...planned)
  const last = ruleSets.length - 1
  if (!isSame(rules, ruleSets[last]!.rules)) {
    ruleSets[last] = { ...ruleSets[last]!, until: height - 1 }
    ruleSets.push({ from: height, until: undefined, rules })
  }
  const kept = ruleSets.filter(({ until, rules: own }) => until === undefined || until + own.pastBlocks > height)
  if (kept.length < ruleSets.length) ruleSets.splice(0, ruleSets.length, ...kept)
}
