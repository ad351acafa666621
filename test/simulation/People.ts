import { Effect, Exit, type Fiber } from "effect"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { type EndVerb, endPayment, haltAll, pauseScope, resumeScope } from "../../src/http/controlVerbs.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { makeDice } from "../support/Dice.ts"
import { agreed } from "./agreed.ts"
import type { Docket } from "./Docket.ts"
import type { Services } from "./Replica.ts"

/** What somebody does to the daemon at a block. */
export type Deed = { readonly block: number } & (
  | { readonly do: "pause"; readonly scope: string; readonly blocks: number; readonly ends: "itself" | "resume" }
  | { readonly do: "halt"; readonly blocks: number }
  | { readonly do: "submit"; readonly key: string; readonly to: "hot" | "warm"; readonly amount: number }
  | { readonly do: "end"; readonly verb: Exclude<EndVerb, "resolve"> }
)

const scopes = ["all", "rule:keep", "party:hot", "party:warm", "party:reserve", "rule:submit"] as const
const verbs = ["abandon", "cancel", "reject"] as const

/** In a third of the runs people are about. The dice are their own: all other runs go as if nobody were. */
export const deedsOf = (seed: number, blocks: number): ReadonlyArray<Deed> => {
  const dice = makeDice(`people ${seed}`)
  if (dice.next() >= 1 / 3) return []
  return Array.from({ length: 1 + dice.below(6) }, (_, i): Deed => {
    const block = 2 + dice.below(blocks - 4)
    const drawn = dice.next()
    if (drawn < 0.3) {
      const scope = dice.pick(scopes.slice(0, -1)) ?? "all"
      return { block, do: "pause", scope, blocks: 1 + dice.below(20), ends: dice.next() < 0.4 ? "itself" : "resume" }
    }
    if (drawn < 0.45) return { block, do: "halt", blocks: 1 + dice.below(15) }
    if (drawn < 0.8) {
      const to = dice.pick(["hot", "warm"] as const) ?? "hot"
      const amount = 1 + dice.below(4_000)
      // Some are so large that one policy permits them and a tighter one does not.
      return { block, do: "submit", key: `by-hand-${i}`, to, amount: amount % 5 === 0 ? 5 * amount : amount }
    }
    return { block, do: "end", verb: dice.pick(verbs) ?? "abandon" }
  }).toSorted((a, b) => a.block - b.block)
}

export const describeDeed = (deed: Deed): string => {
  const at = `at block ${deed.block}`
  if (deed.do === "pause") return `pause ${deed.scope} ${at} for ${deed.blocks}, ended by ${deed.ends}`
  if (deed.do === "halt") return `halt ${at} for ${deed.blocks}`
  return deed.do === "submit" ? `submit ${deed.amount} to ${deed.to} ${at}` : `${deed.verb} ${at}`
}

/** Something that a person wants done, and asks for again where nobody answers. */
interface Wish {
  readonly name: string
  readonly effect: Effect.Effect<unknown, unknown, Services>
  /** Block before which it is not asked for. */
  from: number
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  /** The process that was asked. */
  process?: object | undefined
  readonly onDone: (value: unknown) => void
}

export interface People {
  /** Somebody wants this done from a block on, and asks again where nobody answers. */
  readonly wish: (name: string, from: number, effect: Wish["effect"], onDone?: Wish["onDone"]) => void
  /** Somebody does one more thing. */
  readonly begin: (deed: Deed) => void
  /** Somebody looks at what a process says, if one is up and answers at once. */
  readonly look: <A>(effect: Effect.Effect<A, unknown, Services>, see: (seen: A) => void) => void
  /** Does what is due at this block, and asks again for what nobody answered. */
  readonly atBlock: (block: number) => void
  /** Ends every pause and halt of theirs that is still in force: the trouble is over. */
  readonly letGo: (block: number) => void
  /** Base units that the daemon took to be paid to a party by name. */
  readonly handedIn: (to: string) => bigint
  /** Ids of the payments that the daemon said that it took. */
  readonly taken: ReadonlySet<string>
}

interface Around {
  readonly deeds: ReadonlyArray<Deed>
  readonly docket: Docket
  readonly dataDir: string
  readonly blockMillis: number
  readonly now: () => number
  /** Runs an effect in a process that is up; undefined where there is none. */
  readonly act: <A>(effect: Effect.Effect<A, unknown, Services>) => Fiber.Fiber<A, unknown> | undefined
  /** The process that is up, if one is. */
  readonly process: () => object | undefined
  /** Lets all that needs no time be done. */
  readonly rest: () => void
}

/** Blocks after which a person who heard nothing asks the next process. */
const patienceBlocks = 6
/**
 * The same if the process that was asked lives: a verb that reads the ledger takes its time, and begins its wait again
 * when it is repeated.
 */
const longPatienceBlocks = 60
const unit = 1_000_000n
const said = { author: "zoe", reason: "looks at it" }

/** A verb of a person on the treasury in force, as the socket does it. */
const inForce = <A, E, R>(verb: (treasury: DaemonOptions["treasury"]) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(ConfigInForce, ({ now }) => verb(now().treasury))

/** The people of one run. */
export const makePeople = ({ deeds, docket, dataDir, blockMillis, now, act, process, rest }: Around): People => {
  const wishes: Array<Wish> = []
  const taken = new Set<string>()
  const sums = new Map<string, bigint>()
  const wish: People["wish"] = (name, from, effect, onDone = () => {}) => {
    wishes.push({ name, effect, from, fiber: undefined, onDone })
  }
  const resume = (scope: string, from: number) =>
    wish(
      scope === "all" ? "resume" : "resume a scope",
      from,
      inForce((treasury) =>
        agreed((signature) =>
          resumeScope({ treasury, dataDir }, { scope, ...said, ...(signature === undefined ? {} : { signature }) }),
        ),
      ),
    )
  const begin = (deed: Deed) => {
    const { block } = deed
    if (deed.do === "halt") {
      wish("halt", block, haltAll(said))
      return resume("all", block + deed.blocks)
    }
    if (deed.do === "pause") {
      const { scope, blocks, ends } = deed
      const until = ends === "itself" ? now() + blocks * blockMillis : undefined
      wish(
        "pause",
        block,
        inForce((treasury) => pauseScope(treasury, { scope, ...said, ...(until === undefined ? {} : { until }) })),
      )
      return ends === "resume" ? resume(scope, block + blocks) : undefined
    }
    if (deed.do === "submit") {
      const { key: idempotencyKey, to, amount } = deed
      const transfer = { from: "reserve", to, asset: "USDT", amount: String(amount) }
      // What was handed in may be taken by a process that dies before it says so.
      sums.set(to, (sums.get(to) ?? 0n) + BigInt(amount) * unit)
      const effect = inForce((treasury) => submitPayment(treasury, "live", { idempotencyKey, author: "zoe", transfer }))
      return wish("submit", block, effect, (answer) => taken.add((answer as { readonly intentId: string }).intentId))
    }
    const { verb } = deed
    const effect = inForce((treasury) => endFirst(treasury, verb))
    return wish(verb, block, effect, (outcome) => docket.event(`${verb}: ${String(outcome)}`))
  }
  return {
    taken,
    wish,
    begin,
    look: (effect, see) => {
      const fiber = act(effect)
      rest()
      const exit = fiber?.pollUnsafe()
      if (exit !== undefined && Exit.isSuccess(exit)) see(exit.value)
    },
    handedIn: (to) => sums.get(to) ?? 0n,
    atBlock: (block) => {
      for (const deed of deeds) if (deed.block === block) begin(deed)
      for (const one of wishes.filter(({ from }) => from <= block)) {
        const exit = one.fiber?.pollUnsafe()
        if (exit === undefined) {
          // A process that died never answers; the one that lives hears of it for the second time.
          const patience = one.process === process() ? longPatienceBlocks : patienceBlocks
          if (one.fiber !== undefined && block < one.from + patience) continue
          one.process = process()
          one.fiber = act(one.effect)
          one.from = block
          continue
        }
        wishes.splice(wishes.indexOf(one), 1)
        docket.event(Exit.isSuccess(exit) ? one.name : `${one.name}: failed`)
        if (Exit.isSuccess(exit)) one.onDone(exit.value)
      }
    },
    letGo: (block) => {
      for (const deed of deeds) if (deed.do === "pause") resume(deed.scope, block)
      resume("all", block)
    },
  }
}

/** Ends the oldest open payment in this way, where that is permitted; says what came of it. */
const endFirst = Effect.fnUntraced(function* (treasury: DaemonOptions["treasury"], verb: Exclude<EndVerb, "resolve">) {
  const [intent] = yield* (yield* Outbox).open
  if (intent === undefined) return "nothing is open"
  const done = yield* endPayment(treasury, intent.id, verb, said)
  return "ended" in done ? `done (${done.ended.state})` : "refused"
})
