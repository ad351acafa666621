import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { deliverOnce } from "../../src/alerts/AlertLoop.ts"
import { NotifyError } from "../../src/notify/Channel.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { acknowledge, listAlerts, resend } from "../../src/store/alerts/alertRecords.ts"
import type { Reminders } from "../../src/store/alerts/LiveAlerts.ts"
import { raise } from "../../src/store/alerts/raise.ts"
import { addSilence, endSilence, silencesNow } from "../../src/store/alerts/silences.ts"
import { Sql } from "../../src/store/database/Sql.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { makeDice } from "../support/Dice.ts"
import { itWith } from "../support/it.ts"
import { testStore } from "../support/TestStore.ts"

const receivers = ["desk", "log"]
const hour = 3_600_000
const runs = 40
const steps = 30

/** Keys that fire at each receiver, as PagerDuty keeps them. */
const firing = new Map<string, Set<string>>()
const story: Array<string> = []
/** Receivers that take nothing, and those that take all and do not answer. */
const deaf = new Set<string>()
const mute = new Set<string>()
let isRefused = (_: string) => false
const heal = () => {
  deaf.clear()
  mute.clear()
  isRefused = () => false
}

const keyText = (key: string) => key.split("/").slice(2).join("/")
const notifier = Layer.succeed(
  Notifier,
  Notifier.of({
    receivers,
    send: (receiver, { key, resolves }) =>
      Effect.suspend(() => {
        const failed = Effect.fail(new NotifyError({ receiver, detail: "no answer within 10 s" }))
        if (deaf.has(receiver) || isRefused(`${receiver} ${key}`)) return failed
        const fires = firing.get(receiver)!
        const ends = resolves?.map((one) => keyText(one.key))
        story.push(`${receiver} ${ends === undefined ? `fires ${keyText(key)}` : `ends ${ends}`}`)
        if (ends === undefined) fires.add(keyText(key))
        for (const one of ends ?? []) fires.delete(one)
        return mute.has(receiver) ? failed : Effect.void
      }),
  }),
)

const it = itWith(() => {
  for (const receiver of receivers) firing.set(receiver, new Set())
  story.length = 0
  heal()
  const store = testStore()
  const names = { gateways: [], rules: [], receivers, version: "", revision: "" }
  return Layer.mergeAll(notifier, Metrics.layer({ treasury: "t", mode: "live", ...names })).pipe(
    Layer.provideMerge(store.layer()),
    Layer.provideMerge(Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(store.remove)))),
  )
})

const reminders = (): Reminders => ({
  repeatMillis: 12 * hour,
  steps: [],
  forgetful: new Set(["log"]),
  hasRule: () => true,
})
const deliverFor = (millis: number) => Effect.andThen(deliverOnce("t", reminders), TestClock.adjust(millis))

const lasting = { kind: "health", subject: "gateway", detail: "d", fields: {}, name: "test" }
const over = (id: string) => ({ ...lasting, dedup: `${id}/over`, severity: "info", resolves: [id] }) as const

/** Alerts of single events that stand. */
const events = Effect.map(listAlerts(9_999, "standing"), (all) =>
  all.filter(({ name, endedAt }) => name === "asset_changed" && endedAt === null).map(({ seq }) => seq),
)
const acked = (seqs: ReadonlyArray<number>) =>
  Effect.forEach(seqs, (seq) => acknowledge(seq, "ana", "compared"), { discard: true })

/** All receivers sound, no silence, and time for all that waits; then each has what stands, and nothing else. */
const settled = Effect.gen(function* () {
  heal()
  for (const { id } of yield* silencesNow) yield* endSilence(id)
  for (let n = 0; n < 9; n++) yield* deliverFor(600_000)
  const rows =
    yield* (yield* Sql)`SELECT d.receiver, d.state, k.dedup FROM deliveries d JOIN alerts a ON a.seq = d.alert
    LEFT JOIN alerts k ON k.seq = d.next_at WHERE d.state = 'pending' OR (a.ended_at IS NULL AND a.resolves IS NULL)`
  const told = story.join("\n")
  for (const { receiver, state, dedup } of rows) {
    assert.strictEqual(state, "delivered", told)
    assert.include([...firing.get(String(receiver))!], dedup, told)
  }
  for (const [receiver, keys] of firing) {
    if (!rows.some((row) => row["receiver"] === receiver)) assert.isEmpty([...keys], `fires for ever: ${told}`)
  }
})

const disorder = Effect.fnUntraced(function* (seed: string) {
  const dice = makeDice(seed)
  const queue = yield* AlertQueue
  const open: Array<string> = []
  let made = 0
  const receiver = () => dice.pick(receivers) ?? "desk"
  const severity = (pages: number) => (dice.next() < pages ? "page" : "ticket")
  const acts = {
    raise: Effect.gen(function* () {
      for (let left = 1 + dice.below(8); left > 0; left--) {
        const seq = made++
        const facts = { asset: `a${seq}`, symbol: "S", from: "2", to: "3", seq, what: "decimals", words: "2 -> 3" }
        yield* raise("asset_changed", { ...facts, severity: severity(0.1) }, dice.next() < 0.9 ? [] : ["desk"])
      }
    }),
    acknowledge: Effect.suspend(() => Effect.flatMap(events, (seqs) => acked(seqs.filter(() => dice.next() < 0.5)))),
    begin: Effect.gen(function* () {
      const id = `last/${made++}`
      open.push(id)
      for (let n = dice.below(3); n >= 0; n--) {
        yield* queue.raise({ ...lasting, dedup: `${id}/${n}`, severity: severity(0.5), repeats: true })
      }
    }),
    end: Effect.suspend(() => {
      const [id] = open.splice(dice.below(open.length), 1)
      return id === undefined ? Effect.void : queue.allClear(over(id))
    }),
    silence: Effect.gen(function* () {
      const until = (yield* Clock.currentTimeMillis) + 2 * hour
      const name = dice.next() < 0.5 ? "asset_changed" : null
      yield* addSilence({ name, kind: null, subject: null, author: "ana", reason: "drill", until })
    }),
    resend: Effect.gen(function* () {
      const one = dice.pick(yield* listAlerts(9_999, "raised"))
      yield* resend(dice.next() < 0.3 ? undefined : one?.seq, () => receivers)
    }),
    prune: Effect.flatMap(Clock.currentTimeMillis, (now) => queue.prune(now - 2 * hour)),
    deafen: Effect.sync(() => void deaf.add(receiver())),
    mute: Effect.sync(() => void mute.add(receiver())),
    refuse: Effect.sync(() => {
      const part = dice.below(4)
      isRefused = (key) => (key.length + key.charCodeAt(key.length - 1)) % 4 === part
    }),
    heal: Effect.sync(heal),
    settle: Effect.suspend(() => (dice.next() < 0.5 ? settled : Effect.void)),
  }
  const names = Object.keys(acts) as Array<keyof typeof acts>
  for (let step = 0; step < steps; step++) {
    const name = dice.pick(names) ?? "raise"
    story.push(`${name}:`)
    yield* acts[name]
    for (let left = dice.below(4); left > 0; left--) {
      yield* deliverFor(dice.pick([1_000, 60_000, 600_000, 5 * hour]) ?? 1_000)
    }
  }
  yield* settled
  for (const id of open) yield* queue.allClear(over(id))
  yield* acked(yield* events)
  yield* settled
})

describe("alerts whose receivers fail, and that people silence, acknowledge and send again", () => {
  for (let run = 0; run < runs; run++) {
    it.effect(`fire at a receiver while they stand, and end there: ${run}`, () => disorder(`disorder ${run}`))
  }
})
