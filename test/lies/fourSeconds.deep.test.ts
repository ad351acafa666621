import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Told } from "../support/wire.ts"
import { judgeMoney } from "./judgeMoney.ts"
import { type LieBench, makeLieBench } from "./LieBench.ts"
import type { Setting } from "./LieCase.ts"
import { LieWorld } from "./LieWorld.ts"

let bench: LieBench
beforeAll(async () => {
  bench = await makeLieBench()
})
afterAll(() => bench.close())

const headPath = "/blockchain/height"
const lyingHost = "127.0.0.1:1"
const deadHost = "127.0.0.1:3"
const wild = 8_000_000_000_000_000_000n
/** A payment must be confirmed so many seconds after the lie at the latest. */
const patience = 90

interface Course {
  readonly setting: Setting
  /** The second at which the lie begins. */
  readonly from: number
  /** Seconds for which it lasts; default 4. */
  readonly lasts?: number
  /** Second from which one of three gateways answers nothing; undefined: none does. */
  readonly deadFrom?: number
  /** What the lying gateway's head says instead, given how often it was asked since the lie began. */
  readonly head: (head: Record<string, unknown>, asked: bigint) => object
  /** Happens after each second. */
  readonly each?: (world: LieWorld, second: number) => void
}

/** Seconds from the end of the lie to the first confirmed payment that was decided since, and what was wrong. */
const play = ({ setting, from, lasts = 4, deadFrom, head, each }: Course) => {
  const end = from + lasts
  let second = 0
  let asked = 0n
  const changed = (told: Told): Told =>
    told.status === 200 ? { ...told, body: JSON.stringify(head(JSON.parse(told.body), ++asked)) } : told
  const world = new LieWorld({
    treasury: bench.treasuries[setting],
    metrics: bench.metrics,
    dataDir: join(bench.dir, "store"),
    lie: (host) => (request, told) => {
      if (deadFrom !== undefined && host === deadHost && second > deadFrom)
        return { status: 502, headers: {}, body: "" }
      const isLying = second >= from && second < end && (setting === "alone" || host === lyingHost)
      return isLying && request.path === headPath ? changed(told) : told
    },
    tell: () => {},
  })
  world.start()
  const pass = () => {
    world.second()
    second += 1
    each?.(world, second)
  }
  while (second < end) pass()
  const since = world.now
  const sql = "SELECT count(*) AS n FROM intents WHERE state = 'confirmed' AND created_at >= ?"
  const isPaid = () => (world.rows<{ n: number }>(sql, since)[0]?.n ?? 0) > 0
  while (!isPaid() && second < end + 120) pass()
  const pages = world
    .rows<{ subject: string; detail: string }>("SELECT subject, detail FROM alerts WHERE severity = 'page'")
    .map(({ subject, detail }) => `${subject}: ${detail}`)
  const attempts = world.rows<{ intent_id: string; transfer_id: string }>("SELECT intent_id, transfer_id FROM attempts")
  const payments = new Map(attempts.map((row) => [row.transfer_id, row.intent_id]))
  const wrong = [...world.wrong, ...judgeMoney(world.network.chain, payments)]
  world.end()
  return { paidAfter: second - end, exits: world.exits, wrong, pages }
}

const heights = (by: (asked: bigint) => bigint, more: object = {}): Course["head"] => {
  return (head, asked) => ({ ...head, height: String(BigInt(String(head["height"])) + by(asked)), ...more })
}
const wildHead: Course["head"] = (head) => ({ ...head, height: String(wild) })

const goesOn = (course: Course) => {
  const { paidAfter, exits, wrong, pages } = play(course)
  assert.deepStrictEqual({ exits, wrong }, { exits: 0, wrong: [] })
  assert.isAtMost(paidAfter, patience, pages.join("\n"))
}

describe("after four seconds of a lie a payment is confirmed in time", () => {
  it.each<[string, Course["head"]]>([
    ["block 8*10^18", wildHead],
    ["a block 900 ahead", heights(() => 900n)],
    ["a block that runs 20 ahead with each answer", heights((asked) => 20n * asked)],
    ["another window at a block 900 ahead", heights(() => 900n, { spamPowNumberOfPastBlocks: 500 })],
  ])("where two of three gateways are alive, and one of them told %s", (_, head) =>
    goesOn({ setting: "one of three", from: 45, deadFrom: 35, head }),
  )

  it.each([43, 44, 45])("where a gateway told a window of 500 with a running head, second %i", (from) =>
    goesOn({ setting: "alone", from, head: heights((asked) => 20n * asked, { spamPowNumberOfPastBlocks: 500 }) }),
  )

  it("where it told the same from the start, and nothing vouches for it", () => {
    const told = { spamPowNumberOfPastBlocks: 500, spamPowDifficulty: 2 }
    goesOn({ setting: "alone", from: 0, head: heights((asked) => 20n * asked, told) })
  })
})
