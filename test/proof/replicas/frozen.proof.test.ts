import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { serverUrl } from "../../support/Postgres.ts"
import { type Fleet, makeFleet, staleActs } from "./Fleet.ts"

const treasuries = 20

describe("a process that is frozen past its leases and goes on", () => {
  let fleet: Fleet | undefined

  beforeEach(({ skip }) => skip(serverUrl() === "", "needs PostgreSQL"))
  beforeAll(async () => {
    if (serverUrl() !== "") fleet = await makeFleet({ serverUrl: serverUrl(), treasuries, replicas: 1, blocks: 2_000 })
  })
  afterAll(async () => await fleet?.close())

  it("neither signs nor sends for any of its twenty treasuries", async () => {
    const { untilHeld, addReplica, names } = fleet!
    const first = fleet!.fleet[0]!
    const pidOf = (one: typeof first) => () => [one.daemon.child.pid]
    assert.isDefined(await untilHeld(pidOf(first), 90_000), "it runs all")
    await first.daemon.line(({ msg }) => msg === "payment signed")
    const second = await addReplica()
    await second.daemon.line(({ msg }) => msg === "treasuries started")
    first.daemon.child.kill("SIGSTOP")
    const stored = await fleet!.stored()
    assert.isDefined(await untilHeld(pidOf(second), 60_000), "another takes all over")
    const [lines, sent] = [first.daemon.lines.length, first.sent.length]
    first.daemon.child.kill("SIGCONT")
    // A lost lease ends a treasury; where its session was ended first, the store is lost to it before.
    const isEnd = (msg: unknown) => msg === "treasury ended" || msg === "database not writable"
    for (const name of names) {
      await first.daemon.line(({ msg, treasury }) => isEnd(msg) && treasury === name)
    }
    assert.deepStrictEqual(staleActs(first.daemon.lines.slice(lines), stored), [])
    assert.strictEqual(first.sent.length, sent)
    assert.isDefined(await untilHeld(pidOf(second), 10_000), "and keeps them")
    const { duplicate } = await fleet!.verdict()
    assert.deepStrictEqual(duplicate, [])
  })
})
