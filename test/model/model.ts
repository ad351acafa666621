import { type Attempt, type AttemptState, attemptsMax, isFinalAttempt } from "../../src/domain/Attempt.ts"
import { TransferId } from "../../src/domain/Hex.ts"
import { type Intent, type IntentState, isFinalIntent } from "../../src/domain/Intent.ts"
import { GatewayError } from "../../src/gateway/GatewayError.ts"
import * as evidence from "../../src/payments/judgeAttempt.ts"
import { classifyAnswer, classifyError, maySend, type SendVerdict } from "../../src/payments/planSend.ts"
import { type IntentFacts, judgeVerb, type Verb } from "../../src/submitter/endIntent.ts"
import { mayMoveAttempt, mayMoveIntent } from "../support/mayMove.ts"
import { attemptOf as attemptWith, intentOf } from "../support/Payments.ts"

/**
 * One intent in a small world: a window of five blocks, three attempts, two replicas on one store, a mempool that
 * takes, drops and forgets as it likes, gateways that answer anything or nothing, and somebody who broadcasts our
 * public bytes again whenever it hurts. Heights are kept as distances from the newest block, so that the world is
 * finite and no bound on time is needed. Every step of the client is taken by the product's own functions.
 */

const windowBlocks = 5
/** Distances beyond this are alike: the window, its margin and both listings are over. */
const far = 12
/** A distance at which even the wait for a proof is over. */
const veryFar = 90

/** What the explorer may put in the place of a product's function, to see that a mistake would be found. */
export interface Rules {
  readonly maySend: typeof maySend
  readonly judgeAbsence: typeof evidence.judgeAbsence
  readonly sureHeight: typeof evidence.sureHeight
  readonly afterExpiry: typeof evidence.afterExpiry
  readonly judgeVerb: typeof judgeVerb
  /** Whether an answer that refuses the bytes ends the attempt. The product's never does. */
  readonly refusalIsDeath: boolean
  /** Whether a send that a crash cut off counts as one that never began. The product's never does. */
  readonly forgetsCutSends: boolean
}

export const productRules: Rules = {
  maySend,
  judgeAbsence: evidence.judgeAbsence,
  sureHeight: evidence.sureHeight,
  afterExpiry: evidence.afterExpiry,
  judgeVerb,
  refusalIsDeath: false,
  forgetsCutSends: false,
}

export interface Try {
  readonly state: AttemptState
  /** Newest height minus the anchor's. */
  readonly age: number
  /** Whether a POST ever began: from then on anyone may have the bytes. */
  readonly sent: boolean
  /** Whether the last answer was a refusal that the same command would meet again. */
  readonly refused: boolean
  /** In some mempool. */
  readonly waiting: boolean
  /** Newest height minus that of its block; undefined while it is in none. */
  readonly executed: number | undefined
  /** Whether it failed in its block. */
  readonly failed: boolean
  /** Newest height minus that of the first listing that did not hold it. */
  readonly absent: number | undefined
}

export interface World {
  readonly intent: IntentState
  readonly tries: ReadonlyArray<Try>
  /** For each replica the attempt whose answer it awaits, or -1. */
  readonly awaits: readonly [number, number]
}

export interface Step {
  readonly name: string
  readonly world: World
}

export const start: World = { intent: "reserved", tries: [], awaits: [-1, -1] }

const now = 1_000n

/** The attempt as the product's functions see it, at a distance of its anchor from the newest block. */
const attemptOf = (k: number, t: Try): Attempt =>
  attemptWith(intentOf("a"), k + 1, {
    nonce: BigInt(k + 1),
    anchorHeight: now - BigInt(t.age),
    windowBlocks,
    transferId: TransferId.make(String(k).repeat(64)),
    state: t.state,
    sends: t.sent ? 1 : 0,
    createdAt: clock.now - t.age * clock.blockMillis,
    updatedAt: 0,
  })

const answer = (success: boolean, code: number, data = ""): SendVerdict =>
  classifyAnswer({ success, code, data }, false)

/** Anything that can come back; a gateway may say any of it whatever it did. */
const verdicts: ReadonlyArray<readonly [string, SendVerdict]> = [
  ["taken", answer(true, 0)],
  ["refused with 70", answer(false, 70)],
  ["refused with 60", answer(false, 60)],
  ["known", answer(false, 89, "nonce already used by party")],
  ["out of window", answer(false, 89, "unknown block height")],
  [
    "nothing",
    classifyError(new GatewayError({ gateway: "g", operation: "submit", reason: { _tag: "Unreachable", detail: "" } })),
  ],
]

/** Blocks before the window's end in which nothing is sent: the specification's three for a window of five. */
const marginOfFive = 3

/** How far the client's newest known height is behind the network's. */
const tipLags = [0, 1, 2] as const
/** How far a listing is behind: fresh, a little, and so much that it was read before the window's last block. */
const listingLags = [0, 1, 2, 5] as const
/** Executions and listings longer ago are alike. */
const past = Math.max(...listingLags) + 2

/** A head, and marks of listings, that a lie of some seconds moves ahead: the clock does not follow. */
const lied = now + 900n
/** A block a second: what was signed so many blocks ago was signed so many seconds ago. */
const clock = { now: 1_000_000, blockMillis: 1_000 }

const replace = (world: World, k: number, change: Partial<Try>): World => ({
  ...world,
  tries: world.tries.map((t, i) => (i === k ? { ...t, ...change } : t)),
})

const moveIntent = (world: World, to: IntentState): World => {
  if (world.intent === to) return world
  if (!mayMoveIntent(world.intent, to)) throw new Error(`the intent may not go from ${world.intent} to ${to}`)
  return { ...world, intent: to }
}

const moveTry = (world: World, k: number, to: AttemptState): World => {
  const from = world.tries[k]!.state
  if (from === to) return world
  if (!mayMoveAttempt(from, to)) throw new Error(`attempt ${k + 1} may not go from ${from} to ${to}`)
  return replace(world, k, { state: to })
}

const reflect = (world: World, k: number): World =>
  world.intent === "in_flight" || world.intent === "unknown"
    ? moveIntent(world, evidence.intentStateOf(world.tries[k]!.state))
    : world

/** All that can happen next. */
export const stepsOf = (world: World, rules: Rules): ReadonlyArray<Step> => [
  ...networkSteps(world),
  ...(isFinalIntent(world.intent) ? [] : clientSteps(world, rules)),
]

const canEnter = (t: Try): boolean => t.sent && t.executed === undefined && t.age >= 0 && t.age < windowBlocks

const networkSteps = (world: World): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (const [k, t] of world.tries.entries()) {
    // A late POST, a node that gossips and an attacker look alike.
    if (canEnter(t) && !t.waiting) {
      steps.push({ name: `somebody broadcasts attempt ${k + 1}`, world: replace(world, k, { waiting: true }) })
    }
    if (t.waiting) {
      steps.push({ name: `the mempool forgets attempt ${k + 1}`, world: replace(world, k, { waiting: false }) })
    }
  }
  const older = (t: Try): Try => ({
    ...t,
    age: Math.min(far, t.age + 1),
    // Windows end by themselves: what is not in a block by then never will be.
    waiting: t.waiting && t.age + 1 < windowBlocks,
    executed: t.executed === undefined ? undefined : Math.min(past, t.executed + 1),
    absent: t.absent === undefined ? undefined : Math.min(past, t.absent + 1),
  })
  const block = (name: string, taken: number, failed: boolean): void => {
    const tries = world.tries.map((t, k) =>
      k === taken ? { ...older(t), waiting: false, executed: 0, failed } : older(t),
    )
    steps.push({ name, world: { ...world, tries } })
  }
  block("a block without us", -1, false)
  for (const [k, t] of world.tries.entries()) {
    if (!t.waiting) continue
    block(`a block with attempt ${k + 1}`, k, false)
    block(`a block in which attempt ${k + 1} fails`, k, true)
  }
  return steps
}

const clientSteps = (world: World, rules: Rules): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  const live = world.tries.findIndex((t) => !isFinalAttempt(t.state))
  if (world.intent === "reserved" && live < 0 && world.tries.length < attemptsMax) {
    for (const age of [0, 1]) {
      const signed: Try = {
        state: "signed",
        age,
        sent: false,
        refused: false,
        waiting: false,
        executed: undefined,
        failed: false,
        absent: undefined,
      }
      const next = moveIntent({ ...world, tries: [...world.tries, signed] }, "in_flight")
      steps.push({ name: `attempt ${world.tries.length + 1} is signed on block -${age}`, world: next })
    }
  }
  for (const replica of [0, 1] as const) steps.push(...replicaSteps(world, rules, replica, live))
  if (live >= 0) steps.push(...looks(world, rules, live))
  return [...steps, ...peopleSteps(world, rules)]
}

/** What people do: they try every verb at any time, and say of the ledger only what it holds. */
const peopleSteps = (world: World, rules: Rules): ReadonlyArray<Step> => {
  const paid = world.tries.findIndex((t) => t.executed !== undefined && !t.failed)
  const hash = "e".repeat(64)
  const isInBlock = world.tries.some((t) => t.executed !== undefined)
  const verbs: ReadonlyArray<Verb> = [
    { verb: "cancel" },
    { verb: "abandon" },
    ...(isInBlock ? [] : [{ verb: "never_executed" } as const]),
    ...(paid < 0 ? [] : [{ verb: "executed", hash } as const]),
  ]
  return verbs.flatMap((verb) =>
    tipLags.flatMap((lag): ReadonlyArray<Step> => {
      const facts: IntentFacts = {
        intent: { state: world.intent } as Intent,
        attempts: world.tries.map((t, k) => attemptOf(k, t)),
        sends: [{ k: paid + 1, txHash: hash }],
        evidence: [],
        done: new Set(),
        height: now - BigInt(lag),
        accepted: now - BigInt(lag),
        ...clock,
      }
      const judged = rules.judgeVerb(verb, facts)
      if (!judged.permitted) return []
      const { ends } = judged
      const ended = ends === undefined ? world : moveTry(world, ends.attempt.k - 1, ends.to)
      return [{ name: `a person says ${verb.verb}`, world: moveIntent(ended, judged.to) }]
    }),
  )
}

const awaiting = (world: World, replica: 0 | 1, k: number): World => ({
  ...world,
  awaits: replica === 0 ? [k, world.awaits[1]] : [world.awaits[0], k],
})

const replicaSteps = (world: World, rules: Rules, replica: 0 | 1, live: number): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  const who = `replica ${replica + 1}`
  const k = world.awaits[replica]
  if (k >= 0) {
    const gone = awaiting(world, replica, -1)
    steps.push({
      name: `${who} dies while it waits for an answer about attempt ${k + 1}`,
      world: rules.forgetsCutSends && world.tries[k]!.state === "sending" ? cutSendForgotten(gone, k, rules) : gone,
    })
    for (const [name, verdict] of verdicts) {
      steps.push({ name: `${who} hears about attempt ${k + 1}: ${name}`, world: hear(gone, k, verdict, rules) })
    }
    return steps
  }
  if (live < 0) return steps
  const t = world.tries[live]!
  for (const lag of tipLags) {
    if (!rules.maySend(attemptOf(live, t), now - BigInt(lag))) continue
    if (t.age - lag >= windowBlocks - marginOfFive) throw new Error("bytes are sent inside the margin")
    const begun = replace(moveTry(world, live, "sending"), live, { sent: true })
    steps.push({
      name: `${who} begins to send attempt ${live + 1}`,
      world: awaiting(reflect(begun, live), replica, live),
    })
    break
  }
  return steps
}

/** The answer changes an attempt that still waits for one; settled meanwhile, it stays as it is. */
const hear = (world: World, k: number, verdict: SendVerdict, rules: Rules): World => {
  const before = world.tries[k]!.state
  if (before !== "sending") return world
  const refused = verdict.outcome === "refused" && verdict.code === 60
  const heard = replace(moveTry(world, k, evidence.stateAfterSend(before, verdict)), k, { refused })
  if (rules.refusalIsDeath && verdict.state === "refused") return over(heard, k, rules, undefined)
  return reflect(heard, k)
}

const over = (world: World, k: number, rules: Rules, refusal: number | undefined): World => {
  const ended = moveTry(world, k, "expired")
  return moveIntent(ended, rules.afterExpiry(k + 1, refusal, world.intent))
}

const cutSendForgotten = (world: World, k: number, rules: Rules): World => over(world, k, rules, undefined)

/** A look at the ledger: found, absent as a listing shows it, or given up. */
const looks = (world: World, rules: Rules, k: number): ReadonlyArray<Step> => {
  const t = world.tries[k]!
  const attempt = attemptOf(k, t)
  const steps: Array<Step> = []
  if (t.executed !== undefined && t.executed > 0) {
    const state = t.failed ? "failed" : "confirmed"
    steps.push({ name: `attempt ${k + 1} is found`, world: moveIntent(moveTry(world, k, state), state) })
  }
  const isDead = [now, lied].some((told) =>
    evidence.isDeadUnsent(attempt, t.sent ? 1 : 0, rules.sureHeight(attempt, { reported: told, ...clock })),
  )
  if (isDead) {
    steps.push({ name: `attempt ${k + 1} was never sent and is over`, world: over(world, k, rules, undefined) })
  }
  if (t.state === "signed") return steps
  for (const behind of tipLags) {
    for (const told of [now - BigInt(behind), lied]) {
      const tip = rules.sureHeight(attempt, { reported: told, ...clock })
      const isLied = told === lied
      // What is hidden from a listing no bound of heights can show: of a false mark its rows are fresh.
      for (const lag of isLied ? [0] : listingLags) {
        for (const complete of [true, false]) {
          const step = reading(world, rules, k, { tip, lag, complete, isLied })
          if (step !== undefined) steps.push(step)
        }
      }
    }
  }
  const old = attemptOf(k, { ...t, age: veryFar })
  const calls = evidence.isProofOverdue(old, rules.sureHeight(old, { reported: now, ...clock }))
  if (t.age >= far && calls && world.intent !== "manual") {
    steps.push({ name: "people are called", world: moveIntent(world, "manual") })
  }
  return steps
}

interface Reading {
  readonly tip: evidence.SureHeight
  readonly lag: number
  readonly complete: boolean
  /** Whether its mark is as far ahead as the head of a lie. */
  readonly isLied: boolean
}

/** What one reading of the listing, whole or torn, makes of an attempt; undefined where it changes nothing. */
const reading = (world: World, rules: Rules, k: number, { tip, lag, complete, isLied }: Reading): Step | undefined => {
  const t = world.tries[k]!
  const earlier = t.absent === undefined ? [] : [now - BigInt(t.absent)]
  // Rows of a block are in a listing once the next block has begun.
  const mark = isLied ? lied : now - BigInt(lag)
  const listing = { height: mark, complete, holds: t.executed !== undefined && t.executed > lag }
  const seen = isLied ? evidence.quorumListing([listing], { quorum: 1, tip }) : listing
  const name = `a ${complete ? "whole" : "torn"} listing ${lag} blocks behind`
  const judged = rules.judgeAbsence(attemptOf(k, t), tip, seen, earlier)
  const { height } = seen
  if (judged === "nothing" || height === undefined) return undefined
  return judged === "note"
    ? { name: `${name} does not hold attempt ${k + 1}`, world: replace(world, k, { absent: Number(now - height) }) }
    : { name: `${name} proves attempt ${k + 1} dead`, world: over(world, k, rules, t.refused ? 60 : undefined) }
}

/**
 * The same world with all left out that cannot matter any more: which replica is which, and how a final attempt came to
 * its end once no block can take it.
 */
export const essence = (world: World): World => {
  const [a, b] = world.awaits
  return {
    intent: world.intent,
    awaits: a <= b ? [a, b] : [b, a],
    tries: world.tries.map((t) =>
      isFinalAttempt(t.state) && t.age >= windowBlocks
        ? {
            ...t,
            age: far,
            sent: true,
            refused: false,
            absent: undefined,
            executed: t.executed === undefined ? undefined : past,
          }
        : t,
    ),
  }
}
