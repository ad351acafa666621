import { Effect } from "effect"
import { Database } from "../../src/store/database/Database.ts"

/** A database whose first transaction is undone at its end, as by a COMMIT that got lost, and runs again. */
export const twice = Effect.map(Database, (database) => {
  let isFirst = true
  return Database.of({
    ...database,
    write: (effect, takenBack) => {
      const done = database.write(effect, takenBack)
      if (!isFirst) return done
      isFirst = false
      return Effect.andThen(Effect.exit(database.write(Effect.andThen(effect, Effect.fail("undone")), takenBack)), done)
    },
  })
})
