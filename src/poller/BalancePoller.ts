import { Clock, Effect, Ref } from "effect"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { plainAmount } from "../domain/Amount.ts"
import { type BalanceChange, general } from "../domain/Balance.ts"
import { hasElapsed, millisOf, nanosOf } from "../domain/Time.ts"
import type { GatewayError } from "../gateway/GatewayError.ts"
import { GatewayReader } from "../gateway/GatewayReader.ts"
import { type Gateway, Gateways } from "../gateway/Gateways.ts"
import { Health } from "../gateway/Health.ts"
import { reachNanos } from "../gateway/walkPages.ts"
import { overlapMillis, signedBy } from "../payments/movements.ts"
import type { Party, PinnedAsset } from "../rules/Account.ts"
import { clockGap } from "../rules/checks/wrongClock.ts"
import { type Level, levelsOf, type Rule } from "../rules/Rule.ts"
import { observationsMin } from "../rules/SubjectFacts.ts"
import { AlertQueue } from "../store/alerts/AlertQueue.ts"
import { disagreement } from "../store/alerts/makeTrouble.ts"
import { forgetSilencesAfter } from "../store/alerts/silences.ts"
import { Observations, type Watermark } from "../store/balances/Observations.ts"
import type { AccountBalance, AccountChange } from "../store/balances/storeRows.ts"
import { Settings } from "../store/database/Settings.ts"
import { Signals } from "../store/database/Signals.ts"
import { LedgerAudit } from "../store/payments/LedgerAudit.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { RuleStates } from "../store/rules/RuleStates.ts"
import { logEvent } from "../telemetry/Logging.ts"
import { Metrics } from "../telemetry/Metrics.ts"
import { agreedRows, noAnswer } from "./agreedRows.ts"
import {
  aligned,
  defaultPageRows,
  nextLargeFor,
  nextSpan,
  type Paces,
  paceOf,
  pageRowsMax,
  partiesOf,
  type ReadingPace,
  type WatchedTreasury,
  type WindowAnswer,
} from "./askWindow.ts"
import { beginAnew, beginNamed, bridgeGap, noteWatched } from "./bridgeGap.ts"
import { explainAnswer, readBaseTogether } from "./readBase.ts"
import { readWindow } from "./readWindow.ts"

/** A balance is near a level that is off by at most a tenth of it: its next change may reach it. */
const nearParts = 10n

/** True if an account is near a level of one of the rules: such a level needs an evaluation each second. */
export const isNear = (rules: ReadonlyArray<Rule>, accounts: ReadonlyArray<BalanceChange>): boolean => {
  const levels = rules.flatMap(levelsOf)
  return levels.length > 0 && accounts.some((account) => levels.some((level) => isNearTo(level, account)))
}

/** True if a row that is not final yet brings an account to a rule's level, or across it. */
const isCrossing = (
  rules: ReadonlyArray<Rule>,
  accounts: ReadonlyArray<AccountBalance>,
  unsettled: ReadonlyArray<BalanceChange>,
): boolean => {
  const levels = unsettled.length === 0 ? [] : rules.flatMap(levelsOf)
  return unsettled.some((row) =>
    levels.some((level) => {
      if (!isOfLevel(level, row)) return false
      const before = accounts.find((account) => isOfLevel(level, account))?.balance ?? 0n
      const [low, high] = before < row.balance ? [before, row.balance] : [row.balance, before]
      return low <= level.trigger && level.trigger <= high
    }),
  )
}

const isOfLevel = ({ party, asset }: Level, row: BalanceChange): boolean =>
  row.party === party.publicKey && row.asset === asset.id && row.type === general

const isNearTo = (level: Level, account: BalanceChange): boolean => {
  if (!isOfLevel(level, account)) return false
  const { trigger } = level
  const gap = account.balance > trigger ? account.balance - trigger : trigger - account.balance
  return gap * nearParts <= trigger
}

const pruneMillis = 3_600_000

/**
 * For each payment that may still execute, or whose window is compared: from when on its balance rows are read, Unix
 * milliseconds. Twice the overlap: a payment that ended in it executed earlier, by a window at most.
 */
const judgedSince = Effect.gen(function* () {
  const attempts = [...(yield* (yield* Outbox).live), ...(yield* (yield* LedgerAudit).watched)]
  return attempts.map((attempt) => millisOf(signedBy(attempt)) - 2 * overlapMillis)
})

type Retention = Pick<WatchedTreasury, "keepMillis"> & {
  readonly network: Pick<WatchedTreasury["network"], "maxAgeMillis">
}

/**
 * Deletes balance rows, decisions and delivered alerts that are older than `keep`, but no rows that tell how a payment
 * ends. Once an hour, by a time in the store, so that a restart storm does not repeat it; never while clock and newest
 * block differ, since a clock that is ahead by more than `keep` would delete everything.
 */
export const pruneHourly = Effect.fnUntraced(function* ({ keepMillis, network: { maxAgeMillis } }: Retention) {
  const settings = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const prunedAt = yield* settings.get("prunedAt")
  if (!hasElapsed(Number(prunedAt ?? 0), now, pruneMillis)) return
  const observations = yield* Observations
  const watermark = yield* observations.watermark
  const newest = watermark && millisOf(watermark.timestamp)
  if (newest === undefined || clockGap(now, newest, maxAgeMillis) !== undefined) return
  const before = Math.min(now, newest) - keepMillis
  yield* observations.prune(nanosOf(Math.min(before, ...(yield* judgedSince))))
  yield* (yield* RuleStates).prune(before)
  // A new store has sent no alert yet.
  if (prunedAt !== undefined) yield* (yield* AlertQueue).prune(before)
  // Written by a clock that was ahead: it would silence alerts once its time comes.
  yield* forgetSilencesAfter(now + maxAgeMillis)
  yield* settings.set("prunedAt", String(now))
})

/** Log lines of balances per reading at most. Nobody reads thousands a second, and writing them costs. */
const loggedMax = 20

/** Blocks covered by one reading: times from the watermark's on, up to a height; heights are 0 where unknown. */
interface BlocksRead {
  readonly after: { readonly timestamp: bigint; readonly height: bigint }
  readonly upTo: bigint
}

/**
 * The block of a row. A row has only a time: if several blocks were read at once, it is one of these; "" if no heights
 * are known.
 */
const blockOf = (timestamp: bigint, { after, upTo }: BlocksRead): string | undefined => {
  if (upTo === 0n) return undefined
  if (after.height === 0n || timestamp < after.timestamp) return `${upTo} or before`
  const first = after.height + 1n
  return first >= upTo ? String(upTo) : `${first} to ${upTo}`
}

/** Logs balances that changed: the free ones of watched parties, in assets that the file names. */
export const logBalanceChanges = Effect.fnUntraced(function* (
  treasury: { readonly parties: ReadonlyMap<string, Party>; readonly assets: ReadonlyMap<string, PinnedAsset> },
  changes: ReadonlyArray<AccountChange>,
  read: BlocksRead,
) {
  const parties = new Map([...treasury.parties.values()].map((party) => [party.publicKey as string, party.name]))
  const assets = new Map([...treasury.assets.values()].map((asset) => [asset.id, asset]))
  let logged = 0
  for (const { before, row } of changes) {
    const asset = assets.get(row.asset)
    const subject = parties.get(row.party)
    if (subject === undefined || asset === undefined || before === undefined || row.type !== general) continue
    if (++logged > loggedMax) continue
    const units = (n: bigint) => plainAmount(n, asset.decimals)
    const step = row.balance - before
    yield* logEvent("balance changed", {
      party: subject,
      asset: asset.symbol,
      balance: units(row.balance),
      change: `${step > 0n ? "+" : ""}${units(step)}`,
      block: blockOf(row.timestamp, read),
    })
  }
  if (logged > loggedMax) yield* logEvent("more balances changed", { count: logged - loggedMax })
})

/**
 * How far before the last known time a reading starts if no answer names its block: nothing else finds rows that a
 * lagging replica showed too late.
 */
const overlapNanos = 60_000_000_000n

/**
 * Reads balance changes up to the newest final block, or a part of the way there. Rows and the new watermark become
 * durable together, so a crash reads a window again and stores nothing twice. Returns whether there is more to read at
 * once.
 */
export const pollBalances = Effect.fn("BalancePoller.poll")(function* (
  treasury: WatchedTreasury,
  paces: Paces = new Map(),
) {
  // A gateway that no longer answers, or is no longer asked, has no unsettled rows.
  for (const pace of paces.values()) yield* Ref.update(pace, (known) => ({ ...known, unsettled: [] }))
  if (treasury.parties.size === 0) return false
  const reader = yield* GatewayReader
  const now = nanosOf(yield* Clock.currentTimeMillis)
  const watermark = yield* (yield* Observations).watermark
  if (watermark === undefined) return yield* begin(treasury, now)
  const anew = yield* beginAnew(partiesOf(treasury), watermark, now)
  if (anew !== undefined) return anew === "begun"
  if (yield* bridgeGap(reader, treasury, watermark, now)) return true
  if (yield* beginNamed(partiesOf(treasury), watermark, now)) return false
  const { answer, by } = yield* readTogether(treasury, { watermark, now, paces })
  if (answer._tag !== "Rows") {
    yield* explainAnswer(answer, { known: watermark.timestamp, now })
    return false
  }
  if (answer.until <= watermark.timestamp) return false
  yield* keep(treasury, watermark, answer)
  yield* noteSource(by)
  return answer.more
})

/** Setting that names the gateways from which the newest rows are. */
export const sourceKey = "balancesFrom"

const noteSource = Effect.fnUntraced(function* (by: ReadonlyArray<string>) {
  const settings = yield* Settings
  const source = by.join(" and ")
  if ((yield* settings.get(sourceKey)) !== source) yield* settings.set(sourceKey, source)
})

/** Interval of polls until a newer block is readable, while a rule's next observation is in it. */
const nextBlockMillis = 200
/** Polls without a newer block at that interval; then the usual pace returns. */
const nextBlockPollsMax = 10

/** The loop: a poll at once and at each signal, and after the pause that the last one leaves. */
export const balanceLoop = Effect.suspend(() => {
  const paces: Paces = new Map()
  let pollsInVain = 0
  let newest: bigint | undefined
  return Effect.gen(function* () {
    const treasury = (yield* ConfigInForce).now().treasury
    const { counted } = yield* Metrics
    const signals = yield* Signals
    yield* pruneHourly(treasury)
    const more = yield* counted("balances", pollBalances(treasury, paces)).pipe(
      Effect.catchTag("GatewayError", (error) =>
        Effect.as(logEvent("balances not read", { reason: error.message }), false),
      ),
    )
    const known = (yield* (yield* Observations).watermark)?.timestamp
    pollsInVain = known === newest ? pollsInVain + 1 : 0
    newest = known
    if (more) return
    yield* signals.wait("balances", yield* pauseOf(treasury, paces, pollsInVain))
  }).pipe(Effect.forever)
})

/** Rules in force whose need is observed, and not yet long or often enough. */
const pendingOf = Effect.fnUntraced(function* ({ rules }: WatchedTreasury) {
  const names = new Set(rules.map(({ name }) => name))
  return (yield* (yield* RuleStates).all).filter(({ rule, state }) => state === "pending" && names.has(rule))
})

/**
 * Milliseconds until the next poll: the busy pause while a payment is open or about to be, else the idle one. Where the
 * next block shows a rule its first observation or its second, it is read as soon as it is readable.
 */
export const pauseOf = Effect.fnUntraced(function* (treasury: WatchedTreasury, paces: Paces, pollsInVain: number) {
  const { rules, network } = treasury
  const accounts = yield* (yield* Observations).accounts
  const unsettled = (yield* Effect.forEach(paces.values(), Ref.get)).flatMap((pace) => pace.unsettled)
  const pending = yield* pendingOf(treasury)
  const isObservedOnce = pending.some(({ observations }) => observations === observationsMin - 1)
  const isNextBlock = isObservedOnce || isCrossing(rules, accounts, unsettled)
  if (isNextBlock && pollsInVain < nextBlockPollsMax) return Math.min(nextBlockMillis, network.pollBusyMillis)
  const isAbout = isNextBlock || pending.length > 0 || isNear(rules, [...accounts, ...unsettled])
  return isAbout || (yield* (yield* Outbox).open).length > 0 ? network.pollBusyMillis : network.pollIdleMillis
})

/** The first reading. If a gateway reports no balances, a year of history takes their place. */
const begin = Effect.fnUntraced(function* (treasury: WatchedTreasury, now: bigint) {
  const base = yield* readBaseTogether(partiesOf(treasury), now)
  if (base === "apart") yield* (yield* disagreement).note("the gateways show different first balances")
  if (base === "unusable" || base === "apart") return false
  const observations = yield* Observations
  yield* noteWatched(partiesOf(treasury))
  if (base === "unsupported") {
    yield* observations.rebase([], { timestamp: aligned(now - reachNanos), height: 0n })
    return true
  }
  yield* observations.rebase(base.openings, { timestamp: base.until, height: base.height })
  yield* (yield* Signals).wake("engine")
  return false
})

interface Progress {
  readonly watermark: Watermark
  readonly now: bigint
  readonly pace: Ref.Ref<ReadingPace>
}

/**
 * The rows behind the watermark, as a quorum of the gateways gives them; where one is enough, as the best one does. One
 * that gives others than the quorum counts for nothing for a while.
 */
const readTogether = Effect.fnUntraced(function* (
  treasury: WatchedTreasury,
  { watermark, now, paces }: Pick<Progress, "watermark" | "now"> & { readonly paces: Paces },
) {
  const gateways = yield* Gateways
  const trouble = yield* disagreement
  const read = (gateway: Gateway) =>
    Effect.map(readOn(gateway, treasury, { watermark, now, pace: paceOf(paces, gateway.name) }), (answer) => ({
      answer,
      by: [gateway.name],
    }))
  if (gateways.quorum === 1) {
    const alone = yield* gateways.first(read)
    yield* trouble.end
    return alone
  }
  const answers = yield* gateways.several(read).pipe(Effect.tapError(() => Effect.flatMap(tooFewWords, trouble.note)))
  const given = answers.map(({ gateway, value }) => ({ name: gateway.name, answer: value.answer }))
  const agreement = agreedRows(given, gateways.quorum, watermark.timestamp)
  if (agreement._tag === "Waiting") return { answer: agreement.answer, by: [] }
  if (agreement._tag === "Apart") {
    yield* trouble.note(agreement.detail)
    return { answer: noAnswer, by: [] }
  }
  yield* trouble.end
  const health = yield* Health
  const others = agreement.by.join(" and ")
  for (const name of agreement.apart) yield* health.quarantine(name, `its balance changes are not those of ${others}`)
  return { answer: agreement.answer, by: agreement.by }
})

/** Why too few answer, in words that stay the same while it does. */
const tooFewWords = Effect.gen(function* () {
  const { all, quorum } = yield* Gateways
  const views = yield* (yield* Health).all
  const out = views.filter(({ state }) => state !== "up" && state !== "lagging")
  const who = out.map(({ name, state }) => `${name} is ${state}`).join(", ")
  return `fewer than ${quorum} of ${all.length} gateways answer${who === "" ? "" : `: ${who}`}`
})

/** The rows from the watermark on, window by window. */
const readOn = Effect.fnUntraced(function* (
  reader: Gateway,
  treasury: WatchedTreasury,
  progress: Progress,
): Effect.fn.Return<WindowAnswer, GatewayError> {
  const { watermark, now, pace } = progress
  const parties = partiesOf(treasury)
  const usual = treasury.pageRows ?? defaultPageRows
  const rows: Array<BalanceChange> = []
  // Only an answer that names its block proves that no row before the watermark comes late.
  const isProven = watermark.height > 0n && (yield* Ref.get(pace)).hasMarks
  let from = isProven ? watermark.timestamp : watermark.timestamp - overlapNanos
  for (;;) {
    const known = yield* Ref.get(pace)
    const { span, hasMarks } = known
    const end = from + span < now ? from + span : undefined
    const query = { parties, pageRows: known.largeFor > 0 ? pageRowsMax : usual, now, from }
    const answer = yield* readWindow(reader, { ...query, end }).pipe(
      Effect.catchReasons("GatewayError", {
        Rejected: (_, error) => refusedPage(pace, error),
        TooLarge: (_, error) => refusedPage(pace, error),
      }),
    )
    if (answer === undefined) continue
    if (answer._tag === "Nothing") yield* Ref.set(pace, { ...known, unsettled: answer.unsettled })
    if (answer._tag !== "Rows") return answer
    if (hasMarks && answer.mark === undefined) {
      // Without marks windows overlap, so that rows which came late are not missed.
      yield* Ref.set(pace, { ...known, hasMarks: false })
      from = watermark.timestamp - overlapNanos
      continue
    }
    yield* Ref.set(pace, {
      ...known,
      span: nextSpan(span, answer, query),
      largeFor: nextLargeFor(known, answer, usual),
      hasMarks: answer.mark !== undefined,
      unsettled: answer.unsettled,
    })
    rows.push(...answer.rows)
    // A window wholly inside the overlap makes no progress.
    if (answer.until > watermark.timestamp || !answer.more) return { ...answer, rows }
    from = answer.until
  }
})

/** A gateway that refuses a large page gets usual ones from then on; any other refusal stays one. */
const refusedPage = Effect.fnUntraced(function* (pace: Ref.Ref<ReadingPace>, error: GatewayError) {
  const known = yield* Ref.get(pace)
  if (known.largeFor === 0) return yield* error
  yield* Ref.set(pace, { ...known, largeFor: 0, mayGrow: false })
  return undefined
})

const keep = Effect.fnUntraced(function* (
  treasury: WatchedTreasury,
  watermark: Watermark,
  answer: WindowAnswer & { readonly _tag: "Rows" },
) {
  const observations = yield* Observations
  const signals = yield* Signals
  // A window in the past names no height: the last known one is not too high.
  const height = answer.height === 0n && answer.mark !== undefined ? watermark.height : answer.height
  const changes = yield* observations.advance(answer.rows, { timestamp: answer.until, height })
  yield* logBalanceChanges(treasury, changes, { after: watermark, upTo: answer.height })
  yield* signals.wake("engine")
  if (changes.length > 0) yield* signals.wake("reconcile")
})
