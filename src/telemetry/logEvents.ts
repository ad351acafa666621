/** Types of the values of fields, by the name of the type in docs/log-events.md. */
interface FieldTypes {
  readonly text: string
  readonly id: string
  readonly hash: string
  readonly word: string
  readonly amount: string
  readonly number: number
  readonly flag: true
  readonly balances: ReadonlyArray<{ readonly party: string; readonly balance: string; readonly asset: string }>
  readonly bands: ReadonlyArray<{ readonly account: string; readonly low: string; readonly high: string }>
  readonly names: ReadonlyArray<string>
  readonly inputs: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly data: Readonly<Record<string, unknown>>
}

type FieldType = keyof FieldTypes

const field =
  <T extends FieldType>(type: T) =>
  (meaning: string) => ({ type, meaning })

const text = field("text")
const id = field("id")
const hash = field("hash")
const word = field("word")
const amount = field("amount")
const number = field("number")
const flag = field("flag")
const balances = field("balances")
const bands = field("bands")
const names = field("names")
const inputs = field("inputs")
const data = field("data")

/** Every field that a log line may have. The same name means the same in each event. */
export const logFields = {
  about: text("kind of a subject of the state: treasury, gateway, account, rule, payment and so on"),
  accepted: number("submissions of the last 24 h that a mempool accepted"),
  account: text('party and asset, such as "hot/USDT"'),
  accounts: balances("watched accounts: party, balance, asset"),
  amount: amount("amount in units of `asset`"),
  answered: number("first submissions of the last 24 h with a definite answer"),
  approvalAbove: amount("amount above which a payment must be approved, in units of `asset`"),
  approvers: names("operators who approve"),
  asset: text("symbol of the asset"),
  attempt: number("number of the attempt, from 1; its correlation id together with `intent`"),
  author: text("who asked for it"),
  balance: amount("balance in units of `asset`"),
  before: text("value before the change"),
  block: text("block height, or the range that was read at once"),
  chainId: text("chain id of the network"),
  change: amount("difference to the balance before, in units of `asset`, with its sign"),
  changes: text("fields of the listing that changed"),
  code: number("result code of the mempool check"),
  command: text("command to type"),
  confirmed: number("payments executed since the database was made"),
  count: number("how many"),
  dataDir: text("data directory"),
  facts: data("what is known of the subject"),
  delivered: data("fields of the alert"),
  detail: text("sentence that explains it"),
  duplicates: number("executions beyond the first of any payment, by the embedded ledger"),
  embedded: flag("true if the network is the embedded one, with play money"),
  evidence: text("what the gateway's answer shows"),
  executed: number("transfers that the embedded ledger executed"),
  failures: number("failures of the loop within ten minutes"),
  fault: text("misbehaviour of the embedded network"),
  fee: amount("network fee in units of `asset`"),
  feeMax: amount("highest fee permitted, while the real one is unknown, in units of `asset`"),
  former: text("process that ran the treasury before"),
  from: text("party that pays"),
  gateway: text("name of the gateway"),
  gatewayBalance: amount("balance that the gateway reports, in units of `asset`"),
  holder: text("process that runs the treasury"),
  hold: word("reason for which a rule pays nothing, as in docs/rules.md"),
  id: text("id of the notification: the same in each delivery"),
  idempotencyKey: text("key of a payment that a person submitted"),
  inputs: inputs(
    "numbers that each subject was judged by: accounts, trigger, wanted payments, policy lines, quotas, payments under way; amounts are text in units of its `asset`",
  ),
  intent: id("whole id of the payment; its correlation id"),
  invariant: word("assertion of the money path"),
  journalHead: hash("hash of the last journal entry"),
  journalSeq: number("number of the last journal entry"),
  kind: text("kind of the alert"),
  levels: bands("bands that rules keep: account, low, high"),
  loop: text("loop that failed"),
  mode: text("mode in force: observe, shadow or live"),
  need: number("signatures that are needed"),
  open: number("payments that are not finished"),
  outcome: text("outcome of the submission"),
  parts: names("parts of the configuration that changed"),
  party: text("name of the party"),
  payments: number("payments concerned"),
  percent: number("share that is done, 0 to 100"),
  per24h: amount("limit for 24 hours, in units of `asset`"),
  perTransfer: amount("limit for one payment, in units of `asset`"),
  policy: hash("hash of the policy"),
  purpose: text("use of the command"),
  proposed: number("payments decided since the database was made"),
  quorum: number("gateways that must agree"),
  reason: text("why it happened, or the reason that a person gave"),
  receiver: text("name of the receiver"),
  remedy: text("what to do"),
  resent: flag("true if an answer was lost and the same transaction was sent again"),
  restored: flag("true if another copy of this database made the payment"),
  rows: number("rows of the answer or the history"),
  rule: text("name of the rule"),
  rules: number("rules of the treasury"),
  scope: word("scope of a pause: all, or a rule, party or asset; or the reason of a halt"),
  seconds: number("duration in seconds"),
  severity: text("severity of the alert: page, ticket or info"),
  since: text("begin of a time range"),
  state: word("final state of the payment"),
  status: text("status of the asset in the listing"),
  stillHalted: names("reasons of halts that remain"),
  storedBalance: amount("balance by our own history, in units of `asset`"),
  subject: text("what the alert is about"),
  subjects: names("accounts that the rule judges alike"),
  terms: hash("hash of the terms"),
  to: text("party that is paid"),
  tokenFile: text("file with the token that the page asks for"),
  transferId: id("id of the transfer on the ledger"),
  transfersPer24h: number("most payments in 24 hours"),
  treasury: text("name of the treasury"),
  txHash: hash("whole hash of the transaction; its correlation id"),
  unanswered: number("first submissions of the last 24 h without a definite answer"),
  until: text("end of a time range or of a pause"),
  urls: names("addresses"),
  validToBlock: text("last block that may include the attempt"),
  version: text("version of the program"),
  withdrawal: flag("true if the payment leaves the network: debited here, to be claimed elsewhere"),
} as const

export type LogFieldName = keyof typeof logFields
export type LogFieldValue<N extends LogFieldName> = FieldTypes[(typeof logFields)[N]["type"]]

/** Severity of an event, which decides its log level: a page needs somebody now, a ticket on the next working day. */
export type LogSeverity = "page" | "ticket" | "info" | "debug"

/** A request without a usable answer, or another passing failure. */
const failure = "ticket + {reason} [{gateway} {intent} {attempt} {remedy} {receiver}]"

const sum = "{amount} {asset} {from} -> {to}"

/**
 * Every event that the program logs; docs/log-events.md lists the same. The key is `msg` of its line. Its text is
 * "severity word | subject | sentence + fields that the sentence does not show"; word, subject and sentence are its
 * form on a terminal. {name} is a field, {name:noun} a count with its noun, and a part in [] is left out where a field
 * in it is missing.
 */
export const logEvents = {
  // The daemon's life
  "daemon starting":
    "info cofferer | {version}  treasury {treasury}  mode {mode}  network {chainId}[{embedded} (embedded, play money)] + {dataDir}",
  "gateways configured": "info gateway | {urls}[    {quorum} must agree]    data {dataDir}",
  "payments permitted":
    "info may pay | {from} -> {to}, {asset}: {perTransfer} each, {per24h} per 24 h, {transfersPer24h:transfer} per 24 h[; {need} of {approvers} must approve each][ above {approvalAbove}]",
  "nothing else permitted": "info may pay | Nothing else can be signed.",
  "nothing permitted": "info may pay | nothing: {reason}",
  "page listening": "info page | {urls}[    asks for the token in {tokenFile}]",
  "page address not written": failure,
  "metrics listening": "info metrics | {urls}, without a token",
  "page not listening": failure,
  "spans not delivered": failure,
  "daemon ready": "info ready | [block {block}    ][{accounts}   ][band {levels}   ]{rules:rule}",
  "status summary":
    "info summary | {proposed} proposed, {confirmed} confirmed, {open} open; {accepted} of {answered:answered submission} accepted; {unanswered} unanswered[; the ledger: {executed} executed, {duplicates:duplicate}]",
  "command suggested": "info try now | {command}   # {purpose}",
  "treasuries started": "info several | {count:treasury file} + {dataDir}",
  "treasury ended": "page ended | {reason}; starts again in {seconds} s",
  "standing by": "info standby | {holder} runs it since {since}",
  "taken over": "info takeover | from {former}: {reason}",
  "demonstration complete": "info quiet | one line per change, a summary every 10 minutes; Ctrl-C stops it",
  "daemon stopping":
    "info stopping | waits for {count:answer}, at most {seconds} s; a second signal ends it at once, and nothing is paid twice",
  "daemon stopped":
    "info stopped | in {seconds} s: {open:open payment}, {journalSeq} journal entries, head {journalHead}",
  "state reported": "info state | {about} {subject}: {detail} + [{severity} {facts}]",
  "state not reported": failure,
  "loop failed": "page + {loop} {failures}",
  "invariant broken": "page + {invariant} {detail}",

  // Configuration
  "configuration doubtful": "ticket | {detail}",
  "configuration refused": "ticket + {author} {reason}",
  "configuration not loaded": failure,
  "configuration reloaded": "info reloaded | {parts} changed by {author}; policy {policy}",
  "terms in force": "info terms | {terms} in force, {reason}",
  "terms accepted": "info terms | {terms} accepted by {author} without the operators' keys: {reason}",

  // Balances and listings
  "balance changed": "info balance | {party} | [block {block}   ]{balance} {asset}   {change}",
  "more balances changed": "info balance | {count} more balances changed",
  "balance mismatch": "ticket mismatch | {account} | our history {storedBalance}, gateway {gatewayBalance} {asset}",
  "balance mismatch ended": "info match | {account} | the balances agree again",
  "balances not compared": failure,
  "balances not read": failure,
  "balances rebased":
    "info rebased | {account} | by {author}[, approved by {approvers}]: {reason}; {rows:row} read again",
  "balance history lost": "ticket gap | {since} to {until}: {reason}",
  "balance history read": "info backfill | {percent} % since {since}, now at {until}",
  "balance history not read": failure,
  "balance rows do not fit": "page + {since} {detail}",
  "gateway cannot filter by time": "page + {remedy}",
  "gateway ahead of our clock": "ticket + [{block}] [{seconds}]",
  "gateway went backwards": "ticket + {block}",
  "account listing without end": "ticket + {rows}",
  "asset changed": "info asset | {asset} | [{before} -> ][{status}][{changes}]",
  "asset pin mismatch": "page paused | {asset} | {detail}",
  "asset pin agrees": "info asset | {asset} | {detail}",
  "assets not read": failure,
  "network parameters not read": failure,
  "proof-of-work parameters not read": failure,
  "network epoch not read": failure,
  "transfer count not read": failure,
  "gateway does not answer yet": failure,
  "newest block not stored": failure,
  "chain accepted again": "info trusted | {chainId} | {detail}",

  // Rules
  "rule pending": "info pending | {rule} | [{subjects}: ]{detail} + [{until} {inputs}]",
  "rule idle": "info idle | {rule} | [{subjects}: ]has nothing to do: {detail} + [{inputs}]",
  "rule holding": "info hold | {rule} | [{subjects}: ]{detail} + {hold} [{until} {seconds} {inputs}]",
  "rule evaluated": "debug | {rule} | {subjects}: {detail} + {hold} [{until} {seconds} {inputs}]",
  "funding requested": `info asked | {rule} | requested: ${sum}; {reason}`,
  "funding received": `info received | {rule} | back in band; requested: ${sum}; {reason}`,

  // Payments
  "payment proposed": `info proposed | {intent} | {rule}: ${sum}; {reason}`,
  "payment rehearsed": `info rehearsed | {intent} | {rule}: ${sum}; {reason}`,
  "payment submitted": `info proposed | {intent} | submitted[ by {author}]: ${sum}; idempotencyKey {idempotencyKey}`,
  "approval needed": "info waits | {intent} | for {need} of {approvers}[; {detail}]",
  "payment approved": "info approved | {intent} | {detail}",
  "payment signed":
    "info signed | {intent}/{attempt} | on block {block} and saved; valid to block {validToBlock} + {transferId}",
  "attempt accepted":
    "info accepted | {intent}/{attempt} | by the mempool of {gateway}, tx {txHash} + {outcome} [{code}]",
  "attempt already known":
    "info known | {intent}/{attempt} | {gateway} has this transaction already + {txHash} {outcome} [{code}]",
  "attempt not sent":
    "info unsent | {intent}/{attempt} | {gateway} is unreachable; the same transaction is sent again + {txHash} {outcome} [{code}]",
  "attempt unanswered":
    "ticket unknown | {intent}/{attempt} | no answer in {seconds} s: outcome unknown; rebroadcasting the same transaction + {txHash} {outcome} {gateway} [{code}]",
  "attempt resent in the other wire form":
    "info resent | {intent}/{attempt} | in the other wire form (normal once per gateway) + {txHash} {outcome} {gateway} [{code}]",
  "attempt refused":
    "ticket refused | {intent}/{attempt} | [code {code}: ]{reason}; it may execute until block {validToBlock} + {txHash} {outcome} {gateway}",
  "attempt not accepted":
    "ticket refused | {intent}/{attempt} | {evidence}[, code {code}]: {reason} + {txHash} {outcome} {gateway}",
  "attempt expired": "info expired | {intent}/{attempt} | {reason}",
  "attempt lacks its proof of work": failure,
  "proof of work failed": failure,
  "proof-of-work search ended":
    "info work | {intent}/{attempt} | the search ended without its work: the attempt is over, or the process stops",
  "payment confirmed":
    "info confirmed | {intent} | {amount} {asset}[, fee {fee}][, fee pending, at most {feeMax}][{withdrawal}, debited here; claim it outside][, tx {txHash}][{restored}, made by another copy of this database][; {seconds} s after the decision][{resent}; an answer was lost, paid once] + {from} {to} {transferId} [{attempt}]",
  "payment ended": "info {state} | {intent} | {reason}",
  "payment waits for a gateway": failure,
  "payment not looked up": failure,
  "payment movements not looked up": failure,
  "newest block not read": failure,
  "gateway shows another payment": failure,
  "ledger not compared": failure,
  "debits of a party incomplete": "ticket + {party}",
  "transfers acknowledged": "info adopted | {payments:transfer} by {author}: {reason}",
  "payments imported": "info recovered | {payments:payment} by {author}: {reason}",

  // Controls
  "signing halted": "page halted | {scope} | {reason}; {remedy}",
  "HALT file written": "info HALT | the HALT file is in {dataDir}: {reason}",
  "HALT file not written": failure,
  "not halted elsewhere": failure,
  "payments paused": "info paused | {scope} | by {author}[ until {until}]: {reason}",
  "payments resumed":
    "info resumed | {scope} | by {author}[, approved by {approvers}]: {reason}[; still halted: {stillHalted}] + [{count}]",

  // Alerts, store and the embedded network
  "alert raised": "info ALERT | {subject} | {detail}   {severity}, delivered to {receiver} + {kind} {id} [{delivered}]",
  "alert resolved":
    "info resolved | {subject} | {detail}   delivered to {receiver} + {severity} {kind} {id} [{delivered}]",
  "alert not delivered": failure,
  "heartbeat not accepted": failure,
  "receivers not read": failure,
  "database not writable": "page + {reason} {remedy}",
  "database writable": "info store | it takes writes again",
  "metrics of the database are old": "page + {reason}",
  "sandbox listening": "info sandbox | network {chainId} at {urls}",
  "sandbox port taken": "ticket + {reason}",
  "sandbox fault armed": "info sandbox | {fault}",
  "sandbox stopped": "page",
} as const satisfies Readonly<Record<string, `${LogSeverity}${string}`>>

export type LogEventName = keyof typeof logEvents

type FieldsIn<Text> = Text extends `${string}{${infer Field}}${infer Rest}`
  ? (Field extends `${infer Name}:${string}` ? Name : Field) | FieldsIn<Rest>
  : never
type WithoutOptional<Text> = Text extends `${infer Before}[${string}]${infer Rest}`
  ? `${Before}${WithoutOptional<Rest>}`
  : Text
type RequiredIn<Text> = Extract<FieldsIn<WithoutOptional<Text>>, LogFieldName>
type OptionalIn<Text> = Exclude<Extract<FieldsIn<Text>, LogFieldName>, RequiredIn<Text>>

/** The fields that an event takes. */
export type LogFieldsOf<N extends LogEventName> = {
  readonly [F in RequiredIn<(typeof logEvents)[N]>]: LogFieldValue<F>
} & { readonly [F in OptionalIn<(typeof logEvents)[N]>]?: LogFieldValue<F> | undefined }

/** Events of the form `failure`. */
export type FailureEvent = {
  [N in LogEventName]: (typeof logEvents)[N] extends typeof failure ? N : never
}[LogEventName]

/** Parts of an event's text; missing ones are undefined. */
export const logEventForm = (name: LogEventName) => {
  const [first = "", ...sentences] = logEvents[name].replace(/ \+ .*/, "").split(" | ")
  const [severity, ...words] = first.split(" ")
  const [line, subject] = sentences.toReversed()
  return { severity: severity as LogSeverity, word: words.length === 0 ? undefined : words.join(" "), subject, line }
}
