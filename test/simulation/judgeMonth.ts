import { DatabaseSync } from "node:sqlite"
import { type HoldReason, holdReasons } from "../../src/domain/Decision.ts"
import { judgePayments, paymentsOf, rowsOf, timeText } from "./judgeYear.ts"
import type { Month } from "./runMonth.ts"

/** Reasons of rules to be silent that are no guard's: there is nothing to pay, or the rule's own text says so. */
const ordinary: ReadonlySet<HoldReason> = new Set([
  "not_due",
  "in_band",
  "pending",
  "in_flight",
  "settling",
  "cooldown",
  "too_small",
  "yielded",
])
/** A payment whose answer was lost is under way like any other, and so long the ledger has to tell of it. */
const lostMillis = 3_000
/** From its decision to its signature, where nothing makes a payment wait. */
const signedWithinMillis = 10_000

export interface JudgedMonth {
  /** What waited for a guard: "time rule: what for". */
  readonly waits: ReadonlyArray<string>
  /** How often, by guard. */
  readonly guards: ReadonlyMap<string, number>
  readonly violations: ReadonlyArray<string>
  readonly payments: number
}

interface Wait {
  readonly at: number
  /** Until when it lasted. */
  readonly until: number
  readonly guard: string
  readonly what: string
}

/** What waited, and what must hold of each payment; `file` is the store that the ended daemon left. */
export const judgeMonth = ({ year, aways, polls }: Month, file: string): JudgedMonth => {
  const db = new DatabaseSync(file)
  try {
    const isAway = ({ at, until }: Wait) => [...aways, ...polls].some((away) => at >= away.from && until <= away.until)
    const waits = [...holds(db), ...refusals(db), ...unsigned(db)].filter((wait) => !isAway(wait))
    const guards = new Map<string, number>()
    for (const { guard } of waits) guards.set(guard, (guards.get(guard) ?? 0) + 1)
    const payments = paymentsOf(db)
    return {
      waits: waits.map(({ at, what }) => `${timeText(at)} ${what}`),
      guards,
      violations: [...year.wrong, ...judgePayments(year, payments), ...heard(db, aways, polls)],
      payments: payments.length,
    }
  } finally {
    db.close()
  }
}

/** Rules that were silent for a reason that is not ordinary. */
const holds = (db: DatabaseSync): ReadonlyArray<Wait> => {
  const rows = rowsOf<{ at: number; until: number | null; rule: string; reason: HoldReason; detail: string }>(
    db,
    `SELECT at, rule, reason, detail, lead(at) OVER (PARTITION BY rule, subject ORDER BY seq) AS until
      FROM decisions WHERE rule <> 'low' ORDER BY seq`,
  )
  return rows
    .filter(({ reason }) => holdReasons.includes(reason) && !ordinary.has(reason))
    .map(({ at, until, rule, reason, detail }) => ({
      at,
      until: until ?? Number.POSITIVE_INFINITY,
      guard: reason,
      what: `${rule}: ${reason}: ${detail}`,
    }))
    .filter(({ at, until, guard }) => guard !== "unresolved" || until - at > lostMillis)
}

/** What the signer refused. */
const refusals = (db: DatabaseSync): ReadonlyArray<Wait> =>
  rowsOf<{ at: number; subject: string; body: string }>(
    db,
    "SELECT at, subject, body FROM journal WHERE kind = 'refusal' ORDER BY seq",
  ).map(({ at, subject, body }) => {
    const { refusal } = JSON.parse(body) as { readonly refusal?: string }
    return { at, until: at, guard: `refusal ${refusal}`, what: `payment ${subject.slice(0, 8)} was refused: ${body}` }
  })

/** Payments that were signed late or never, whatever they waited for. */
const unsigned = (db: DatabaseSync): ReadonlyArray<Wait> =>
  rowsOf<{ id: string; rule: string; at: number; until: number | null; detail: string }>(
    db,
    `SELECT id, rule, i.created_at AS at, i.detail, a.created_at AS until
      FROM intents AS i LEFT JOIN attempts AS a ON a.intent_id = i.id AND a.k = 1`,
  ).flatMap(({ id, rule, at, until, detail }) => {
    const end = until ?? Number.POSITIVE_INFINITY
    if (end - at <= signedWithinMillis) return []
    const when = until === null ? "never" : `${Math.round((end - at) / 1_000)} s later`
    return [
      {
        at,
        until: end,
        guard: "signature",
        what: `payment ${id.slice(0, 8)} of ${rule} was signed ${when}: ${detail}`,
      },
    ]
  })

/** People hear that all is as before once it has been so for a moment. */
const againMillis = 30_000
/** Cooldown of the rules: an account that falls again while it is filled stays so for that long. */
const restMillis = 60_000

/** Nobody hears of anything but of what was away, and of a limit that is used: it is for information. */
const heard = (db: DatabaseSync, aways: Month["aways"], polls: Month["polls"]): ReadonlyArray<string> => {
  const mayHear = [...aways.map(({ from, until }) => ({ from, until: until + againMillis })), ...polls]
  const alerts = rowsOf<{ kind: string; subject: string; detail: string; at: number }>(
    db,
    "SELECT kind, subject, detail, at FROM alerts WHERE NOT (kind = 'rule' AND subject = 'low') AND dedup NOT LIKE 'limit/%'",
  )
  const halts = rowsOf<{ reason: string; detail: string }>(db, "SELECT reason, detail FROM halts")
  return [
    ...halts.map(({ reason, detail }) => `halted: ${reason}: ${detail}`),
    ...alerts
      .filter(({ at, detail }) => {
        const later = detail.startsWith("over;") ? againMillis + restMillis : 0
        return !mayHear.some(({ from, until }) => at >= from && at <= until + later)
      })
      .map(({ kind, subject, detail, at }) => `people heard of ${kind} ${subject} at ${timeText(at)}: ${detail}`),
  ]
}
