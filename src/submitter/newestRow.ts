import { Effect } from "effect"
import { Observations } from "../store/Observations.ts"

/** Block time of the newest row of any of the party's accounts; 0 where none is known. */
export const newestRow = Effect.fnUntraced(function* (party: string) {
  const own = (yield* (yield* Observations).accounts).filter((account) => account.party === party)
  return own.reduce((newest, { timestamp }) => (timestamp > newest ? timestamp : newest), 0n)
})
