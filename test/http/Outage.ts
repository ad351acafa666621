import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { runLoops } from "../../src/daemon.ts"
import { layerControl } from "../../src/http/ControlServer.ts"
import { exposeMetrics } from "../../src/http/exposeMetrics.ts"
import { readView } from "../../src/http/StatusView.ts"
import { NotifyError } from "../../src/notify/Channel.ts"
import { Notifier } from "../../src/notify/Notifier.ts"
import { DiskSpace } from "../../src/store/database/DiskSpace.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { type Flow, type FlowSetup, flow, states } from "../support/Flow.ts"
import { addressesOf, type Front, startFront } from "../support/Fronts.ts"
import { turn } from "../support/until.ts"

const gibibyte = 2 ** 30

/** What a receiver took. */
interface Taken {
  readonly receiver: string
  readonly severity: string
  readonly subject: string
  readonly detail: string
  /** An all-clear. */
  readonly isOver: boolean
  /** Virtual milliseconds of the network, whatever the daemon's clock says. */
  readonly at: number
}

/** A daemon with all its loops before a network, and what can be wrong around it. */
export interface World {
  readonly options: Parameters<Flow>[0]
  readonly sandbox: Parameters<Flow>[1]
  readonly client: Parameters<Flow>[2]
  readonly fronts: ReadonlyArray<Front>
  readonly taken: ReadonlyArray<Taken>
  /** The network's clock. */
  readonly clock: Clock.Clock
  /** Whether the network makes blocks. */
  blocks: boolean
  /** Milliseconds by which the daemon's clock is wrong. */
  clockOff: number
  /** Bytes that are free on the store's disk. */
  free: number
  /** Receivers that refuse. One that hangs is given up after ten seconds. */
  readonly refusing: Map<string, "refuses" | "hangs">
}

type Step = (world: World) => ReturnType<Flow>

/** Something that goes wrong, and how the treasury must show it. */
export interface Outage {
  readonly name: string
  readonly setup?: FlowSetup
  /** Gateways before the network. Default 1. */
  readonly gateways?: 1 | 3
  readonly begin: Step
  readonly end: Step
  /** Condition that leads, or is among those listed where another leads. */
  readonly condition: string
  readonly leads?: boolean
  readonly severity: "bad" | "warn"
  readonly headline: RegExp
  /** In its text: what ends it. */
  readonly remedy: RegExp
  readonly alert: { readonly receiver: "desk" | "log"; readonly severity: "page" | "ticket"; readonly subject: RegExp }
  /** Seconds until the first alert, at most. */
  readonly alertSeconds: number
  /** Seconds after which the condition may be looked for at the latest. Default: that of the alert. */
  readonly secondsMax?: number
  /** Virtual milliseconds of a step. Default 1,000. */
  readonly stepMillis?: number
}

/** Pages go to the desk; the rest to the log. */
const routes = {
  alerts: {
    receivers: { desk: { webhook: { url: "http://127.0.0.1:1" } }, log: { log: {} } },
    routes: [
      { severity: ["page"], to: ["desk"] },
      { severity: ["ticket", "info"], to: ["log"] },
    ],
  },
}

/** The test's clock as a machine has it whose clock is wrong. */
const wrongClock = (inner: Clock.Clock, off: () => number): Clock.Clock => ({
  ...inner,
  currentTimeMillisUnsafe: () => inner.currentTimeMillisUnsafe() + off(),
  currentTimeMillis: Effect.map(inner.currentTimeMillis, (now) => now + off()),
  currentTimeNanosUnsafe: () => inner.currentTimeNanosUnsafe() + BigInt(off()) * 1_000_000n,
  currentTimeNanos: Effect.map(inner.currentTimeNanos, (now) => now + BigInt(off()) * 1_000_000n),
  sleep: (duration) => inner.sleep(duration),
})

/** One step of time, a block where there are any, and the loops' turn. */
const pass = Effect.fnUntraced(function* (world: World, millis: number) {
  if (world.blocks) yield* Effect.provideService(world.sandbox.stepBlock, Clock.Clock, world.clock)
  for (let part = 0; part < 4; part++) {
    yield* TestClock.adjust(millis / 4)
    yield* Effect.repeat(turn, { times: 6 })
  }
})

const exitCode = ({ options }: World) =>
  Effect.map(
    Effect.promise(() => callCofferer(["status", "--fail", "--data", options.dataDir])),
    ({ code }) => code,
  )

const isHealthy = (metrics: string, condition: string): number =>
  Number(new RegExp(`^cofferer_healthy\\{treasury="flow",condition="${condition}"\\} ([01])$`, "m").exec(metrics)?.[1])

/** Passes time until it is so, and returns the seconds; undefined where they were over first. */
export const passUntil = Effect.fnUntraced(function* <E, R>(
  world: World,
  isSo: Effect.Effect<boolean, E, R>,
  { seconds, stepMillis }: { readonly seconds: number; readonly stepMillis: number },
) {
  const from = world.clock.currentTimeMillisUnsafe()
  for (;;) {
    const passed = (world.clock.currentTimeMillisUnsafe() - from) / 1_000
    if (yield* isSo) return passed
    if (passed >= seconds) return undefined
    yield* pass(world, stepMillis)
  }
})

/** What was seen of an outage, as a row of a table. */
export interface Seen {
  readonly headline: string
  readonly severity: string
  readonly exitCode: number | null
  readonly metric: number
  readonly alert: string
  readonly alertSeconds: number
  readonly allClear: string
  readonly allClearSeconds: number
}

const play = (outage: Outage, world: World) =>
  Effect.gen(function* () {
    const { stepMillis = 1_000, condition, alert, alertSeconds, secondsMax = alertSeconds } = outage
    const holds = Effect.map(readView(), ({ conditions }) => conditions.some((one) => one.condition === condition))
    const calm = Effect.map(readView(), ({ sentence }) => sentence.severity === "ok")
    const settled = Effect.flatMap(states, ([newest]) => (newest === "confirmed" ? calm : Effect.succeed(false)))
    assert.isDefined(yield* passUntil(world, settled, { seconds: 60, stepMillis: 1_000 }), "it begins healthy")
    assert.strictEqual(yield* exitCode(world), 0)
    const before = world.taken.length
    for (let n = 0; n < 10; n++) yield* pass(world, 1_000)
    const began = world.clock.currentTimeMillisUnsafe()
    yield* outage.begin(world)
    const heard = () => world.taken.slice(before).filter(({ subject }) => alert.subject.test(subject))
    const first = yield* passUntil(
      world,
      Effect.sync(() => heard().length > 0),
      { seconds: alertSeconds + 1, stepMillis },
    )
    assert.isDefined(first, `an alert: ${JSON.stringify(world.taken.slice(before))}`)
    assert.isDefined(yield* passUntil(world, holds, { seconds: secondsMax, stepMillis }), "the condition holds")
    const view = yield* readView()
    const found = view.conditions.find((one) => one.condition === condition)
    const seen = {
      headline: view.sentence.text,
      severity: found?.severity ?? "",
      exitCode: yield* exitCode(world),
      metric: isHealthy(yield* exposeMetrics(world.options.treasury), condition),
      alert: `${heard()[0]?.severity} to ${heard()[0]?.receiver}`,
      alertSeconds: ((heard()[0]?.at ?? 0) - began) / 1_000,
    }
    if (outage.leads !== false) assert.strictEqual(view.conditions[0]?.condition, condition)
    assert.match(view.sentence.text, outage.headline)
    assert.match(found?.remedy ?? "", outage.remedy)
    assert.deepInclude(seen, { severity: outage.severity, exitCode: 8, metric: 0 })
    assert.deepInclude(heard()[0], { receiver: alert.receiver, severity: alert.severity })
    yield* outage.end(world)
    const isOver = Effect.map(readView(), ({ conditions }) => conditions.every((one) => one.condition !== condition))
    const isClear = () => heard().some(({ isOver }) => isOver)
    const over = yield* passUntil(
      world,
      Effect.suspend(() => (isClear() ? isOver : Effect.succeed(false))),
      { seconds: 180, stepMillis },
    )
    assert.isDefined(over, `an all-clear: ${JSON.stringify(world.taken.slice(before))}`)
    const clears = heard().filter(({ isOver }) => isOver)
    const alerted = heard().flatMap((one) => (one.severity === "info" ? [] : [one.receiver]))
    assert.deepStrictEqual(
      [...new Set(clears.map(({ receiver }) => receiver))],
      [...new Set(alerted)],
      "it goes to who was alerted",
    )
    assert.strictEqual(isHealthy(yield* exposeMetrics(world.options.treasury), condition), 1)
    return {
      ...seen,
      allClear: `${clears[0]?.severity} to ${clears[0]?.receiver}`,
      allClearSeconds: over ?? 0,
    } satisfies Seen
  })

/** Runs a daemon through an outage, and returns what was seen of it. */
export const outageSeen = (outage: Outage) => {
  let seen: Seen | undefined
  let fronts: ReadonlyArray<Front> = []
  const machine: { off: number; network?: Clock.Clock } = { off: 0 }
  const names = outage.gateways === 3 ? (["a", "b", "c"] as const) : (["main"] as const)
  const gateways = (url: string) =>
    Effect.map(
      Effect.forEach(names, (name) => startFront(name, url)),
      (started) => {
        fronts = started
        return addressesOf(started)
      },
    )
  const use: Flow = (options, sandbox, client) =>
    Effect.gen(function* () {
      const taken: Array<Taken> = []
      const world: World = {
        options,
        sandbox,
        client,
        fronts,
        taken,
        clock: machine.network ?? assert.fail("the flow has a clock"),
        blocks: true,
        get clockOff() {
          return machine.off
        },
        set clockOff(off) {
          machine.off = off
        },
        free: 100 * gibibyte,
        refusing: new Map(),
      }
      const notifier = Notifier.of({
        receivers: ["desk", "log"],
        send: (receiver, { severity, subject, detail, fields }) =>
          world.refusing.has(receiver)
            ? Effect.delay(
                Effect.fail(new NotifyError({ receiver, detail: "HTTP 503" })),
                world.refusing.get(receiver) === "hangs" ? "10 seconds" : 0,
              )
            : Effect.sync(() => {
                taken.push({
                  receiver,
                  severity,
                  subject,
                  detail,
                  isOver: fields["over"] === true,
                  at: world.clock.currentTimeMillisUnsafe(),
                })
              }),
      })
      const disk = DiskSpace.of({
        ...(yield* DiskSpace),
        room: Effect.sync(() => ({ free: world.free, needed: gibibyte })),
      })
      const { treasury, mode, dataDir } = options
      const control = layerControl({ treasury, mode, dataDir })
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(runLoops(options))
        seen = yield* play(outage, world)
      }).pipe(
        Effect.scoped,
        Effect.provide(control),
        Effect.provideService(Notifier, notifier),
        Effect.provideService(DiskSpace, disk),
      )
    })
  const clock = (network: Clock.Clock) => {
    machine.network = network
    return wrongClock(network, () => machine.off)
  }
  // Rarer than by default: a treasury that is asked less must call people no later.
  const network = { poll: { busy: "3s", idle: "5s" }, ...outage.setup?.network }
  const setup = { ...outage.setup, network, gateways, clock, more: { ...routes, ...outage.setup?.more } }
  return Effect.map(flow(use, setup), () => seen ?? assert.fail("nothing was seen"))
}

/** The file of the treasury within its data directory. */
export const fileIn = ({ options }: World): string => join(options.dataDir, "treasury.yaml")
