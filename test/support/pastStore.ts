import { Effect } from "effect"
import { afterAll } from "vitest"
import { type BalanceChange, general } from "../../src/domain/Balance.ts"
import { publicKeyOf } from "../../src/sandbox/Keys.ts"
import { Observations } from "../../src/store/balances/Observations.ts"
import { testStore } from "./TestStore.ts"

/** A balance of a party of config/sandbox.yaml, in whole USDT, from a time (Unix milliseconds) on. */
export const demoRow = (party: string, units: number, at: number): BalanceChange => ({
  party: publicKeyOf("first-minute", party),
  asset: "bf1e88d19db4b3ca0d1d5bdb73718a01686b18cf731ca26adedf3c8b83802bba",
  market: "",
  type: general,
  balance: BigInt(units) * 1_000_000n,
  timestamp: BigInt(at) * 1_000_000n,
})

/** A data directory with these balances, oldest first, for commands that read a past. It goes after the last test. */
export const pastStore = async (rows: ReadonlyArray<BalanceChange>): Promise<string> => {
  const { dir, layer, remove } = testStore()
  afterAll(remove)
  const reached = { timestamp: (rows.at(-1)?.timestamp ?? 0n) + 1n, height: 1n }
  const write = Effect.flatMap(Observations, ({ advance }) => advance(rows, reached))
  await Effect.runPromise(Effect.provide(write, layer()))
  return dir
}
