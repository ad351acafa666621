import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import type { BalanceChange } from "../../../src/domain/Balance.ts"
import { Observations } from "../../../src/store/balances/Observations.ts"
import { changesOf, groupRows, type KnownBalance, newsOf } from "../../../src/store/balances/storeRows.ts"
import { alternate, type Benchmark, figure } from "../Benchmark.ts"
import { makeProduct, parseAll, rowsPerSlice } from "./product.ts"

/** What is known of the accounts: half of them at an older block, so that comparing has both to do. */
const knownOf = (newest: ReadonlyArray<BalanceChange>): ReadonlyArray<KnownBalance> =>
  newest.map((row, id) => ({ id, balance: row.balance - BigInt(id % 2), timestamp: row.timestamp - 1n }))

const compare = (rows: ReadonlyArray<BalanceChange>) =>
  Effect.sync(() => {
    const { newest } = groupRows(rows)
    const known = knownOf(newest)
    return changesOf(newest, known, newsOf(newest, known))
  })

const run: Benchmark["run"] = async () => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  const product = makeProduct(dir)
  const { prepare, read, each } = product
  try {
    const batch = rowsPerSlice
    const works = [
      () => each(parseAll),
      () => each((page) => Effect.flatMap(read(page), compare)),
      () =>
        each((page) =>
          Effect.flatMap(read(page), (rows) =>
            Effect.flatMap(Observations, ({ advance }) =>
              advance(rows, { timestamp: page.begun, height: page.height }),
            ),
          ),
        ),
    ]
    // One batch a slice.
    const options = { rounds: 11, sliceMillis: 1 }
    const [parsed = [], compared = [], stored = []] = await alternate(
      works.map((work) => ({ name: "", batch, prepare, work })),
      options,
    )
    const rows = { unit: "rows per second of processor time", better: "higher" } as const
    const times = { unit: "times JSON.parse", better: "lower" } as const
    const cost = (rates: ReadonlyArray<number>) => rates.map((rate, round) => parsed[round]! / rate)
    return [
      figure("poller rows compared", compared, rows),
      figure("poller rows stored", stored, rows),
      figure("poller cost of comparing", cost(compared), times),
      figure("poller cost of storing", cost(stored), times),
    ]
  } finally {
    await product.dispose()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** From the bytes of an answer to rows on disk, by the product's own reader and store. */
export const poller: Benchmark = {
  name: "poller",
  about: "balance rows: bytes to rows compared with what is known, and to rows on disk",
  limits:
    "Comparing is mostly decoding; it also groups rows by account and converts texts to integers. Storing " +
    "writes each row with its indexes, one commit a page.",
  run,
}
