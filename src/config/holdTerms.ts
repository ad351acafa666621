import { type HeadBounds, headBounds } from "../rules/headBelief.ts"
import type { Party, Rule } from "../rules/Rule.ts"
import { repinned, type Terms, weakens } from "../rules/weakens.ts"
import { type WorkBounds, workBounds } from "../rules/workTerms.ts"
import { type InForce, termsOf } from "./ConfigInForce.ts"
import { lowerMode } from "./Environment.ts"
import { type AlertConfig, bothAlerts } from "./storedAlerts.ts"
import type { Treasury } from "./Treasury.ts"

/** The file's configuration under the terms that were last in force, where the file's own wait. */
export const holdTerms = (file: InForce, old: Terms, alerts: AlertConfig): InForce => {
  const { treasury } = file
  const mode = lowerMode(treasury.mode, old.mode)
  const { gateways, quorum, maxAgeMillis } = treasury.network
  const parties = new Map(
    [...treasury.parties].map(([name, party]) => [name, keeping(party, old.parties.values())] as const),
  )
  const changed = new Map<unknown, unknown>([...parties].map(([name, party]) => [treasury.parties.get(name), party]))
  const held: Treasury = {
    ...treasury,
    ...bothAlerts(treasury, alerts),
    mode,
    network: {
      ...treasury.network,
      quorum: Math.min(gateways.length, Math.max(quorum, old.quorum)),
      maxAgeMillis: Math.min(maxAgeMillis, old.maxAgeMillis),
      fee: old.fee,
      work: lowerBounds(treasury.network.work, old.work),
      head: lowerHead(treasury.network.head, old.head),
    },
    policy: old.policy,
    approvals: new Map((old.policy.groups ?? []).map((group) => [group.name, group])),
    parties,
    rules: treasury.rules.map((rule) => exchanged(rule, changed) as Rule),
  }
  const next = termsOf(file)
  return {
    treasury: held,
    mode: lowerMode(file.mode, old.mode),
    waiting: { file, weaker: weakens(old, next), cannot: cannotHold(old, next, treasury) },
  }
}

const lowerBounds = (own: WorkBounds, old = workBounds): WorkBounds => ({
  maxDifficulty: Math.min(own.maxDifficulty, old.maxDifficulty),
  maxWindow: Math.min(own.maxWindow, old.maxWindow),
})

const lowerHead = (own: HeadBounds, old = headBounds): HeadBounds => ({
  jumpBlocks: own.jumpBlocks < old.jumpBlocks ? own.jumpBlocks : old.jumpBlocks,
  blocksPerSecond: own.blocksPerSecond < old.blocksPerSecond ? own.blocksPerSecond : old.blocksPerSecond,
})

/** Why the old terms cannot be kept to with what the new file brings: then nothing may be signed. */
const cannotHold = (old: Terms, next: Terms, { network, rules }: Treasury): ReadonlyArray<string> => {
  const fresh = next.code.filter((hash) => !old.code.includes(hash))
  const { length } = network.gateways
  return [
    ...(next.chainId === old.chainId ? [] : [`chain ${next.chainId} is another one than ${old.chainId}`]),
    ...repinned(old, next),
    ...(fresh.length > 0 && rules.some(({ kind }) => kind === "code") ? ["the rules in code are others"] : []),
    ...(length < old.quorum ? [`${old.quorum} gateways must agree and the file names ${length}`] : []),
  ]
}

/** The party with what it kept before, where that was more. */
const keeping = (party: Party, old: Iterable<Party>): Party => {
  const before = [...old].find(({ publicKey }) => publicKey === party.publicKey)
  if (before === undefined) return party
  const floor = new Map(party.floor)
  for (const [id, units] of before.floor) if ((floor.get(id) ?? 0n) < units) floor.set(id, units)
  return { ...party, floor, transfersKept: Math.max(party.transfersKept, before.transfersKept) }
}

/** The value with other objects in the places of the given ones, at any depth of plain data. */
const exchanged = (value: unknown, by: ReadonlyMap<unknown, unknown>): unknown => {
  if (typeof value !== "object" || value === null) return value
  const other = by.get(value)
  if (other !== undefined) return other
  if (Array.isArray(value)) return value.map((item) => exchanged(item, by))
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, exchanged(item, by)]))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, exchanged(item, by)]))
}
