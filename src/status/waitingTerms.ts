import { Clock, Effect } from "effect"
import { ConfigInForce, type InForce, termsOf } from "../config/ConfigInForce.ts"
import { termsHash } from "../rules/storedTerms.ts"
import { AlertQueue } from "../store/AlertQueue.ts"
import { Brake } from "../store/Brake.ts"
import { Journal } from "../store/Journal.ts"
import { Observations } from "../store/Observations.ts"
import { Signals } from "../store/Signals.ts"
import { TermsLog, type TermsWait } from "../store/TermsLog.ts"
import { trip } from "../store/trip.ts"
import { Tip } from "../submitter/Tip.ts"
import { say } from "../telemetry/say.ts"
import { approvalOfTerms } from "./approvalOfTerms.ts"
import { asOne, putInForce } from "./putInForce.ts"

/** For so long people can object, by our clock and by the blocks'. */
export const waitMillis = 86_400_000
const tellMillis = 21_600_000
/** Knowledge that ends so many blocks before the newest is of now. */
const behindMax = 20n
/** Between two looks at what waits. */
const lookMillis = 5_000

/** From when on the terms come into force by themselves, Unix milliseconds; undefined where somebody objected. */
export const dueAt = ({ since, blockSince, objection }: TermsWait): number | undefined =>
  objection === undefined ? Math.max(since, blockSince ?? since) + waitMillis : undefined

const instant = (millis: number): string => `${new Date(millis).toISOString().slice(0, 16).replace("T", " ")} UTC`

/** What waits, and until when, for people. */
export const waitText = (wait: TermsWait): string => {
  const due = dueAt(wait)
  const until = due === undefined ? `for operators: ${wait.objection?.author} objected` : `until ${instant(due)}`
  return `new terms ${wait.hash.slice(0, 8)} wait ${until} (weaker: ${wait.weaker.join("; ")}); old terms in force`
}

/** Begins or goes on to wait with the file's terms, or ends a wait whose terms the file does not name any more. */
export const keepWaiting = Effect.fn("Terms.keepWaiting")(function* ({ treasury, waiting }: InForce) {
  const [log, journal] = [yield* TermsLog, yield* Journal]
  const wait = yield* log.waiting
  const hash = waiting === undefined ? undefined : termsHash(termsOf(waiting.file))
  if (wait?.hash === hash) return
  const append = (detail: string, facts: Readonly<Record<string, unknown>>) =>
    journal.append({ kind: "config", subject: treasury.name, body: { detail, ...facts } })
  if (wait !== undefined) {
    yield* log.end(wait.id)
    yield* append("terms wait no more: the file has others", { terms: wait.hash })
  }
  if (waiting === undefined || hash === undefined) return
  yield* log.begin(hash, waiting.weaker)
  yield* append("new terms wait", { terms: hash, weaker: waiting.weaker, replaces: (yield* log.inForce)?.seq })
})

/** Halts where the old terms cannot hold, and says at each start what waits. */
export const tellStart = Effect.fn("Terms.tellStart")(function* () {
  const { waiting } = (yield* ConfigInForce).now()
  const wait = yield* (yield* TermsLog).waiting
  const brake = yield* Brake
  if (waiting === undefined || wait === undefined) return yield* brake.release("terms", "the file's terms are in force")
  yield* tellPeople(wait)
  if (waiting.cannot.length === 0) return yield* brake.release("terms", "the old terms can hold")
  const { cannot } = waiting
  return yield* trip("terms", `the terms last in force cannot hold with this file: ${cannot.join("; ")}`)
})

const tellPeople = Effect.fnUntraced(function* (wait: TermsWait) {
  const at = yield* Clock.currentTimeMillis
  const log = yield* TermsLog
  const short = wait.hash.slice(0, 8)
  const object =
    wait.objection === undefined ? `; who does not want them: "cofferer object ${short} --reason TEXT"` : ""
  yield* log.told(wait.id, at)
  yield* tell(
    "page",
    `terms/${short}/${at}`,
    `${waitText(wait)}; operators can agree at once: "cofferer approve terms ${short}"${object}`,
  )
})

const tell = Effect.fnUntraced(function* (severity: "page" | "ticket", dedup: string, detail: string) {
  const { name } = (yield* ConfigInForce).now().treasury
  yield* (yield* AlertQueue).raise({ dedup, severity, kind: "config", subject: name, detail, fields: {} })
  yield* (yield* Signals).wake("alerts")
  yield* say("terms", { subject: name, detail })
})

/** Says of terms that came into force without anybody's agreement what they permit more. */
export const tellWeaker = (seq: number | undefined, weaker: ReadonlyArray<string>) =>
  seq === undefined || weaker.length === 0
    ? Effect.void
    : tell(
        "ticket",
        `terms/${seq}`,
        `started with terms that permit more than those last in force: ${weaker.join("; ")}; nobody had to agree, ` +
          "since they named no operators. If this is not meant: halt, and put the old file back",
      )

/** Puts the terms that wait in force where the operators agree, or their time is over and nobody objected. */
export const settleTerms = Effect.fn("Terms.settle")(function* () {
  const config = yield* ConfigInForce
  yield* config.reloading(settle)
})

const settle = Effect.gen(function* () {
  const inForce = (yield* ConfigInForce).now()
  const log = yield* TermsLog
  const [known, wait] = [yield* log.inForce, yield* log.waiting]
  if (inForce.waiting === undefined || known === undefined || wait === undefined) return
  const { file } = inForce.waiting
  if (wait.hash !== termsHash(termsOf(file))) return
  const approval = yield* approvalOfTerms(inForce, file)
  if (approval.isEnough) return yield* take(file, wait, `approved by ${approval.by.join(" and ")}`)
  if (yield* isOver(wait)) return yield* take(file, wait, "24 hours passed and nobody objected")
  const now = yield* Clock.currentTimeMillis
  if (wait.toldAt === undefined || wait.toldAt > now || now - wait.toldAt >= tellMillis) yield* tellPeople(wait)
}).pipe(Effect.withSpan("Terms.look"))

const isOver = Effect.fnUntraced(function* (wait: TermsWait) {
  const log = yield* TermsLog
  const now = yield* Clock.currentTimeMillis
  // A time to come is of a clock that was put back: nothing is known of how long this waited.
  if (wait.since > now) yield* log.count(wait.id, now, wait.blockSince)
  const { since, blockSince, objection } = wait
  if (objection !== undefined || blockSince === undefined || now < since + waitMillis) return false
  return (yield* blockTime) >= blockSince + waitMillis
})

/** Unix milliseconds of the newest block up to which all is known; 0 where none is. */
const blockTime = Effect.gen(function* () {
  const watermark = yield* (yield* Observations).watermark
  return watermark === undefined ? 0 : Number(watermark.timestamp / 1_000_000n)
})

const take = Effect.fnUntraced(function* (file: InForce, wait: TermsWait, why: string) {
  const config = yield* ConfigInForce
  const detail = `the terms that waited are in force, ${why}`
  const { weaker, hash } = wait
  const entry = { detail, terms: hash, weaker, policy: file.treasury.policy.hash, mode: file.mode }
  const write = Effect.gen(function* () {
    yield* putInForce(file, entry, config.now().treasury.rules)
    yield* (yield* TermsLog).end(wait.id)
    yield* tell("page", `terms/${hash.slice(0, 8)}/in-force/${wait.id}`, `${detail}: ${weaker.join("; ")}`)
    yield* (yield* Brake).release("terms", detail)
  })
  yield* config.replace(file, asOne(write))
  const signals = yield* Signals
  for (const loop of ["engine", "submitter", "balances"] as const) yield* signals.wake(loop)
})

/** Notes the newest block from which the wait counts: one that the network has just begun, whatever our clock says. */
export const countBlocks = Effect.fn("Terms.countBlocks")(function* () {
  const log = yield* TermsLog
  const wait = yield* log.waiting
  if (wait === undefined || wait.blockSince !== undefined) return
  const head = yield* (yield* Tip).head
  const watermark = yield* (yield* Observations).watermark
  if (watermark === undefined || watermark.height + behindMax < head.height) return
  yield* log.count(wait.id, wait.since, Number(watermark.timestamp / 1_000_000n))
})

/** Looks after what waits. A gateway that does not answer only lets it wait for longer. */
export const lookAtTerms = countBlocks().pipe(
  Effect.catchTag("GatewayError", () => Effect.void),
  Effect.andThen(settleTerms()),
)

export const termsLoop = lookAtTerms.pipe(Effect.andThen(Effect.sleep(lookMillis)), Effect.forever)
