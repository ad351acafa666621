import { type ApprovalGroup, groupText, lateFrom, waitText } from "../domain/Approval.ts"
import { sumText } from "../domain/Decision.ts"
import type { HaltInForce } from "../domain/Halt.ts"
import type { IntentId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import { earliestAfter, nanosOf, timeText } from "../domain/Time.ts"
import type { Party } from "../rules/Account.ts"
import { scopesOfPayment } from "../rules/checks/stops.ts"
import { accountKey } from "../rules/Snapshot.ts"
import { commandOf, type Subject } from "../rules/Subject.ts"
import { blockAfter, type MemoryLedger } from "./Ledger.ts"
import type { LimitsUsed } from "./LimitsUsed.ts"
import { type DecidedPayment, isMatch, type OperatorAnswer, type RaisedAlert, type WorldSettings } from "./World.ts"

/** State that may keep an approved payment from being signed now. Times are Unix milliseconds. */
interface SigningMoment {
  readonly now: number
  readonly silentSince: number | undefined
  readonly halts: ReadonlyArray<HaltInForce>
  readonly pauses: ReadonlyArray<{ readonly scope: string }>
}

/** A payment that waits for its approval. */
export interface PendingApproval {
  readonly paid: DecidedPayment
  /** Operators who have signed, in the order of their group. */
  readonly by: ReadonlyArray<string>
  /** Unix milliseconds from which on nobody can approve it. */
  readonly expires: number
}

interface Wait {
  readonly id: IntentId
  readonly group: ApprovalGroup
  readonly payer: Party
  /** True if it counts as a transfer of the network's epoch. */
  readonly usesQuota: boolean
  readonly expires: number
  readonly by: Set<string>
  /** True once people were reminded. */
  isReminded: boolean
}

const wordsOf = ({ rule, payment, decimals }: Intent): string =>
  `${rule}: ${sumText(payment, decimals)} ${payment.from} -> ${payment.to}`

/** Payments that need approval, from their decision until they are signed or end. */
export const makePendingApprovals = (
  settings: WorldSettings,
  ledger: MemoryLedger,
  limits: LimitsUsed,
  raised: Array<RaisedAlert>,
) => {
  const { approvedAfterMillis: afterMillis, maxAgeMillis } = settings
  let waits: ReadonlyArray<Wait> = []
  const intentOf = ({ id }: Wait): Intent => ledger.byId(id).intent
  const needsSignature = (wait: Wait): boolean => intentOf(wait).state === "awaiting_approval"
  const signersOf = ({ group, by }: Wait): ReadonlyArray<string> => [...group.of.keys()].filter((name) => by.has(name))
  const progressOf = (wait: Wait): string => {
    const by = signersOf(wait)
    const others = [...wait.group.of.keys()].filter((name) => !by.includes(name))
    return waitText(wait.group, by, others, wait.expires)
  }
  const raise = (wait: Wait, severity: RaisedAlert["severity"], at: number, sentence: string): void => {
    const { rule, subject } = ledger.byId(wait.id)
    raised.push({ at, severity, kind: "approval", rule, subject, detail: `${wordsOf(intentOf(wait))} ${sentence}` })
  }
  const drop = (wait: Wait, state: "rejected" | "denied", at: number, why: string): DecidedPayment => {
    waits = waits.filter((one) => one !== wait)
    const sentence = state === "denied" ? `was not signed: ${why}` : `is rejected: ${why}`
    raise(wait, "ticket", at, sentence)
    return ledger.drop(wait.id, state, at, why)
  }
  /** Approves, rejects or reminds, by signatures and time; undefined if nothing changes. */
  const judge = (wait: Wait, now: number): DecidedPayment | undefined => {
    const { group, by, expires } = wait
    if (now >= expires)
      return drop(wait, "rejected", now, `the approval lapsed: ${by.size} of ${group.need} had signed`)
    const isAssumed = afterMillis !== undefined && now >= intentOf(wait).createdAt + afterMillis
    const bySigners = by.size >= group.need ? `by ${signersOf(wait).join(" and ")}` : undefined
    const who = bySigners ?? (isAssumed ? `after ${timeText(afterMillis)}` : undefined)
    if (who !== undefined) {
      raise(wait, "info", now, `is approved ${who}`)
      return ledger.reserve(wait.id, now, `approved ${who}; money and limits are reserved`)
    }
    if (wait.isReminded || now < lateFrom(group, expires)) return undefined
    wait.isReminded = true
    raise(wait, "ticket", now, `${progressOf(wait)}: the time ends soon`)
    return ledger.byId(wait.id)
  }
  /** The payer's quota if no transfer is left of it for this payment. */
  const usedUpQuota = ({ usesQuota, payer }: Wait, now: number) => {
    const quota = usesQuota ? limits.quota(payer.publicKey, now) : undefined
    return quota !== undefined && quota.used >= quota.limit - payer.transfersKept ? quota : undefined
  }
  const isStopped = (wait: Wait, { now, halts, pauses, silentSince }: SigningMoment): boolean => {
    const { rule, payment } = intentOf(wait)
    const scopes = scopesOfPayment(rule, payment)
    if (halts.length > 0 || pauses.some(({ scope }) => scopes.includes(scope))) return true
    if (silentSince !== undefined && now - silentSince > maxAgeMillis) return true
    return usedUpQuota(wait, now) !== undefined
  }
  /** The payer's balance less its other payments that are open, or whose movement the rules have not seen. */
  const spendableOf = (intent: Intent, silentSince: number | undefined): bigint => {
    const { fromKey, assetId } = intent.payment
    const since = nanosOf(silentSince ?? 0)
    const isUnseen = ({ state, intent: { settledAt = 0n } }: DecidedPayment) =>
      state === "confirmed" && settledAt >= since
    const unseen = silentSince === undefined ? [] : ledger.payments.filter(isUnseen).map((paid) => paid.intent)
    return [...ledger.open(), ...unseen]
      .filter(({ id, payment }) => id !== intent.id && payment.fromKey === fromKey && payment.assetId === assetId)
      .reduce(
        (sum, other) => sum - other.payment.amount - other.feeMax,
        ledger.holdings.get(accountKey(fromKey, assetId))?.seen?.free ?? 0n,
      )
  }
  const sign = (wait: Wait, { now, silentSince }: SigningMoment): DecidedPayment | undefined => {
    const intent = intentOf(wait)
    const { fromKey: from, toKey: to, assetId, amount } = intent.payment
    const spendable = spendableOf(intent, silentSince)
    const need = amount + intent.feeMax
    const floor = wait.payer.floor.get(assetId) ?? 0n
    // An approved payment waits for the money until its approval expires.
    if (spendable < need + floor) return undefined
    waits = waits.filter((one) => one !== wait)
    limits.sign({ from, to, assetId, amount, at: now, settlesAt: blockAfter(now, settings), usesQuota: wait.usesQuota })
    return ledger.sign(wait.id, now)
  }
  return {
    /** Asks the group to approve a decided payment. */
    request: ({ at, intent: { id, payment } }: DecidedPayment, group: ApprovalGroup, subject: Subject): void => {
      const payer = subject.payers.find(({ publicKey }) => publicKey === payment.fromKey)!
      const usesQuota = commandOf(subject) !== "withdraw"
      const expires = at + group.withinMillis
      const wait: Wait = { id, group, payer, usesQuota, expires, by: new Set(), isReminded: false }
      waits = [...waits, wait]
      raise(wait, "ticket", at, progressOf(wait))
    },
    /** Records operators' signatures or their rejection. Returns why it matches no payment; undefined if it does. */
    answer: ({ kind, at, by, matcher }: OperatorAnswer): string | undefined => {
      const open = waits.filter((wait) => needsSignature(wait) && at < wait.expires)
      const found = open.filter((wait) => isMatch(intentOf(wait), matcher))
      if (found.length === 0) {
        const others = open.map((wait) => wordsOf(intentOf(wait))).join("; ")
        return others === "" ? "nothing waits for approval" : `another payment waits: ${others}`
      }
      for (const wait of found) {
        const { of, name } = wait.group
        const outsider = by.find((one) => !of.has(one))
        if (outsider !== undefined) return `${outsider} is not of ${name}, which asks ${groupText(wait.group)}`
        if (kind === "reject") drop(wait, "rejected", at, "people called it off")
        for (const one of by) wait.by.add(one)
      }
      return undefined
    },
    /** Advances each payment as far as it can go now; returns those that changed. */
    advance: (moment: SigningMoment): ReadonlyArray<DecidedPayment> => {
      const { now } = moment
      const changed: Array<DecidedPayment> = []
      for (const wait of waits) {
        const judged = needsSignature(wait) ? judge(wait, now) : undefined
        if (judged !== undefined) changed.push(judged)
        if (intentOf(wait).state !== "reserved") continue
        if (now >= wait.expires) {
          changed.push(drop(wait, "denied", now, "the approval lapsed before it was signed"))
          continue
        }
        const signed = isStopped(wait, moment) ? undefined : sign(wait, moment)
        if (signed !== undefined) changed.push(signed)
      }
      return changed
    },
    /** The first moment after now at which time alone may change one; infinite where none does. */
    nextAt: (now: number): number => {
      const moments = waits.flatMap((wait) => {
        const { group, expires, isReminded } = wait
        const assumed = afterMillis === undefined ? expires : intentOf(wait).createdAt + afterMillis
        const late = isReminded ? expires : lateFrom(group, expires)
        return [expires, ...(needsSignature(wait) ? [late, assumed] : [usedUpQuota(wait, now)?.endsAt ?? now])]
      })
      return earliestAfter(now, moments)
    },
    waiting: (): ReadonlyArray<PendingApproval> =>
      waits
        .filter(needsSignature)
        .map((wait) => ({ paid: ledger.byId(wait.id), by: signersOf(wait), expires: wait.expires })),
  }
}
