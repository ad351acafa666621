import type { Outcome } from "./round.ts"
import { hoursAt } from "./Schedule.ts"
import type { Snapshot } from "./Snapshot.ts"
import type { Subject } from "./Subject.ts"

/** Identifies an account. */
export interface AccountOf {
  /** Public key. */
  readonly party: string
  /** Asset id. */
  readonly asset: string
}

export type Watch = ReturnType<typeof makeWatch>

/**
 * Selects the subjects to evaluate: those whose balances changed, those whose time has come, and those that are not at
 * rest. A subject at rest has no need: only its balances, its own times, or a cause that affects all subjects changes
 * its decision.
 */
export const makeWatch = (subjects: ReadonlyArray<Subject>) => {
  const place = new Map(subjects.map((subject, i) => [subject, i]))
  // Most accounts have one subject: a number costs less than a list of one.
  const byAsset = new Map<string, Map<string, number | Array<number>>>()
  for (const [i, subject] of subjects.entries()) {
    for (const { party, asset } of subject.accounts) {
      const byParty = byAsset.get(asset.id) ?? new Map<string, number | Array<number>>()
      byAsset.set(asset.id, byParty)
      const known = byParty.get(party.publicKey)
      if (known === undefined) byParty.set(party.publicKey, i)
      else if (typeof known === "number") byParty.set(party.publicKey, [known, i])
      else known.push(i)
    }
  }
  const restless = new Set(subjects.keys())
  // Places that the running call of `due` has found; all 0 between calls.
  const marks = new Uint8Array(subjects.length)
  const timed = new Map<number, number>()
  let earliest = Number.POSITIVE_INFINITY
  return {
    subjects,
    /** Subjects to evaluate now, in the order of the file; `changed` are accounts whose balances changed. */
    due: (now: number, changed: Iterable<AccountOf>): ReadonlyArray<Subject> => {
      if (restless.size === subjects.length) return subjects
      const places = [...restless]
      for (const i of places) marks[i] = 1
      const add = (i: number) => {
        if (marks[i] === 1) return
        marks[i] = 1
        places.push(i)
      }
      for (const { party, asset } of changed) {
        const known = byAsset.get(asset)?.get(party)
        if (typeof known === "number") add(known)
        else known?.forEach(add)
      }
      if (now >= earliest) for (const [i, at] of timed) if (at <= now) add(i)
      const found: Array<Subject> = []
      for (const i of new Uint32Array(places).sort()) {
        marks[i] = 0
        found.push(subjects[i]!)
      }
      return found
    },
    /** Records the outcome of an evaluation. */
    evaluated: ({ facts: { subject, snapshot, need }, judgement }: Outcome): void => {
      const i = place.get(subject)
      if (i === undefined) return
      const resting = need?._tag !== "Wanted" && judgement.timer.firingSince === undefined
      if (resting && !isTiedToOthers(subject)) restless.delete(i)
      else restless.add(i)
      const next = nextOf(subject, snapshot, need?._tag === "NotDue" ? need.next : undefined)
      if (next === undefined && timed.size === 0) return
      const before = timed.get(i)
      if (next === undefined) timed.delete(i)
      else timed.set(i, next)
      if (next !== undefined && next < earliest) earliest = next
      else if (before === earliest) earliest = [...timed.values()].reduce((a, b) => Math.min(a, b), Infinity)
    },
  }
}

/** True if a subject also depends on other rules' conditions, trial payments, listings or its own schedule. */
const isTiedToOthers = ({ kind, rule }: Subject): boolean =>
  kind === "code" || rule.inhibitedBy.length > 0 || rule.trial

/** The next moment (Unix milliseconds) at which time alone can change the decision; undefined where it never does. */
const nextOf = ({ rule }: Subject, { now }: Snapshot, planned: number | undefined): number | undefined => {
  if (rule.maintenance.length === 0 && rule.during === undefined) return planned
  const times = rule.maintenance.flatMap(({ from, until }) => [from, until]).filter((at) => at > now)
  if (rule.during !== undefined) times.push(hoursAt(rule.during, now).until)
  if (planned !== undefined) times.push(planned)
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
}
