import type { Mutant } from "./Mutant.ts"

const lease = { tests: ["store/lease.postgres.test.ts"], by: "test" } as const

/** Mistakes by which two processes could move the money of one treasury. */
export const leases: ReadonlyArray<Mutant> = [
  {
    ...lease,
    name: "a lease read by a plain SELECT before it is written by",
    edits: [
      {
        file: "store/database/Postgres.ts",
        source: `\`UPDATE leases SET transactions = transactions + 1, until = \${serverMillis} + \${lastsMillis}
        WHERE holder = $1 AND epoch = $2 AND until > 0 RETURNING transactions, guests\``,
        instead: '"SELECT transactions, guests FROM leases WHERE holder = $1 AND epoch = $2 AND until > 0"',
      },
    ],
  },
  {
    ...lease,
    name: "a statement that writes past Database.write",
    title: "writes nothing past Database.write",
    edits: [
      {
        file: "store/database/Connections.ts",
        source: 'default_transaction_read_only: "on"',
        instead: 'default_transaction_read_only: "off"',
      },
    ],
  },
  {
    ...lease,
    name: "rows remembered over the transaction of another process",
    edits: [
      {
        file: "store/database/Postgres.ts",
        source: '    if (guests !== held.guests) writes.note("*")\n',
        instead: "",
      },
    ],
  },
  {
    ...lease,
    name: "a decision kept that was made by rows of before another process wrote",
    edits: [
      { file: "store/database/Postgres.ts", source: "        if (isOutdated) return yield* outdated()\n", instead: "" },
    ],
  },
  {
    ...lease,
    name: "a lease believed in without a look at the own clock",
    title: "believes in its lease",
    edits: [
      {
        file: "store/database/Postgres.ts",
        source: "!held.isLost && performance.now() < held.deadline",
        instead: "!held.isLost",
      },
    ],
  },
  {
    ...lease,
    name: "a COMMIT whose answer is lost believed to have failed",
    edits: [
      {
        file: "store/database/Postgres.ts",
        source: 'access === "holder" ? settle(at, error, count) : error',
        instead: "error",
      },
    ],
  },
  {
    ...lease,
    name: "a COMMIT that never arrived believed to have succeeded",
    edits: [{ file: "store/database/Postgres.ts", source: "return found >= count", instead: "return found >= 0" }],
  },
  {
    ...lease,
    name: "commits that a failover lost written over",
    edits: [{ file: "store/database/Postgres.ts", source: "found <= held.count", instead: "found <= 0" }],
  },
  {
    name: "a store that is still run after it was moved",
    tests: ["store/moveStore.postgres.test.ts"],
    by: "test",
    edits: [
      { file: "store/database/moveStore.ts", source: "    yield* writeMark(from, { id, text: moved })\n", instead: "" },
    ],
  },
  {
    name: "a copy that is run before the store it was made of is marked",
    tests: ["store/moveStore.postgres.test.ts"],
    by: "test",
    edits: [
      {
        file: "store/database/moveStore.ts",
        source: "  yield* to.sql.withTransaction(writeMark(to, { id, text: unfinished }))\n",
        instead: "",
      },
    ],
  },
]
