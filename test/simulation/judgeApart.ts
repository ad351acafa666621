import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Chain } from "../../src/sandbox/Chain.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { boundsOf } from "./Bounds.ts"
import { executionsOf } from "./Judge.ts"
import type { Side } from "./Side.ts"

const idsSql = {
  payment: "SELECT id FROM intents",
  transfer: "SELECT transfer_id AS id FROM attempts UNION SELECT id FROM listed_transfers",
} as const

/** No payment of one treasury is in the store of another: neither its decision, nor its transfer. */
export const judgeApart = (sides: ReadonlyArray<Side>, chain: Chain): void => {
  const found = sides.map((side) => {
    const db = new DatabaseSync(join(side.dataDir, databaseFile))
    const idsOf = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map(({ id }) => String(id))
    const [payments, transfers] = [idsOf(idsSql.payment), idsOf(idsSql.transfer)]
    db.close()
    const executed = executionsOf(chain, boundsOf(side.books)).map(({ id }) => id)
    return { side, stored: new Set([...payments, ...transfers]), own: [...payments, ...transfers, ...executed] }
  })
  for (const { side, stored } of found) {
    for (const other of found) {
      if (other.side === side) continue
      side.docket.chance("foreign", other.own.length)
      side.docket.event("payment of another treasury", other.own.length)
      for (const id of other.own)
        if (stored.has(id)) side.docket.wrong("foreign", `${id.slice(0, 40)} of another treasury is in the store`)
    }
  }
}
