import type { Level } from "../rules/Rule.ts"
import type { Subject } from "../rules/Subject.ts"

/** The balances at which a subject has no need, both ends included. */
export interface Band {
  readonly level: Level
  readonly least: bigint | undefined
  readonly most: bigint | undefined
}

/** The band of a subject whose need follows from one balance alone; undefined for all others. */
export const bandOf = (subject: Subject): Band | undefined => {
  switch (subject.kind) {
    case "topUp":
      return { level: subject.level, least: subject.level.trigger, most: undefined }
    case "request":
      return { level: subject.rule.level, least: subject.rule.level.trigger, most: undefined }
    case "sweep":
      return { level: subject.level, least: undefined, most: subject.level.trigger }
    case "split":
    case "withdraw":
      return { level: subject.rule.level, least: undefined, most: subject.rule.level.trigger }
    default:
      return undefined
  }
}

/** Whether the balance is within the band. */
export const isWithin = ({ least, most }: Band, balance: bigint): boolean =>
  (least === undefined || balance >= least) && (most === undefined || balance <= most)
