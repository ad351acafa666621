import { type ProfileName, profiles } from "../../src/sandbox/Profiles.ts"
import type { Scenario } from "../../src/sandbox/Scenario.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { type Book, drawBook, plainBook, rewritten, withPayouts } from "./Book.ts"
import type { Plan } from "./Plan.ts"

/** A file that the operator writes anew at a block. */
export interface Rewrite {
  readonly block: number
  readonly book: Book
  /** What it is beside the file before. */
  readonly how: string
  /** Whether it is asked for, or the process is killed and started with it. */
  readonly by: "reload" | "start"
  readonly allowWeaker: boolean
}

/** What changes for a while: from a block to before another. */
interface While {
  readonly block: number
  readonly until: number
}

/** A copy of the store is made at a block, and put in its place at a later one. */
export interface Restore {
  readonly copied: number
  readonly block: number
  /** As a file of its own, or with the whole disk: then nothing shows that the file is not the same. */
  readonly how: "file" | "disk"
  /**
   * What is waited for from the block on. `under way`: a payment that the copy does not know, of which the network has
   * lost what was sent. `at rest`: such a payment is paid, and no other one is under way.
   */
  readonly when: "at once" | "under way" | "at rest"
}

/** What happens to a treasury beside faults of its network: what its operator writes, what people and machines do. */
export interface Wild {
  readonly book: Book
  readonly rewrites: ReadonlyArray<Rewrite>
  /** How those who must approve do it. */
  readonly approver: "prompt" | "late" | "never" | "refuses"
  /** Blocks at which our key pays elsewhere, and how many whole units. */
  readonly elsewhere: ReadonlyArray<{ readonly block: number; readonly amount: number }>
  readonly restore: Restore | undefined
  /** Block at which a person asks for all that is above the floor, so that its fee is not there. */
  readonly dare: number | undefined
  /** A HALT file lies there. */
  readonly haltFile: While | undefined
  /** Nobody answers for minutes, and there is no block either. */
  readonly outage: { readonly block: number; readonly minutes: number } | undefined
  /** The disk takes nothing more. */
  readonly fullDisk: While | undefined
  /** Receivers of alerts do not answer, or refuse. */
  readonly deaf: (While & { readonly how: "hang" | "refuse" }) | undefined
  /** Another fee, epoch or least amount by vote, and back. */
  readonly votes: ReadonlyArray<{ readonly block: number; readonly changes: Partial<Scenario> }>
  /** Two of three gateways are so many blocks behind. */
  readonly lag: (While & { readonly blocks: readonly [number, number] }) | undefined
  /** The liar among three lies about one operation alone, for the whole run. */
  readonly lieOf: "height" | "transfers" | "balances" | "submit" | undefined
  /** Network parameters cannot be read before this block. */
  readonly unreadUntil: number
  /** Whether an account is emptied once all is at rest: it is to be filled. */
  readonly lastly: boolean
}

/** A run without any of it. */
export const tame: Wild = {
  book: plainBook,
  rewrites: [],
  approver: "prompt",
  elsewhere: [],
  restore: undefined,
  dare: undefined,
  haltFile: undefined,
  outage: undefined,
  fullDisk: undefined,
  deaf: undefined,
  votes: [],
  lag: undefined,
  lieOf: undefined,
  unreadUntil: 0,
  lastly: false,
}

const voted: ReadonlyArray<Partial<Scenario>> = [
  { feeFactor: "0.003" },
  { feeFactor: "0.02" },
  { feeMaxQuantum: "3" },
  { transfersPerEpoch: 2 },
  { minTransferQuantum: "50" },
  { minTransferQuantum: "1000" },
]

/** What the plan of a seed has besides, by dice of its own. */
export const wildOf = (
  seed: number,
  {
    blocks,
    blockMillis,
    liar,
    manyNodes,
    profile,
  }: Pick<Plan, "blocks" | "blockMillis" | "liar" | "manyNodes" | "profile">,
): Wild => {
  const dice = makeDice(`wild ${seed}`)
  const chance = (share: number) => dice.next() < share
  const at = () => 5 + dice.below(Math.max(1, blocks - 15))
  const lasting = (most: number): While => {
    const block = at()
    return { block, until: Math.min(blocks, block + 1 + dice.below(most)) }
  }
  const drawn = chance(0.45) ? drawBook(dice, blocks * blockMillis) : undefined
  const worst = !manyNodes ? worstRestoreOf(seed, blocks, profile) : undefined
  // What was paid by a balance is seen in it by a store that has forgotten it: of what was planned nothing tells.
  const book = worst?.how === "disk" ? withPayouts(seed, drawn ?? plainBook, blocks * blockMillis) : drawn
  const rewrites = chance(0.25) ? rewritesOf(dice, book ?? plainBook, blocks) : []
  return {
    book: book ?? plainBook,
    rewrites,
    approver: dice.pick(["prompt", "prompt", "late", "never", "refuses"] as const) ?? "prompt",
    elsewhere: chance(0.06) ? [{ block: at(), amount: 50 + dice.below(500) }] : [],
    restore: (chance(0.06) ? restoreOf(dice, blocks) : undefined) ?? worst,
    haltFile: chance(0.06) ? lasting(15) : undefined,
    outage: chance(0.04) ? { block: at(), minutes: 35 + dice.below(20) } : undefined,
    fullDisk: chance(0.06) ? lasting(20) : undefined,
    deaf: chance(0.1) ? { ...lasting(60), how: chance(0.5) ? "hang" : "refuse" } : undefined,
    votes: chance(0.12) ? votesOf(dice, at) : [],
    lag: liar && chance(0.4) ? { ...lasting(60), blocks: [1 + dice.below(12), 1 + dice.below(12)] } : undefined,
    lieOf: liar && chance(0.5) ? dice.pick(["height", "transfers", "balances", "submit"] as const) : undefined,
    unreadUntil: chance(0.08) ? 10 + dice.below(30) : 0,
    lastly: chance(0.25) || worst !== undefined,
    dare: book?.floor === undefined ? undefined : at(),
  }
}

const describeRestore = ({ copied, block, how, when }: Restore): string =>
  `the ${how === "disk" ? "disk" : "store"} of block ${copied} put back at ${block}${when === "at once" ? "" : ` or later, ${when}`}`

const votesOf = (dice: Dice, at: () => number): Wild["votes"] => {
  const changes = dice.pick(voted) ?? {}
  return [{ block: at(), changes }]
}

const restoreOf = (dice: Dice, blocks: number): Wild["restore"] => {
  const copied = 5 + dice.below(Math.floor(blocks / 2))
  const block = copied + 1 + dice.below(Math.max(1, blocks - copied - 10))
  return { copied, block, how: "file", when: "at once" }
}

/** In a sixth of the runs, by dice of their own: the moments at which a store that is put back could pay twice. */
const worstRestoreOf = (seed: number, blocks: number, profile: ProfileName): Wild["restore"] => {
  const dice = makeDice(`restore ${seed}`)
  if (dice.next() >= 0.16) return undefined
  const copied = 5 + dice.below(Math.floor(blocks / 3))
  const block = copied + 3 + dice.below(Math.floor(blocks / 4))
  // Where no transfers are listed, nothing but a watermark tells of a disk that was put back.
  return dice.next() < 0.5 || profiles[profile].surface !== "full"
    ? { copied, block, how: "file", when: "under way" }
    : { copied, block, how: "disk", when: "at rest" }
}

const rewritesOf = (dice: Dice, first: Book, blocks: number): Wild["rewrites"] => {
  let book = first
  return Array.from({ length: 1 + dice.below(3) }, () => 5 + dice.below(blocks - 15))
    .toSorted((a, b) => a - b)
    .map((block) => {
      const next = rewritten(dice, book)
      book = next.book
      return { block, ...next, by: dice.next() < 0.65 ? "reload" : "start", allowWeaker: dice.next() < 0.5 } as const
    })
}

/** Words for what a run has of it. */
export const describeWild = (wild: Wild): ReadonlyArray<string> => {
  const { book, rewrites, elsewhere, restore, haltFile, outage, fullDisk, deaf, votes, lag, lieOf } = wild
  const approval = book.approval === undefined ? "" : `, approved by ${book.approval.need} (${wild.approver})`
  return [
    ...book.payouts.map(
      ({ rule, amount, seconds, missed }) => `${rule} of ${amount} each :${seconds.join(":")} ${missed}`,
    ),
    ...(book.payouts.length === 0 ? [] : [`payouts${approval}`]),
    book.maker ?? "",
    book.floor === undefined ? "" : `floor ${book.floor}`,
    ...rewrites.map(
      ({ block, how, by, allowWeaker }) => `${how} by ${by}${allowWeaker ? " allowed" : ""} at block ${block}`,
    ),
    ...elsewhere.map(({ block }) => `pays elsewhere at block ${block}`),
    restore === undefined ? "" : describeRestore(restore),
    wild.dare === undefined ? "" : `all above the floor asked for at block ${wild.dare}`,
    haltFile === undefined ? "" : `HALT file at block ${haltFile.block} to ${haltFile.until}`,
    outage === undefined ? "" : `nothing for ${outage.minutes} min from block ${outage.block}`,
    fullDisk === undefined ? "" : `disk full from block ${fullDisk.block} to ${fullDisk.until}`,
    deaf === undefined ? "" : `receivers ${deaf.how} from block ${deaf.block} to ${deaf.until}`,
    ...votes.map(({ block, changes }) => `vote ${JSON.stringify(changes)} at block ${block}`),
    lag === undefined ? "" : `two of three behind from block ${lag.block} to ${lag.until}`,
    lieOf === undefined ? "" : `the liar lies about ${lieOf}`,
    wild.unreadUntil === 0 ? "" : `no parameters before block ${wild.unreadUntil}`,
  ]
}
