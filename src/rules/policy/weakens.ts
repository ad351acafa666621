import { formatLevel } from "../../domain/Amount.ts"
import { groupText } from "../../domain/Approval.ts"
import { timeText } from "../../domain/Time.ts"
import { plural } from "../../domain/text.ts"
import { assetById, isLarger, type Party, type PinnedAsset, partyByKey, percent, type Share } from "../Account.ts"
import { type Cell, cellsOf, isCountedBy, lineFor, type Policy, type PolicyLine } from "./Policy.ts"

/** Limits on a treasury's money that apply whatever rules and gateways do. */
export interface Terms {
  readonly mode: "observe" | "shadow" | "live"
  readonly policy: Policy
  readonly parties: ReadonlyMap<string, Party>
  readonly assets: ReadonlyMap<string, PinnedAsset>
  /** Balances older than this move no money. */
  readonly maxAgeMillis: number
  /** How many gateways must say the same. */
  readonly quorum: number
  /** Every signature is for this chain alone. */
  readonly chainId: string
  /** SHA-256 in hex over each file of rules in TypeScript, with all that it imports. */
  readonly code: ReadonlyArray<string>
  /** Configured network fee, for gateways that report no parameters. */
  readonly fee?: { readonly factor: Share; readonly maxQuantum: Share } | undefined
}

/**
 * Permissions of the new terms that the old ones did not have, as text. Empty if they are as strict or stricter: then
 * the old policy would permit every sequence of payments that the new one permits, and no floor changes. Approvals come
 * first. Where lines overlap in new ways it may name a permission that is no more than before, never omit one.
 */
export const weakens = (old: Terms, next: Terms): ReadonlyArray<string> => [
  ...approvalWords(old.policy, next.policy, { old: amountIn(old, next), next: amountIn(next, old) }),
  ...lineWords(old, next),
  ...windowWords(old, next),
  ...feeWords(old.policy.maxFee, next.policy.maxFee),
  ...partyWords(old, next),
  ...(next.maxAgeMillis > old.maxAgeMillis
    ? [`payments by balances that are ${next.maxAgeMillis / 1_000} s old, before ${old.maxAgeMillis / 1_000} s`]
    : []),
  ...(next.quorum < old.quorum
    ? [`agreement of ${plural(next.quorum, "gateway")} is enough, before ${old.quorum}`]
    : []),
  ...(next.chainId === old.chainId ? [] : [`chain ${next.chainId}, before ${old.chainId}`]),
  ...writtenFeeWords(old.fee, next.fee),
  ...repinned(old, next),
  ...codeWords(old, next),
]

/** A fee set lower than the network's real fee would pass every bound. */
const writtenFeeWords = (old: Terms["fee"], next: Terms["fee"]): ReadonlyArray<string> => {
  if (next === undefined) return []
  if (old === undefined) return ["the file sets the network's fee, before only the network did"]
  return [
    ...(isLarger(old.factor, next.factor)
      ? [`a fee of the network of ${percent(next.factor)}, before ${percent(old.factor)}`]
      : []),
    ...(isLarger(old.maxQuantum, next.maxQuantum)
      ? [`a largest fee of ${percent(next.maxQuantum)} of a quantum, before ${percent(old.maxQuantum)}`]
      : []),
  ]
}

/** Symbols with another asset id, and assets with other decimals: their amounts mean something else. */
const repinned = (old: Terms, next: Terms): ReadonlyArray<string> =>
  [...next.assets.values()].flatMap(({ symbol, id, decimals }) => {
    const [named, same] = [old.assets.get(symbol), assetById(old.assets, id)]
    const moved =
      named === undefined || named.id === id ? [] : [`${symbol} is ${id.slice(0, 8)}, before ${named.id.slice(0, 8)}`]
    const scaled =
      same === undefined || same.decimals === decimals
        ? []
        : [`${symbol} has ${decimals} decimals, before ${same.decimals}`]
    return [...moved, ...scaled]
  })

/** Rules in code that nobody has agreed to. */
const codeWords = (old: Terms, next: Terms): ReadonlyArray<string> => {
  const fresh = next.code.filter((hash) => !old.code.includes(hash))
  if (fresh.length === 0) return []
  const before = old.code.length === 0 ? "none" : old.code.map((hash) => hash.slice(0, 8)).join(", ")
  return [`rules in code ${fresh.map((hash) => hash.slice(0, 8)).join(", ")}, before ${before}`]
}

const names = (terms: Terms, keys: Iterable<string>): string => {
  const known = new Map([...terms.parties.values()].map(({ publicKey, name }) => [publicKey as string, name]))
  return [...new Set(keys)].map((key) => known.get(key) ?? key.slice(0, 8)).join(", ")
}

/** An amount as its own terms write it; where the others write the asset with other decimals, in base units as well. */
const figureIn = (terms: Terms, others: Terms, id: string, units: bigint): string => {
  const [own, other] = [assetById(terms.assets, id)?.decimals, assetById(others.assets, id)?.decimals]
  const figure = formatLevel(units, own ?? 0)
  return own === undefined || other === undefined || own === other ? figure : `${figure} (${units} base units)`
}

const amountIn =
  (terms: Terms, others: Terms): AmountText =>
  (id, units) =>
    `${figureIn(terms, others, id, units)} ${assetById(terms.assets, id)?.symbol ?? id.slice(0, 8)}`

const titleOf = (terms: Terms, line: PolicyLine, cells: ReadonlyArray<Cell>): string => {
  const symbol = assetById(terms.assets, line.assetId)?.symbol ?? line.assetId.slice(0, 8)
  const [from, to] = [cells.map((cell) => cell.from), cells.map((cell) => cell.to)]
  return `policy line ${line.line}, ${names(terms, from)} -> ${names(terms, to)}, ${symbol}`
}

const lineWords = (old: Terms, next: Terms): ReadonlyArray<string> =>
  next.policy.lines.flatMap((line) => {
    const cells = cellsOf(next.policy, line).map((cell) => ({
      cell,
      before: lineFor(old.policy, cell),
    }))
    const fresh = cells.filter(({ before }) => before === undefined).map(({ cell }) => cell)
    const raised = cells.filter(({ before }) => before !== undefined && before.perTransfer < line.perTransfer)
    const [first] = raised
    const words = fresh.length > 0 ? [`${titleOf(next, line, fresh)}: no line allowed it before`] : []
    if (first?.before === undefined) return words
    const title = titleOf(
      next,
      line,
      raised.map(({ cell }) => cell),
    )
    const was = figureIn(old, next, line.assetId, first.before.perTransfer)
    return [...words, `${title}: ${figureIn(next, old, line.assetId, line.perTransfer)} each, before ${was}`]
  })

/**
 * An old line bounded all that it counts in 24 hours. A new line bounds what it counts itself; what it does not count
 * is bounded by the other new lines that permit it, so their limits add up.
 */
const windowWords = (old: Terms, next: Terms): ReadonlyArray<string> => {
  const permits = next.policy.lines.map((line) => ({ line, cells: cellsOf(next.policy, line) }))
  return old.policy.lines.flatMap((before) => {
    const own = cellsOf(old.policy, before)
    if (own.length === 0) return []
    let [amount, transfers] = [0n, 0]
    for (const { line, cells } of permits) {
      if (!cells.some((cell) => lineFor(old.policy, cell) === before)) continue
      const beside = permits.filter(
        (other) =>
          other.line !== line && other.cells.some((cell) => isCountedBy(before, cell) && !isCountedBy(line, cell)),
      )
      const sum = beside.reduce((total, other) => total + other.line.per24h, line.per24h as bigint)
      const number = beside.reduce((total, other) => total + other.line.transfersPer24h, line.transfersPer24h)
      if (sum > amount) amount = sum
      transfers = Math.max(transfers, number)
    }
    const title = titleOf(old, before, own)
    return [
      ...(amount > before.per24h
        ? [
            `${title}: ${figureIn(next, old, before.assetId, amount)} in 24 h, before ${figureIn(old, next, before.assetId, before.per24h)}`,
          ]
        : []),
      ...(transfers > before.transfersPer24h
        ? [`${title}: ${transfers} transfers in 24 h, before ${before.transfersPer24h}`]
        : []),
    ]
  })
}

const feeWords = (old: Share, next: Share): ReadonlyArray<string> =>
  isLarger(next, old) ? [`a fee of ${percent(next)}, before ${percent(old)}`] : []

const partyWords = (old: Terms, next: Terms): ReadonlyArray<string> =>
  [...old.parties.values()].flatMap((before) => {
    const after = partyByKey(next.parties, before.publicKey)
    // A party without a signer pays nothing now, but the next terms, which may add one, are compared with these.
    if (after === undefined) return []
    const floors = [...before.floor].flatMap(([id, floor]) => {
      const left = after.floor.get(id) ?? 0n
      if (left >= floor) return []
      const symbol = assetById(old.assets, id)?.symbol ?? id.slice(0, 8)
      return [
        `${after.name} keeps ${figureIn(next, old, id, left)} ${symbol}, before ${figureIn(old, next, id, floor)}`,
      ]
    })
    const kept =
      after.transfersKept < before.transfersKept
        ? [`${after.name} keeps ${after.transfersKept} transfers for people, before ${before.transfersKept}`]
        : []
    return [...floors, ...kept]
  })

type LineApproval = NonNullable<PolicyLine["approval"]>

/** An amount of an asset, by its id, in words. */
type AmountText = (assetId: string, units: bigint) => string

const approvalText = (approval: LineApproval | undefined, amount: (units: bigint) => string): string => {
  if (approval === undefined) return "nobody"
  const people = groupText(approval.group)
  return approval.above === 0n ? people : `${people} above ${amount(approval.above)}`
}

/** Differences that the names and numbers of both do not show: another key of a name, a longer time. */
const hiddenChanges = (old: LineApproval, next: LineApproval): ReadonlyArray<string> => {
  const known = [...old.group.of.values()]
  const keys = [...next.group.of].filter(([name, key]) => old.group.of.has(name) && !known.includes(key))
  const [was, is] = [old.group.withinMillis, next.group.withinMillis]
  return [
    ...keys.map(([name, key]) => `${name} has another key, ${key.slice(0, 8)}`),
    ...(is > was ? [`they have ${timeText(is)}, before ${timeText(was)}`] : []),
  ]
}

/** True if the new line requires at least the approvals of the old one, from the same people or a subset. */
const isAsStrict = (old: LineApproval, next: LineApproval | undefined): boolean =>
  next !== undefined &&
  next.above <= old.above &&
  next.group.need >= old.group.need &&
  next.group.withinMillis <= old.group.withinMillis &&
  [...next.group.of].every(([, key]) => [...old.group.of.values()].includes(key))

const operatorsOf = ({ groups = [] }: Policy): ReadonlyMap<string, string> =>
  new Map(groups.flatMap(({ of }) => [...of].map(([name, key]) => [key, name] as const)))

/** Two of the operators end a halt or approve a policy: who joins them, and where they become fewer than two. */
const operatorWords = (old: Policy, next: Policy): ReadonlyArray<string> => {
  const [before, after] = [operatorsOf(old), operatorsOf(next)]
  const fresh = [...after].filter(([key]) => before.size > 0 && !before.has(key)).map(([, name]) => name)
  // Proposers cannot approve, and are known by name only: an operator with a new name could approve an own proposal.
  const renamed = [...after].flatMap(([key, name]) => {
    const was = before.get(key)
    return was === undefined || was === name ? [] : [`operator ${was} is named ${name}`]
  })
  return [
    ...(fresh.length > 0 ? [`${fresh.join(", ")} may approve`] : []),
    ...renamed,
    ...(Math.min(2, after.size) < Math.min(2, before.size) ? [`${after.size} operators, before ${before.size}`] : []),
  ]
}

/** Payments whose approval now needs fewer or other people, as text. */
export const approvalWords = (
  old: Policy,
  next: Policy,
  amounts: { readonly old: AmountText; readonly next: AmountText },
): ReadonlyArray<string> => [...approvalLineWords(old, next, amounts), ...operatorWords(old, next)]

const approvalLineWords = (
  old: Policy,
  next: Policy,
  amounts: { readonly old: AmountText; readonly next: AmountText },
): ReadonlyArray<string> =>
  next.lines.flatMap((line) => {
    const { assetId, approval } = line
    const former = cellsOf(next, line)
      .flatMap((cell) => lineFor(old, cell)?.approval ?? [])
      .find((before) => !isAsStrict(before, approval))
    if (former === undefined) return []
    const after = approvalText(approval, (units) => amounts.next(assetId, units))
    const before = approvalText(former, (units) => amounts.old(assetId, units))
    const hidden = approval === undefined ? [] : hiddenChanges(former, approval)
    return [[`policy line ${line.line}: ${after} must approve, before ${before}`, ...hidden].join(", ")]
  })
