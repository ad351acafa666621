import { cpSync, existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Clock, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { submittedRule } from "../../src/domain/Intent.ts"
import { readReference } from "../../src/domain/Reference.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import type { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { adopt, recover } from "../../src/submitter/audit/adopt.ts"
import { decodeInputData } from "../../src/tx/InputData.ts"
import { decodeTransaction, withChainPrefix } from "../../src/tx/Transaction.ts"
import { type Dice, makeDice } from "../support/Dice.ts"
import { type FlowSetup, flow, pass, round, vault } from "../support/Flow.ts"
import { addressesOf, type Manner, startFronts } from "../support/Fronts.ts"
import { halts } from "../support/Intents.ts"
import { copyTo, folder, life } from "../support/Lives.ts"
import { head, payment, signed, submit, type TestClient } from "../support/TestClient.ts"
import { chainId, one, tether, usdt, vegaAsset } from "../support/TestSandbox.ts"
import { ticking } from "../support/ticking.ts"

/** What a treasury lives through before and after its store is lost. */
export interface History {
  readonly seed: string
  /** Payments of people, by key: each has an amount of its own. */
  readonly handed: Map<string, bigint>
  /** Steps after which the store is lost, each time with the way it is lost. */
  readonly losses: ReadonlyArray<"deleted" | "put back">
  /** Whether bytes of the lost store are still to be executed. */
  readonly isUnderWay: boolean
  readonly gateways: "one" | "three" | "three, one lists nothing" | "one that lists nothing"
}

/** Values of a seed: the same history each time. */
export const historyOf = (seed: string): { readonly history: History; readonly dice: Dice } => {
  const dice = makeDice(seed)
  const kinds = ["deleted", "put back"] as const
  const losses = Array.from({ length: 1 + dice.below(2) }, () => kinds[dice.below(2)]!)
  const gateways = ["one", "one", "three", "three, one lists nothing", "one that lists nothing"] as const
  const isUnderWay = dice.below(3) === 0
  return { history: { seed, handed: new Map(), losses, isUnderWay, gateways: gateways[dice.below(5)]! }, dice }
}

const begin = 1_800_000_000_000
const keyed = (name: string) => ({ publicKey: publicKeyOf("test", name), signer: { sandbox: name } })
const parties = {
  alice: keyed("alice"),
  carol: keyed("carol"),
  dan: keyed("dan"),
  bob: { publicKey: publicKeyOf("test", "bob") },
  eve: { publicKey: publicKeyOf("test", "eve") },
}

const setupOf = ({ gateways }: History): FlowSetup => ({
  // What people pay, and what is planned, is known by the ledger's lists alone: see `handsIn`.
  rules: [
    ...(gateways === "one that lists nothing" ? [] : paydays),
    {
      name: "to-vault",
      withdraw: { from: "carol", asset: "USDT", above: "300", target: "250", to: "vault" },
    },
    {
      name: "share",
      split: {
        from: "dan",
        asset: "USDT",
        above: "400",
        target: "200",
        to: { bob: 50, eve: 50 },
      },
    },
  ],
  allow: [
    { from: "carol", to: ["vault"], asset: "USDT", perTransfer: "600", per24h: "100_000", transfersPer24h: 400 },
    { from: "dan", to: ["bob", "eve"], asset: "USDT", perTransfer: "600", per24h: "100_000", transfersPer24h: 400 },
  ],
  line: { per24h: "100_000" },
  transfersPer24h: 400,
  more: { addresses: { vault }, parties },
  scenario: {
    transfersPerEpoch: 400,
    parties: ["alice", "bob", "carol", "dan", "eve"],
    assets: [{ ...tether, builtin: { maxFaucetAmountMint: "100_000" } }, vegaAsset],
    deposits: [
      { party: "alice", asset: "USDT", amount: "50_000" },
      { party: "bob", asset: "USDT", amount: "150" },
      { party: "carol", asset: "USDT", amount: "350" },
      { party: "dan", asset: "USDT", amount: "250" },
    ],
    ...(gateways === "one that lists nothing" ? { profile: "specification" } : {}),
  },
  ...(gateways.startsWith("three")
    ? {
        gateways: (url: string) =>
          Effect.map(startFronts(url), (fronts) => {
            if (gateways !== "three") fronts[2]!.manner = listsNothing
            return addressesOf(fronts)
          }),
      }
    : {}),
})

const paydays = (["once", "skip"] as const).map((missed, i) => ({
  name: `wage-${missed}`,
  payout: { from: "alice", to: "eve", asset: "USDT", amount: missed === "once" ? "3" : "4" },
  schedule: { cron: `${i + 1},${i + 4},${i + 7},${i + 10},${i + 13},${i + 16} 8 * * *`, missed },
}))

const listsNothing: Manner = async (request, ask) =>
  /^\/api\/v2\/(transfers|withdrawals)$/.test(request.url.pathname)
    ? { status: 404, headers: {}, text: '{"code":5,"message":"Not Found","details":[]}' }
    : ask()

type World = Sandbox["Service"]
interface Here {
  readonly options: DaemonOptions
  readonly world: World
  readonly client: TestClient
  readonly history: History
  readonly dice: Dice
}

const keysOf = ({ treasury }: DaemonOptions): ReadonlyArray<string> =>
  [...treasury.parties.values()].flatMap(({ publicKey, signer }) => (signer === undefined ? [] : [publicKey]))

/** Rounds in which more is asked than the gateway's limiter lets through at once: time goes on meanwhile. */
const rounds = Effect.fnUntraced(function* (options: DaemonOptions, world: World, count: number) {
  for (let i = 0; i < count; i++) {
    const played = round(options, world).pipe(Effect.catchTag("GatewayError", () => Effect.void))
    yield* ticking(played, "20 millis")
  }
})

/** Somebody takes money out of an account that is kept filled, or puts some into one that is emptied. */
const move = Effect.fnUntraced(function* ({ client, history }: Here, from: string, to: string, amount: bigint) {
  const command = payment(client, to, amount * one, { asset: usdt })
  const framing = history.gateways === "one that lists nothing" ? ("prefixed" as const) : ("bare" as const)
  yield* submit(client, signed(client, { from, command, framing, ...(yield* head(client)) }))
})

const hand = ({ options, history: { handed } }: Here, key: string) =>
  submitPayment(options.treasury, "live", {
    idempotencyKey: key,
    transfer: { from: "alice", to: "eve", asset: "USDT", amount: amountText(handed.get(key) ?? 0n) },
  })
const amountText = (amount: bigint) => `${amount / one}.${String(amount % one).padStart(6, "0")}`

/** One thing that happens to the treasury. */
const event = Effect.fnUntraced(function* (here: Here) {
  const { dice, history, options, world } = here
  const chance = dice.below(8)
  if (chance === 0) yield* move(here, "bob", "eve", 90n)
  if (chance === 1) yield* move(here, "eve", "carol", 60n)
  if (chance === 2) yield* move(here, "eve", "dan", 250n)
  if (chance === 3 && history.gateways !== "one that lists nothing") {
    const key = `key-${history.handed.size}`
    history.handed.set(key, 7n * one + BigInt(history.handed.size))
    yield* hand(here, key)
  }
  if (chance === 4) yield* TestClock.adjust(`${dice.below(20)} seconds`)
  yield* rounds(options, world, 1)
})

const live = Effect.map(
  Effect.flatMap(Outbox, (outbox) => outbox.live),
  (all) => all.filter(({ state }) => state === "accepted"),
)

/** A life of the store, with copies of it at random steps. Its end is abrupt. */
const firstLife = Effect.fnUntraced(function* (here: Here, copies: Array<string>) {
  const { dice, history, options } = here
  yield* (yield* Settings).rememberFraming(chainId, history.gateways === "one that lists nothing" ? "prefixed" : "bare")
  const steps = 10 + dice.below(25)
  for (let i = 0; i < steps; i++) {
    yield* event(here)
    if (dice.below(4) !== 0) continue
    const copy = folder()
    copyTo(options.dataDir, copy)
    copies.push(copy)
  }
  if (!history.isUnderWay) return
  yield* move(here, "bob", "eve", 90n)
  for (let i = 0; i < 30 && (yield* live).length === 0; i++) yield* rounds(options, here.world, 1)
})

const asked = { reason: "the store was lost", author: "ana" }

/** What an operator does who follows each remedy, until nothing halts. */
const remedy = Effect.fnUntraced(function* (here: Here, isPutBack: boolean, quietSeconds: number) {
  const { options, world } = here
  const file = join(options.dataDir, databaseFile)
  if (isPutBack) yield* ticking(recover(keysOf(options), file, asked, () => Effect.void))
  let quiet = 0
  for (let i = 0; i < 400 && quiet < quietSeconds; i++) {
    // Twice in a window: a payment that is wrong learns its wire form at the first.
    const seconds = quiet === 0 ? 1 : 3
    yield* pass(world, seconds, rounds(options, world, 1))
    const reasons = yield* halts
    quiet = reasons.length === 0 ? quiet + seconds : 0
    if (reasons.includes("foreign_payment")) yield* ticking(adopt(keysOf(options), asked, () => Effect.void))
    else if (reasons.includes("restored_store"))
      yield* ticking(recover(keysOf(options), file, asked, () => Effect.void))
  }
  assert.deepStrictEqual(yield* halts, [], "the remedies end the halts")
})

/** The account that a rule keeps is emptied, and filled within ninety seconds. */
const fills = Effect.fnUntraced(function* (here: Here) {
  const { options, world } = here
  yield* move(here, "bob", "eve", (yield* world.ledger.balance("bob", "USDT")) / one - 5n)
  // Ninety seconds, where no answer is lost: a machine under load loses some of sockets.
  for (let i = 0; i < 80 && (yield* world.ledger.balance("bob", "USDT")) < 100n * one; i++) {
    yield* pass(world, 3, rounds(options, world, 1))
  }
  const held = (yield* world.ledger.balance("bob", "USDT")) / one
  const open = (yield* (yield* Outbox).open).map(({ rule, state, detail }) => `${rule} ${state}: ${detail}`)
  assert.isAtLeast(Number(held), 100, `the account that was emptied is filled; ${open.join("; ")}`)
})

const handedOpen = Effect.map(
  Effect.flatMap(Outbox, ({ open }) => open),
  (all) => all.some(({ rule }) => rule === submittedRule),
)

/**
 * What people handed in came to its end: paid, or ended where a lost store had begun it and people were told that it
 * never executed.
 */
const allEnded = Effect.fnUntraced(function* ({ history: { handed } }: Here) {
  const all = yield* (yield* Outbox).recent(200)
  for (const key of handed.keys()) {
    const intent = all.find(({ rule, subject }) => rule === submittedRule && subject === key)
    const hasBegun = (yield* (yield* Outbox).attempts(intent?.id ?? "")).length > 0
    const isOver = intent?.state === "confirmed" || (intent?.state === "abandoned" && hasBegun)
    assert.isTrue(isOver, `${key} is ${intent?.state}: ${intent?.detail}`)
  }
})

/** What the ledger executed of our keys, by the name that each payment has in every life. */
const judge = Effect.fnUntraced(function* ({ options, world, history }: Here) {
  const ours = new Set(keysOf(options))
  const executed = (yield* world.ledger.executed).filter(({ party, code }) => code === 0 && ours.has(party))
  // Where nothing is listed a new store counts from 1 again, and nobody can tell.
  const tags =
    history.gateways === "one that lists nothing"
      ? []
      : executed.flatMap(({ reference }) => readReference(reference)?.tag ?? [])
  assert.strictEqual(new Set(tags).size, tags.length, "no payment executed twice under one tag")
  const amounts = executed.map(({ bytes }) => amountIn(bytes))
  for (const [key, amount] of history.handed) {
    assert.isAtMost(amounts.filter((executed) => executed === amount).length, 1, `${key} executed once`)
  }
  const planned = Math.ceil(((yield* Clock.currentTimeMillis) - begin) / 180_000)
  for (const wage of [3n, 4n]) {
    const times = amounts.filter((amount) => amount === wage * one).length
    assert.isAtMost(times, planned, "no planned time is paid twice")
  }
})

const amountIn = (bytes: Uint8Array): bigint | undefined => {
  const inputData = decodeTransaction(bytes)?.inputData ?? new Uint8Array()
  const prefix = withChainPrefix(chainId, new Uint8Array()).length
  const data = [inputData, inputData.subarray(prefix)].map(decodeInputData).find(Result.isSuccess)?.success
  return data !== undefined && "amount" in data.command ? data.command.amount : undefined
}

/** Plays one history, and says by its seed what went wrong. */
export const assertPaidOnce = (seed: string) => {
  const { history, dice } = historyOf(seed)
  return flow(
    (outer, world, client) =>
      Effect.gen(function* () {
        const home = folder()
        cpSync(join(outer.dataDir, "sandbox"), join(home, "sandbox"), { recursive: true })
        const options = { ...outer, dataDir: home }
        const here: Here = { options, world, client, history, dice }
        const copies: Array<string> = []
        yield* life(options, firstLife(here, copies))
        for (const loss of history.losses) {
          const copy = loss === "put back" ? dice.pick(copies) : undefined
          for (const file of [databaseFile, `${databaseFile}-wal`, `${databaseFile}-shm`]) {
            rmSync(join(home, file), { force: true })
            if (copy !== undefined && existsSync(join(copy, file))) cpSync(join(copy, file), join(home, file))
          }
          yield* life(options, function* () {
            yield* remedy(here, copy !== undefined, 60)
            for (const key of history.handed.keys()) yield* hand(here, key)
            yield* remedy(here, false, 25)
            yield* fills(here)
            for (let i = 0; i < 6; i++) yield* event(here)
            for (let i = 0; i < 40 && (yield* handedOpen); i++) yield* pass(world, 3, rounds(options, world, 1))
            yield* allEnded(here)
          })
        }
        yield* judge(here)
        for (const dir of [home, ...copies]) rmSync(dir, { recursive: true, force: true })
      }).pipe(Effect.catchDefect((defect) => Effect.die(new Error(`history ${seed}: ${String(defect)}`)))),
    setupOf(history),
  )
}
