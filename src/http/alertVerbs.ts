import { Clock, Effect, Schema } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { alertKinds, catalogue } from "../domain/alerts/catalogue.ts"
import { acknowledge, alertsMax, listAlerts, resend, showAlert } from "../store/alerts/alertRecords.ts"
import { raise, raiseOver } from "../store/alerts/raise.ts"
import { addSilence, endSilence, neverSilenced, silencesNow } from "../store/alerts/silences.ts"
import { Signals } from "../store/database/Signals.ts"
import { Words } from "./controlVerbs.ts"
import { problem, rowsShown } from "./stories.ts"

const Seq = Schema.Int.check(Schema.isGreaterThan(0))
const optional = Schema.optional

/** Bodies of the verbs, by the last part of their path. */
export const alertBodies = {
  ack: Schema.Struct({ seq: Seq, reason: Words, author: Words }),
  silence: Schema.Struct({
    /** Alerts of the name, kind and subject of this one. */
    seq: optional(Seq),
    name: optional(Words),
    kind: optional(Words),
    subject: optional(Words),
    /** How long it lasts. A month: a silence that nobody remembers is a danger. */
    millis: Schema.Int.check(
      Schema.isBetween({ minimum: 1, maximum: 31 * 86_400_000 }, { expected: "a silence of at most 31d" }),
    ),
    reason: Words,
    author: Words,
  }),
  unsilence: Schema.Struct({ id: Seq }),
  resend: Schema.Struct({ seq: optional(Seq) }),
  test: Schema.Struct({ receiver: optional(Words), author: Words }),
}

const unknown = (seq: number) => problem(`no alert ${seq}`, 404, '"cofferer alerts list" shows them')

/** Alerts that stand, or all of them, and the silences in force. */
export const alertsView = Effect.fn("Alerts.view")(function* (limit: number, everything: boolean) {
  const alerts = yield* listAlerts(rowsShown(limit, alertsMax), everything ? "all" : "standing")
  return { alerts, silences: yield* silencesNow }
})

export const alertStory = (seq: number) => Effect.map(showAlert(seq), (found) => found ?? unknown(seq))

export const ackAlert = Effect.fn("Alerts.ack")(function* ({ seq, author, reason }: typeof alertBodies.ack.Type) {
  const found = yield* showAlert(seq)
  if (found === undefined) return unknown(seq)
  if (found.state === "resolved") return problem(`alert ${seq} is resolved`, 409, "it alerts nobody any more")
  yield* acknowledge(seq, author, reason)
  return { acknowledged: seq, subject: found.subject, author, reason }
})

export const silenceAlerts = Effect.fn("Alerts.silenceVerb")(function* (asked: typeof alertBodies.silence.Type) {
  const { seq, millis, reason, author } = asked
  if (seq !== undefined && (asked.name ?? asked.kind ?? asked.subject) !== undefined) {
    return problem("an alert's number and --name, --kind or --subject", 400, "the number alone names the alert")
  }
  const found = seq === undefined ? undefined : yield* showAlert(seq)
  if (seq !== undefined && found === undefined) return unknown(seq)
  const { name = null, kind = null, subject = null } = found ?? asked
  if (name === null && kind === null && subject === null) {
    return problem("it would silence every alert", 400, "name an alert, or --name, --kind or --subject")
  }
  if (name === neverSilenced) return problem(`no silence covers ${name}`, 409, '"cofferer alerts ack" ends it')
  if (found === undefined && name !== null && !Object.hasOwn(catalogue, name)) {
    return problem(
      `no alert has the name ${name}`,
      400,
      "docs/runbooks.md and docs/runbooks-payments.md list the names",
    )
  }
  if (found === undefined && kind !== null && !alertKinds.includes(kind)) {
    return problem(`no alert has the kind ${kind}`, 400, `the kinds are ${alertKinds.join(", ")}`)
  }
  const until = (yield* Clock.currentTimeMillis) + millis
  const id = yield* addSilence({ name, kind, subject, author, reason, until })
  return { silenced: id, name, kind, subject, author, reason, until }
})

export const unsilenceAlerts = Effect.fn("Alerts.unsilence")(function* ({ id }: typeof alertBodies.unsilence.Type) {
  const isEnded = yield* endSilence(id)
  if (!isEnded) return problem(`no silence ${id} is in force`, 404, '"cofferer alerts list" shows them')
  yield* (yield* Signals).wake("alerts")
  return { ended: id }
})

export const resendAlerts = Effect.fn("Alerts.resendVerb")(function* (
  { routes }: Treasury,
  { seq }: typeof alertBodies.resend.Type,
) {
  if (seq !== undefined && (yield* showAlert(seq)) === undefined) return unknown(seq)
  const sent = yield* resend(seq, (severity) =>
    routes.filter(({ severities }) => severities.has(severity)).flatMap(({ receivers }) => receivers),
  )
  yield* (yield* Signals).wake("alerts")
  return { resent: sent }
})

const waitMillis = 200
const triesMax = 60
/** Newest alerts among which the test is found. */
const recentMax = 60

/** Sends an alert of no meaning, and waits for at most 12 s until the receivers have it. */
export const testReceivers = Effect.fn("Alerts.test")(function* (
  { receivers, name: treasury }: Treasury,
  { receiver, author }: typeof alertBodies.test.Type,
) {
  const names = receivers.map(({ name }) => name)
  if (receiver !== undefined && !names.includes(receiver)) {
    return problem(`no receiver ${receiver}`, 404, `alerts.receivers has ${names.join(", ")}`)
  }
  const at = yield* Clock.currentTimeMillis
  yield* raise("test", { treasury, author, at }, receiver === undefined ? names : [receiver])
  // Its all-clear is raised at once, since the caller may go away before the deliveries end. It is delivered after it.
  yield* raiseOver("test", { treasury, author, at })
  const [raised] = (yield* listAlerts(recentMax, "raised")).filter(({ name }) => name === "test")
  const seq = raised?.seq ?? 0
  const readDeliveries = Effect.map(showAlert(seq), (found) => found?.deliveries ?? [])
  let deliveries = yield* readDeliveries
  for (let n = 0; n < triesMax && deliveries.some(({ state, tries }) => state === "pending" && tries < 2); n++) {
    yield* Effect.sleep(waitMillis)
    deliveries = yield* readDeliveries
  }
  return { seq, deliveries }
})
