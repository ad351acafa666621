import { Effect } from "effect"
import { Brake } from "../store/Brake.ts"
import { Database } from "../store/Database.ts"
import { Findings, type Stranger } from "../store/Findings.ts"
import { Journal } from "../store/Journal.ts"
import { Settings } from "../store/Settings.ts"
import { rememberStoreFile } from "../store/StoreFile.ts"
import { Witness } from "../store/Witness.ts"
import { type Agree, type Asked, listWhole, noteWhole } from "./adopt.ts"
import { countSpends } from "./countSpends.ts"
import { handOverKey } from "./handOver.ts"
import { judgeStrangers, lastOwnSequence } from "./noteListing.ts"
import { beginQuarantine } from "./quarantine.ts"

interface Recovered {
  /** Entry of the journal that the last payment of this installation on the ledger was signed at, if there is one. */
  readonly lastOnLedger: number | undefined
  /** The last entry of the journal before this. */
  readonly lastInJournal: number
  /** Payments of this installation that the store did not know, now imported. */
  readonly missing: ReadonlyArray<Stranger>
}

/**
 * Makes a store that was put back the store again: imports this installation's payments that it misses, counts them in
 * the policy's windows, remembers the file, and ends the halt. What it has under way is handed over to people. Until a
 * window has passed nothing is signed, since what the lost store had under way may still execute.
 */
export const recover = Effect.fn("Recover")(function* <E, R>(
  keys: ReadonlyArray<string>,
  file: string,
  { reason, author }: Asked,
  agree: Agree<E, R>,
) {
  const findings = yield* Findings
  const journal = yield* Journal
  const brake = yield* Brake
  const settings = yield* Settings
  const installation = yield* settings.get("installation")
  const listings = yield* Effect.forEach(keys, listWhole)
  const all = listings.flatMap(({ listing }) => listing?.transfers ?? [])
  const database = yield* Database
  const recovered = yield* database.atomically(
    Effect.gen(function* () {
      const { seq } = yield* journal.head
      const found = yield* noteWhole(listings, installation)
      yield* judgeStrangers(
        installation,
        found.filter((stranger) => !stranger.own),
      )
      const missing = (yield* findings.strangers).filter((stranger) => stranger.own)
      yield* agree(missing)
      yield* findings.acknowledge(
        missing.map(({ id }) => id),
        "recovered",
      )
      yield* countSpends(missing)
      const lastOnLedger = lastOwnSequence(installation, all)
      const ids = missing.map(({ id }) => id)
      yield* journal.append({
        kind: "recovered",
        subject: "restored_store",
        body: { reason, author, lastOnLedger, lastInJournal: seq, ids },
      })
      yield* rememberStoreFile(file)
      yield* beginQuarantine()
      // Asked for a second time, or for nothing, it takes no payment from a store that nobody has lost.
      const isLost = (yield* brake.halts).some(({ reason: halted }) => halted === "restored_store")
      const unlisted = listings.filter(({ listing }) => listing === undefined).map(({ party }) => party)
      if (isLost || missing.length > 0) yield* settings.set(handOverKey, ["pending", ...unlisted].join(" "))
      yield* brake.release("restored_store", `${author}: ${reason}`)
      return { lastOnLedger, lastInJournal: seq, missing } satisfies Recovered
    }),
  )
  yield* (yield* Witness).note
  return recovered
})
