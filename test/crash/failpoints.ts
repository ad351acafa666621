/** What a life must be like for a step to come by. Most steps come by in every life. */
export type Circumstance =
  /** The first life of a data directory. */
  | "fresh"
  /** The network loses what it takes, so that attempts end unexecuted. */
  | "expiry"
  /** The network takes a submission, and its answer is lost. */
  | "lostAnswer"
  /** The network says that a proof of work is wrong. */
  | "refusedWork"
  /** The receiver of alerts refuses them. */
  | "deafReceiver"
  /** The file named HALT appears, then goes. */
  | "haltFile"
  /** A person pauses and resumes one rule. */
  | "pause"
  /** A person hands in a payment. */
  | "submit"
  /** The process is asked to stop. */
  | "stop"

/** A step of the program: the span of this name, where `inside` is given only within a span of that one. */
export interface Failpoint {
  readonly name: string
  readonly inside?: string
  readonly circumstance?: Circumstance
  /** The process dies at one of its first so many passes. Default 1. */
  readonly passes?: number
}

const at = (name: string, passes = 1): Failpoint => ({ name, passes })
/** The last step of a transaction: its end is the moment before COMMIT, the end of the outer span the one after. */
const within = (inside: string, name: string): Failpoint => ({ name, inside })
const when = (circumstance: Circumstance, ...points: ReadonlyArray<Failpoint>): ReadonlyArray<Failpoint> =>
  points.map((point) => ({ ...point, circumstance }))

/** Every step of a payment's way at which a process may die, and what stands around it. */
export const failpoints: ReadonlyArray<Failpoint> = [
  // In the order in which a first life passes them: each may be passed only once.
  ...when(
    "fresh",
    at("Database.useSchema"),
    within("Settings.getOrMake", "Settings.set"),
    at("Observations.prune"),
    at("Settings.set"),
    at("GatewayReader.accounts"),
    at("GatewayReader.parameters"),
    at("Listings.saveParameters"),
  ),

  at("Daemon.prepare"),
  at("Controls.release", 2),
  at("Journal.append", 4),
  at("GatewayReader.head", 3),
  at("Transport.request", 6),

  at("GatewayReader.balanceChanges", 3),
  at("Observations.advance", 3),
  at("GatewayReader.assets", 2),
  at("Listings.replace", 2),

  at("Engine.decide", 3),
  at("Engine.snapshot", 3),
  at("Engine.evaluate", 4),
  at("Database.write", 3),
  at("RuleStates.save", 2),
  at("Outbox.record"),
  within("Outbox.record", "Journal.append"),

  at("Submitter.advance", 2),
  at("Outbox.move"),
  within("Outbox.move", "Journal.append"),
  at("Submitter.sign"),
  at("ChainHeadCache.head", 3),
  at("Submitter.signAndPersist", 2),
  at("Signer.permit", 2),
  at("Signer.nonce"),
  at("Signer.sign", 2),
  at("SpendLog.record"),
  within("SpendLog.record", "Journal.append"),
  at("Outbox.persist", 2),
  within("Outbox.persist", "Journal.append"),
  at("Submitter.send"),
  at("ProofOfWork.solve", 2),
  at("Outbox.saveWork", 2),
  within("Outbox.saveWork", "Journal.append"),
  at("Settings.framing"),
  at("Submitter.post"),
  at("Submitter.takeTurn"),
  at("GatewayWriter.turn"),
  at("Outbox.beginSend", 2),
  within("Outbox.beginSend", "Journal.append"),
  at("GatewayWriter.submit", 2),
  at("Outbox.endSend", 2),
  within("Outbox.endSend", "Journal.append"),
  ...when("lostAnswer", at("Submitter.reflect")),

  at("Confirm.intent", 2),
  at("GatewayReader.transfer", 2),
  at("Outbox.addEvidence"),
  at("Confirm.confirmed"),
  at("Outbox.settle"),
  at("SpendLog.close"),
  within("Outbox.settle", "Journal.append"),
  at("Settings.rememberFraming"),
  at("Confirm.moved"),

  at("Reconcile.transfers"),
  at("LedgerAudit.note"),
  at("Reconcile.watch"),
  at("LedgerAudit.endWatch"),

  ...when(
    "expiry",
    at("Confirm.judgeAbsent"),
    at("GatewayReader.transfersFrom"),
    within("Confirm.judgeAbsent", "Outbox.addEvidence"),
    at("Confirm.expired"),
    within("Confirm.expired", "Outbox.settle"),
    at("Settings.forgetFraming"),
    at("Engine.isWanted"),
  ),
  ...when("refusedWork", at("Outbox.dropWork")),

  at("AlertQueue.raise"),
  at("Listings.markHandled"),
  at("Alerts.deliverOne"),
  at("AlertQueue.begin"),
  at("HttpChannel.send"),
  at("AlertQueue.delivered"),
  ...when("deafReceiver", at("AlertQueue.failed")),

  ...when("haltFile", at("Controls.halt"), within("Controls.release", "Journal.append")),
  ...when("pause", at("Controls.pause"), at("Controls.resume")),
  ...when("submit", at("Submit.submit"), within("Submit.submit", "Outbox.record")),
  ...when("stop", at("Daemon.drain")),
]

export type Moment = "start" | "end"
export const moments: ReadonlyArray<Moment> = ["start", "end"]

export const nameOf = ({ name, inside }: Failpoint): string => (inside === undefined ? name : `${inside}/${name}`)
