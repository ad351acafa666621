import type { DatabaseSync } from "node:sqlite"
import { keptReasons } from "../../src/domain/Halt.ts"
import { lostGateway } from "../../src/submitter/audit/settleListed.ts"
import type { Docket } from "./Docket.ts"

interface Entry {
  readonly seq: number
  readonly at: number
  readonly kind: string
  readonly subject: string
  readonly body: string
}

const entriesSql = `SELECT seq, at, kind, subject, body FROM journal
  WHERE kind IN ('halt', 'pause', 'resume', 'attempt') ORDER BY seq`

interface Payment {
  readonly rule: string
  readonly from_party: string
  readonly to_party: string
}

const scopesOf = ({ rule, from_party: from, to_party: to }: Payment): ReadonlyArray<string> => [
  "all",
  `rule:${rule}`,
  `lock:${rule}`,
  `party:${from}`,
  `party:${to}`,
]

/** No send begins between the entry of a halt or a pause and that of its end: the journal has them in one order. */
export const judgeStops = (db: DatabaseSync, docket: Docket): void => {
  const halts = new Set<string>()
  const pauses = new Map<string, Array<{ readonly until: number | undefined }>>()
  const payments = db.prepare("SELECT rule, from_party, to_party FROM intents WHERE id = ?")
  let stops = 0
  const entries = db.prepare(entriesSql).all() as unknown as ReadonlyArray<Entry>
  for (const { seq, at, kind, subject, body } of entries) {
    const said = JSON.parse(body) as { readonly until?: number; readonly state?: string; readonly gateway?: string }
    if (kind === "halt") halts.add(subject)
    if (kind === "pause") pauses.set(subject, [...(pauses.get(subject) ?? []), { until: said.until }])
    if (kind === "halt" || kind === "pause") stops++
    if (kind === "resume") {
      if (subject === "all")
        for (const one of [...halts]) if (!keptReasons.some((kept) => kept === one)) halts.delete(one)
      halts.delete(subject)
      pauses.delete(subject)
    }
    // What a lost store has sent is noted under its halt: nothing leaves this process.
    if (kind !== "attempt" || said.state !== "sending" || said.gateway === lostGateway) continue
    if (stops > 0) docket.chance("stop")
    const payment = payments.get(subject) as unknown as Payment | undefined
    const name = `a send of ${subject.slice(0, 8)} begins at entry ${seq}`
    if (halts.size > 0) docket.wrong("stop", `${name} under a halt (${[...halts].join(", ")})`)
    if (payment === undefined) continue
    const paused = scopesOf(payment).filter((scope) =>
      pauses.get(scope)?.some(({ until }) => until === undefined || until > at),
    )
    if (paused.length > 0) docket.wrong("stop", `${name} under a pause (${paused.join(", ")})`)
  }
}
