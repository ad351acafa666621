import { Clock, Effect } from "effect"
import { readView } from "../../http/StatusView.ts"
import type { View } from "../../http/View.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import type { LogFieldsOf } from "../../telemetry/logEvents.ts"
import { Metrics } from "../../telemetry/Metrics.ts"

type Subject = LogFieldsOf<"state reported">

/** Logs the state of the treasury and of the process, one line for each subject; `about` names its kind. */
export const logState = Effect.gen(function* () {
  const view = yield* readView()
  const now = yield* Clock.currentTimeMillis
  const loops = [...(yield* (yield* Metrics).lastSuccess)].map(([loop, at]): Subject => {
    const seconds = (now - at) / 1_000
    return {
      about: "loop",
      subject: loop,
      detail: `last cycle ${seconds.toFixed(1)} s ago`,
      facts: { ageSeconds: seconds },
    }
  })
  for (const subject of [...subjectsOf(view), ...loops, processOf()]) yield* logEvent("state reported", subject)
})

const subjectsOf = (view: View): ReadonlyArray<Subject> => [
  {
    about: "treasury",
    subject: view.treasury,
    detail: view.sentence.text,
    severity: view.sentence.severity,
    facts: {
      mode: view.mode,
      version: view.version,
      chain: view.network.chainId,
      height: view.height,
      ...(view.ageSeconds === null ? {} : { ageSeconds: view.ageSeconds }),
      journal: view.journal.seq,
      head: view.journal.head,
      alertsPending: view.alertsPending,
    },
  },
  ...view.conditions.map(({ condition, severity, text, remedy }) => ({
    about: "condition",
    subject: condition,
    detail: `${text}; ${remedy}`,
    severity,
  })),
  ...view.halts.map(({ reason, detail, at }) => ({ about: "halt", subject: reason, detail, facts: { since: at } })),
  ...view.pauses.map(({ scope, reason, author, until }) => ({
    about: "pause",
    subject: scope,
    detail: `${author}: ${reason}`,
    facts: { until: until ?? "resume" },
  })),
  ...view.network.gateways.map(({ name, state, detail, height }) => ({
    about: "gateway",
    subject: name,
    detail: detail === "" ? state : `${state}: ${detail}`,
    facts: { state, height: height ?? undefined },
  })),
  ...view.accounts.map(({ party, asset, balance, inBand, reserved, incoming, observation }) => ({
    about: "account",
    subject: `${party}/${asset}`,
    detail: `${balance}${inBand === false ? ", out of band" : ""}`,
    facts: { balance, inBand, reserved, incoming, block: observation?.block },
  })),
  ...view.rules.map(({ name, subject, sentence, state, reason }) => ({
    about: "rule",
    subject: subject === "" ? name : `${name} ${subject}`,
    detail: sentence,
    facts: { state, reason: reason ?? undefined },
  })),
  ...view.intents
    .filter(({ open }) => open)
    .map(({ id, short, state, detail, wait, held }) => ({
      about: "payment",
      subject: short,
      detail,
      facts: { id, state, waitsFor: wait?.waitsFor, held: held.length === 0 ? undefined : held },
    })),
  ...view.policy.map(({ line, text, used, limit, transfers, share }) => ({
    about: "limit",
    subject: `line ${line}`,
    detail: `${text}: ${used} of ${limit} and ${transfers} transfers in 24 h`,
    facts: { share },
  })),
]

const processOf = (): Subject => {
  const { rss, heapUsed } = process.memoryUsage()
  const uptimeSeconds = Math.round(process.uptime())
  const detail = `up ${uptimeSeconds} s, ${(rss / 1e6).toFixed(0)} MB resident`
  return { about: "process", subject: String(process.pid), detail, facts: { uptimeSeconds, rss, heapUsed } }
}
