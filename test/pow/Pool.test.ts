import { EventEmitter } from "node:events"
import type { Worker } from "node:worker_threads"
import { assert, describe, it } from "vitest"
import { makePool, PowError } from "../../src/pow/Pool.ts"

/** One thread that finds each nonce in the next turn of the event loop. */
const quickPool = (queueSizeMax: number) => {
  const spawn = () =>
    Object.assign(new EventEmitter(), {
      postMessage(this: EventEmitter) {
        setImmediate(() => this.emit("message", { nonce: 0, next: 1, millis: 1 }))
      },
      terminate: async () => 0,
    }) as unknown as Worker
  return makePool({ size: 1, queueSizeMax, silentMillisMax: 60_000, spawn })
}

describe("a pool that treasuries share", () => {
  const ends = async (queueSizeMax: number, owners: ReadonlyArray<string>) => {
    const pool = quickPool(queueSizeMax)
    const order: Array<string> = []
    const end = (owner: string) =>
      new Promise<void>((resolve) => {
        pool.run(owner, { preimage: new Uint8Array(0), difficulty: 5 }, (outcome) => {
          order.push(outcome instanceof PowError ? `${owner} refused` : owner)
          resolve()
        })
      })
    await Promise.all(owners.map(end))
    await pool.close()
    return order.join(" ")
  }

  it("lets a treasury with one search go before the many of another", async () => {
    assert.strictEqual(await ends(64, [..."aaaaaabcb"]), "a a b c a b a a a")
  })

  it("refuses what a greedy treasury asks beyond its share, and nobody else", async () => {
    assert.strictEqual(await ends(2, [..."aaaaab"]), "a refused a refused a a b a")
  })

  it("counts no measurement as a search that comes first: it ends with its first part", async () => {
    const pool = quickPool(64)
    const job = (difficulty: number) => ({ preimage: new Uint8Array(0), difficulty })
    pool.run("a", job(5), () => {})
    for (let i = 0; i < 2; i++) pool.measure(job(32), () => {})
    assert.strictEqual(pool.ahead("a", 5), 2 ** 5)
    await pool.close()
  })
})
