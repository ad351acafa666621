import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readView } from "../../src/http/StatusView.ts"
import { oneGateway } from "../simulation/Replica.ts"
import type { Lie } from "../simulation/Wire.ts"
import type { Told } from "../support/wire.ts"
import { type LieBench, makeLieBench } from "./LieBench.ts"
import { lieTreasury } from "./LieTreasury.ts"
import { LieWorld } from "./LieWorld.ts"
import { secondsMax } from "./runCase.ts"

let bench: LieBench
let written: LieBench["treasuries"]["alone"]
beforeAll(async () => {
  bench = await makeLieBench()
  const fee = 'fee: { factor: "0.001", maxQuantum: "1" }'
  written = await Effect.runPromise(lieTreasury(join(bench.dir, "keys-written"), `${oneGateway}, ${fee}`))
})
afterAll(() => bench.close())

interface Play {
  readonly treasury?: LieBench["treasuries"]["alone"]
  /** What the gateway tells at all times but those of the lie. */
  readonly honest?: Lie
  readonly lie: Lie
  /** Seconds from the start to the lie, and from its first to its last. */
  readonly from?: number
  readonly lasts?: number
}

/** Payments, a lie, and then whatever the caller looks at, who ends the world as well. */
const play = ({ treasury = bench.treasuries.alone, honest = (_, told) => told, lie, from = 40, lasts = 4 }: Play) => {
  let isLying = false
  const world = new LieWorld({
    treasury,
    metrics: bench.metrics,
    dataDir: join(bench.dir, "store"),
    lie: () => (asked, told) => (isLying ? lie(asked, told) : honest(asked, told)),
    tell: () => {},
  })
  world.start()
  for (let second = 0; second < from; second++) world.second()
  isLying = true
  for (let second = 0; second < lasts; second++) world.second()
  isLying = false
  const since = world.now
  const sql = "SELECT count(*) AS n FROM intents WHERE state = 'confirmed' AND created_at >= ?"
  const isPaying = () => (world.rows<{ n: number }>(sql, since)[0]?.n ?? 0) > 0
  const view = () => world.ask(readView())
  return {
    world,
    view,
    /** Fails where no payment that was decided after the lie is confirmed within so many seconds of it. */
    paysWithin: (seconds: number) => {
      while (!isPaying() && world.now - since < seconds * 1_000) world.second()
      const rules = view()?.rules.map(({ subject, reason, detail }) => `${subject} ${reason}: ${detail}`)
      assert.isTrue(isPaying(), `${view()?.sentence.text} ${rules?.join("; ")}`)
    },
  }
}

const told = (body: unknown, status = 200): Told => ({ status, headers: {}, body: JSON.stringify(body) })
const unsupported = told({ code: 5, message: "Not Found", details: [] }, 404)
const isBeyondThree = (path: string) => /^\/statistics|^\/api\/v2\/(epoch|network\/parameters)/.test(path)

/** One answer alone, whatever it is about. */
const once = (lie: (answer: Told) => Told): Lie => {
  let isTold = false
  return (_, answer) => {
    if (isTold) return answer
    isTold = true
    return lie(answer)
  }
}

describe("a gateway of three operations, the only one, that for four seconds", () => {
  const goesOn = (lie: Lie) => {
    const { world, paysWithin } = play({
      treasury: written,
      honest: (asked, answer) => (isBeyondThree(asked.path) ? unsupported : answer),
      lie: (asked, answer) => (isBeyondThree(asked.path) ? lie(asked, answer) : answer),
      // What it lies about is read once a minute.
      from: 59,
    })
    paysWithin(secondsMax)
    world.end()
  }

  it("tells an exhausted epoch of centuries, delays no payment", () => {
    const epoch = { epochSeq: "7", epochStartTime: "1990-01-01T00:00:00Z", epochExpiryTime: "2200-01-01T00:00:00Z" }
    const spam = { epochSeq: "7", transfers: { countForEpoch: "1000000", maxForEpoch: "50" } }
    goesOn(({ path }) => {
      if (path.startsWith("/api/")) return unsupported
      return told({ statistics: path === "/statistics" ? epoch : spam })
    })
  })

  it("tells a least amount that nobody has, does not keep payments back", () => {
    goesOn(({ path }, answer) => {
      if (!path.includes("parameters") || answer.status !== 200) return unsupported
      const body = JSON.parse(answer.body)
      for (const { node } of body.networkParameters.edges) {
        if (node.key === "transfer.minTransferQuantumMultiple") node.value = "1000000000000"
      }
      return told(body)
    })
  })
})

describe("the only gateway, in one answer,", () => {
  it("names limits that it never names otherwise: they are forgotten after a minute", () => {
    const headers = { "ratelimit-limit": "1", "ratelimit-reset": "9999999", "ratelimit-remaining": "0" }
    const { world, paysWithin } = play({
      lie: once((answer) => ({ ...answer, headers: { ...answer.headers, ...headers } })),
    })
    paysWithin(60 + secondsMax)
    world.end()
  })

  it("refuses it for a day, is asked again after a minute", () => {
    const { world, paysWithin } = play({
      lie: once(() => ({ status: 429, headers: { "retry-after": "86400" }, body: "{}" })),
    })
    paysWithin(60 + secondsMax)
    world.end()
  })

  it("bans us for a day, is named to people and asked again", () => {
    const { world, view, paysWithin } = play({
      lie: once(() => ({ status: 403, headers: { "ratelimit-retry-after": "86400" }, body: "{}" })),
    })
    for (let second = 0; second < 120; second++) world.second()
    const words = "only is banned until 2026-11-21 10:10:40 UTC"
    assert.include(view()?.sentence.text, words)
    assert.strictEqual(view()?.network.gateways[0]?.detail, "banned until 2026-11-21 10:10:40 UTC")
    const pages = world.rows<{ detail: string }>("SELECT detail FROM alerts WHERE subject = 'gateway down'")
    assert.include(pages[0]?.detail, words)
    paysWithin(600 + secondsMax)
    world.end()
  })
})
