import { formatAmount } from "../domain/Amount.ts"
import { type AccountKey, type BlockMark, general } from "../domain/Balance.ts"
import { shortId } from "../domain/Hex.ts"
import { type Intent, type IntentState, isFinalIntent, submittedRule } from "../domain/Intent.ts"
import { millisOf } from "../domain/Time.ts"
import type { PinnedAsset } from "../rules/Account.ts"
import { contradiction, pinRemedy } from "../rules/checks/stops.ts"
import { clockGap } from "../rules/checks/wrongClock.ts"
import { isUnsigned, type Refusal, usesQuota } from "../rules/policy/Policy.ts"
import type { Quota } from "../rules/Snapshot.ts"
import { ceilingOf, rowsApart } from "../rules/saneHead.ts"
import { type Backing, decisionValidMillis, isEarlier } from "../rules/waiting.ts"
import { oddWork, type WorkParameters } from "../rules/workParameters.ts"
import { isNamed } from "./backing.ts"

/** The newest block begun, as an anchor. */
interface Head {
  readonly chainId: string
  readonly height: bigint
  readonly hash: string
  readonly pow: WorkParameters
}

/** Judgement of the rules in force on a decided payment. `later`: it cannot be judged or paid now, but may be later. */
export interface NeedVerdict {
  readonly verdict: "wanted" | "gone" | "later"
  readonly why: string
  /** True if it ends only where it can never be paid. */
  readonly isOwed: boolean
}

interface Wait {
  readonly _tag: "Wait"
  /** Undefined if the next round or block settles it: nothing is shown then. */
  readonly why: string | undefined
  /** True if the ledger lists it as paid by another copy of this database: the answer of a quorum ends it. */
  readonly isListed?: true
}

interface End {
  readonly _tag: "End"
  readonly state: "cancelled" | "denied" | "abandoned"
  /** Follows "RULE: AMOUNT FROM -> TO". */
  readonly sentence: string
  readonly detail: string
  /** True if it ends only while no other part of its decision is signed: after one is, this one is owed. */
  readonly isForWhole?: boolean
}

interface Sign {
  readonly _tag: "Sign"
  readonly anchor: Head
}

/** The gateway is on another chain: nothing at all may be signed. */
interface Halt {
  readonly _tag: "Halt"
  readonly detail: string
}

/** Next step of a permitted payment that has no attempt under way and is not signed now. */
export type Unsigned = Wait | End | Halt

/** The next round plans it again. */
export const nextRound: Wait = { _tag: "Wait", why: undefined }

/** Blocks to sign on. */
export interface Anchors {
  /** Newest first. */
  readonly heads: ReadonlyArray<Head>
  /** Why nothing may be signed on the newest one. */
  readonly refusal: Unsigned | undefined
}

/** Values that decide if the rules and the network are queried about a payment. */
export interface Beginning {
  readonly intent: Intent
  /** Number of the attempt, from 1. */
  readonly k: number
  /** Unix milliseconds. */
  readonly now: number
  /** Largest difference between our clock and the newest block of the balances. */
  readonly maxAgeMillis: number
  /** Why nothing may be signed for the payer, by the gateways or by the checks of the start. */
  readonly blocked: string | undefined
  /** True if the payer was cleared before the decision, and is: the decision knew what the ledger lists of it. */
  readonly isCompared: boolean
  /**
   * Kinds of journal entries since the decision about the treasury, the accounts of the payment and those of its rule:
   * "config" after a reload, "mismatch" where rows and balance differed. Their order is certain, whatever the clock.
   */
  readonly noted: ReadonlySet<string>
  readonly needsApproval: boolean
  /** Newest block of the balances; height 0 where the gateway reports none. */
  readonly rows: BlockMark | undefined
}

/** All values that decide if a payment is signed, after `planBeginning` gave no reason against it. */
export interface AttemptContext extends Pick<Beginning, "intent" | "k" | "blocked" | "needsApproval"> {
  readonly backing: Backing
  /** Accounts whose balances differ from the gateway's now. */
  readonly drifting: ReadonlyArray<AccountKey>
  /** Decimals by the asset's present pin; undefined if it is not pinned. */
  readonly decimals: number | undefined
  readonly pinLacking: string | undefined
  /** The other payments of its decision. */
  readonly parts: ReadonlyArray<{ readonly state: IntentState }>
  /** First transfer of another copy of this database with the tag of the payment, and of any of its parts. */
  readonly listed: string | undefined
  readonly listedPart: string | undefined
  readonly quota: Quota | undefined
  /** Transfers of an epoch that are kept for people. */
  readonly transfersKept: number
  /** Why another payment has to end first. */
  readonly other: string | undefined
  readonly heads: Anchors["heads"]
  /** Commands of the payer that are signed on a block, by its height. */
  readonly placesUsed: ReadonlyMap<bigint, number>
}

const frozenWords =
  "our rows and the gateway's balance of one of its accounts differ, and must agree twice; end this payment before " +
  '"cofferer balances rebase"'
const droppedWords = "another part of its decision was dropped, and the rule decides all of them again"

const wait = (why: string): Wait => ({ _tag: "Wait", why })

const end = (state: End["state"], words: string): End => ({
  _tag: "End",
  state,
  sentence: words,
  detail: words.replace("was not signed: ", ""),
})

/** State of a payment that ends before this attempt: after an earlier one something was signed once. */
const endState = (k: number): "cancelled" | "abandoned" => (k === 1 ? "cancelled" : "abandoned")

/**
 * Why the network is not queried about the payment; undefined where it is. `need`: judgement of the rules, if
 * `isNeedDoubtful`. The first reason counts, here and below.
 */
export const planBeginning = (context: Beginning, need: NeedVerdict | undefined): Wait | End | undefined => {
  const { k, blocked, rows } = context
  if (blocked !== undefined) return wait(blocked)
  if (need === undefined && isNeedDoubtful(context)) return nextRound
  if (need?.verdict === "later") return wait(need.why)
  const before = k === 1 ? "it was never signed" : "no attempt executed"
  if (need?.verdict === "gone") {
    const ended = end(endState(k), `is over: ${before}, and today the rule would not decide it: ${need.why}`)
    return { ...ended, isForWhole: !need.isOwed }
  }
  const gap = clockGap(context.now, rows && millisOf(rows.timestamp), context.maxAgeMillis)
  return gap && wait(gap.detail)
}

/**
 * Decides if a payment is signed now, and on which block. The signer judges the bytes by itself: this plan is a
 * proposal to it.
 */
export const planAttempt = (context: AttemptContext): Sign | Wait | End => {
  const { intent, k, blocked } = context
  if (blocked !== undefined) return wait(blocked)
  const outdated = outdatedBy(context)
  if (outdated !== undefined) return end(endState(k), `is over: ${outdated}`)
  if (context.drifting.some(isOf(intent))) return wait(frozenWords)
  if (context.pinLacking !== undefined) return wait(context.pinLacking)
  const listed = planListed(context)
  if (listed !== undefined) return listed
  if (isDroppedInPart(context)) return wait(droppedWords)
  const lacking = usedUp(context) ?? context.other
  if (lacking !== undefined) return wait(lacking)
  const anchor = context.heads.find(({ height, pow }) => (context.placesUsed.get(height) ?? 0) < pow.txPerBlock)
  return anchor === undefined ? nextRound : { _tag: "Sign", anchor }
}

/**
 * True if the need is judged again: before a second attempt, and before the first one of a payment that has waited or
 * was decided by an earlier configuration, unless people approved it. One decided before the ledger was compared with
 * the journal is judged even if approved: its decision did not know payments of another copy of this store. The same
 * holds after a mismatch that was seen since the decision: the rows behind it may have been wrong.
 */
export const isNeedDoubtful = (context: Beginning): boolean => {
  const { intent, k, now, isCompared, noted, needsApproval, blocked } = context
  if (blocked !== undefined || intent.rule === submittedRule) return false
  const isOld = now - intent.createdAt > decisionValidMillis || noted.has("config")
  return k !== 1 || !isCompared || noted.has("mismatch") || (isOld && !needsApproval)
}

/** True if the payment moves money of this account. */
const isOf =
  ({ payment: { fromKey, toKey, assetId } }: Intent) =>
  ({ party, asset, market, type }: AccountKey): boolean =>
    asset === assetId && (party === fromKey || party === toKey) && type === general && market === ""

/**
 * Ends or delays a payment that another copy of this store has paid, or a part of its decision. One named from outside
 * waits until the state of that payment is known; one numbered by a rule is over, and decided again under a number
 * that no listed transfer has.
 */
const planListed = ({ intent, k, backing, listed, listedPart }: AttemptContext): Wait | End | undefined => {
  if (isNamed(intent, backing)) return listed === undefined ? undefined : { ...wait(listed), isListed: true }
  if (listedPart === undefined) return undefined
  const words = `is over: another copy of this database paid its number ${intent.episode}, transfer ${listedPart}`
  return end(endState(k), words)
}

/** Why the configuration in force pays nothing of the kind; undefined where it does. */
const outdatedBy = ({ intent, backing, decimals = intent.decimals }: AttemptContext): string | undefined => {
  if (backing._tag === "Gone") return "no rule in force pays it any more"
  return decimals === intent.decimals
    ? undefined
    : `it was decided with ${intent.decimals} decimals of ${intent.payment.asset}, which has ${decimals} now`
}

/** True if another part of the same decision ended and none is paid or signed: its rule decides all of them again. */
export const isDroppedInPart = ({ parts, backing }: Pick<AttemptContext, "parts" | "backing">): boolean =>
  backing._tag === "Level" && backing.together && parts.some(({ state }) => isFinalIntent(state))

/** Why the epoch has no transfer left for it; undefined if it has. A person's payment may use those kept for people. */
const usedUp = ({ intent, quota, transfersKept }: AttemptContext): string | undefined => {
  const kept = intent.rule === submittedRule ? 0 : transfersKept
  if (quota === undefined || !usesQuota(intent) || quota.used < quota.limit - kept) return undefined
  const words = kept > 0 ? `, ${kept} are kept for people` : ""
  return `${intent.payment.from} used ${quota.used} of ${quota.limit} transfers of this epoch${words}`
}

/**
 * Why a payment must not be anchored on this head; undefined where it may, or where balances name no block. Each
 * reported head may be far above the one before, so a few in a row could reach any height. A payment on a block that
 * does not exist yet can execute once it does, and until then nothing proves that it never will.
 */
const aheadOfRows = ({ height }: Pick<Head, "height">, rows: BlockMark, now: number): string | undefined => {
  if (rows.height === 0n) return undefined
  const named = { height: rows.height, at: millisOf(rows.timestamp) }
  return height <= ceilingOf(named, now, rowsApart)
    ? undefined
    : `block ${height} is reported as the newest, and block ${rows.height} is the newest of the balances: nothing is signed on blocks that may not exist`
}

/** Why nothing is signed on this head; undefined where it may be, as far as its own values show. */
export const headRefused = (head: Head, chainId: string, rows: BlockMark, now: number): Wait | Halt | undefined => {
  if (head.chainId !== chainId) {
    return { _tag: "Halt", detail: `the gateway is on chain ${head.chainId}, this treasury on ${chainId}` }
  }
  const lacking = aheadOfRows(head, rows, now) ?? oddWork(head.pow)
  return lacking === undefined ? undefined : wait(lacking)
}

/** Refusals after which every payment waits. For one that lacks approval, it is requested again until it expires. */
const passing: ReadonlySet<Refusal> = new Set(["halted", "watermark", "lease", "stale", "approval", "fee"])
/** Limits after which a payment may wait, by `planRefused`; for example one that people approve. */
const limits: ReadonlySet<Refusal> = new Set(["window_amount", "window_count", "floor"])

/**
 * Consequence of the signer's refusal. The policy has the last word. At a limit, a person's payment that needs no
 * approval ends at once, and one that its rule would decide again waits only before its first attempt.
 */
export const planRefused = (
  refused: { readonly refusal: Refusal; readonly detail: string } | undefined,
  message: string,
  { k, needsApproval, backing: { _tag } }: Pick<AttemptContext, "k" | "needsApproval" | "backing">,
): Wait | End => {
  const mayWait = needsApproval || (_tag !== "Submitted" && (_tag !== "Level" || k === 1))
  if (refused !== undefined && (passing.has(refused.refusal) || (limits.has(refused.refusal) && mayWait))) {
    return wait(`the signer refuses it now (${refused.refusal}): ${refused.detail}`)
  }
  return end(k === 1 ? "denied" : "abandoned", `was not signed: ${message}`)
}

/**
 * Why no payment of the asset may be signed: its pinned decimals are not compared with the listing yet, or differ from
 * it, even after a person's resume. Undefined where they agree, and where no gateway lists assets.
 */
export const pinLacking = (
  pin: PinnedAsset | undefined,
  { assets, isRead, isUnlisted }: ListingKnown,
): string | undefined => {
  if (pin === undefined) return undefined
  if (assets.length === 0 || !isRead) {
    return isUnlisted ? undefined : `${pin.symbol} is not compared with the asset listing yet`
  }
  const listed = assets.find(({ id }) => id === pin.id)
  if (listed === undefined || listed.decimals === pin.decimals) return undefined
  const enabled = { decimals: listed.decimals, status: "enabled" } as const
  return `${contradiction(pin, enabled)}; ${pinRemedy(pin, enabled)}`
}

/** The asset listing, as far as it is known. */
interface ListingKnown {
  readonly assets: ReadonlyArray<{ readonly id: string; readonly decimals: number }>
  readonly isRead: boolean
  /** True if the gateways report, for minutes, that they list no assets. */
  readonly isUnlisted: boolean
}

/** Once a payment is under way for longer, the others no longer wait for its result. */
const waitMillisMax = 30_000
/** Once a payment has no proof of work for this long, nobody knows when it is sent: the others do not wait. */
const unsolvedMillisMax = 2_000

/**
 * Reason to wait while another payment finds out which wire form the chain accepts; undefined without one. Only one
 * payment tries, so that only one is refused for its form.
 */
export const otherFindsForm = (
  id: string,
  live: ReadonlyArray<{ readonly intentId: string; readonly work: unknown; readonly createdAt: number }>,
  now: number,
): string | undefined => {
  const others = live.filter(
    ({ intentId, work, createdAt }) =>
      intentId !== id && (work !== undefined || Math.abs(now - createdAt) < unsolvedMillisMax),
  )
  const [first] = others
  if (first === undefined || others.some(({ createdAt }) => Math.abs(now - createdAt) >= waitMillisMax))
    return undefined
  return `payment ${shortId(first.intentId).slice(0, 4)} finds out which wire form the network accepts`
}

/**
 * The sender's free balance as observed, less what other payments may take of it. These claims are of its key and
 * asset: open, executed since the newest balance row, or confirmed with no movement seen yet. A payment that is settled
 * and not yet in the balances would otherwise be spent twice. Where two payments wait for the same money, the one that
 * was decided first gets it: neither waits for the other.
 */
export const spendableOf = (intent: Intent, balance: bigint, claims: ReadonlyArray<Intent>): bigint =>
  claims
    .filter((other) => other.id !== intent.id && (!isUnsigned(other) || isEarlier(other, intent)))
    .reduce((left, other) => left - other.payment.amount - costMax(other), balance)

/** The payment's highest fee, or the fee that was really taken if that is more. */
const costMax = ({ fee = 0n, feeMax }: Intent): bigint => (fee > feeMax ? fee : feeMax)

/** Why an account cannot pay the amount and the highest fee and keep its floor, as text; undefined if it can. */
export const shortOf = (
  { symbol, decimals }: Pick<PinnedAsset, "symbol" | "decimals">,
  { spendable, amount, fee, floor }: Readonly<Record<"spendable" | "amount" | "fee" | "floor", bigint>>,
): string | undefined => {
  const need = amount + fee
  if (spendable >= need + floor) return undefined
  const [has, least, most, kept] = [spendable, need, fee, floor].map((units) => formatAmount(units, decimals))
  return `${has} ${symbol} can be spent; the payment needs ${least} with a fee of at most ${most}, above the floor of ${kept}`
}
