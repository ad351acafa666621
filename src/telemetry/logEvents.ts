import { info, type LogEvent, page, ticket } from "./LogEvent.ts"
import type { LogFieldName, LogFieldValue } from "./logFields.ts"

/** A request without a usable answer, or another failure that passes. */
const failure = ticket({ needs: ["reason"], may: ["gateway", "intent", "attempt", "remedy", "receiver"] })

const payment = ["intent", "amount", "asset", "from", "to"] as const
const attempt = ["intent", "attempt"] as const
const sent = [...attempt, "txHash", "outcome"] as const
const sum = "{amount} {asset} {from} -> {to}"

/** Every event that the program logs; docs/log-events.md lists the same. */
export const logEvents = {
  // The daemon's life
  "daemon starting": info({
    word: "cofferer",
    line: "{version}  treasury {treasury}  mode {mode}  network {chainId}[{embedded} (embedded, play money)]",
    needs: ["version", "treasury", "mode", "chainId", "dataDir"],
    may: ["embedded"],
  }),
  "gateways configured": info({
    word: "gateway",
    line: "{urls}[    {quorum} must agree]    data {dataDir}/",
    needs: ["urls", "dataDir"],
    may: ["quorum"],
  }),
  "payments permitted": info({
    word: "may pay",
    line: "{from} -> {to}, {asset}: {perTransfer} each, {per24h} per 24 h, {transfersPer24h:transfer} per 24 h[{people}]",
    needs: ["from", "to", "asset", "perTransfer", "per24h", "transfersPer24h"],
    may: ["people"],
  }),
  "nothing else permitted": info({ word: "may pay", line: "Nothing else can be signed.", needs: [] }),
  "nothing permitted": info({ word: "may pay", line: "nothing: {reason}", needs: ["reason"] }),
  "page listening": info({
    word: "page",
    line: "{urls}[    asks for the token in {tokenFile}]",
    needs: ["urls"],
    may: ["tokenFile"],
  }),
  "page address not written": failure,
  "metrics listening": info({ word: "metrics", line: "{urls}, without a token", needs: ["urls"] }),
  "page not listening": failure,
  "spans not delivered": failure,
  "daemon ready": info({
    word: "ready",
    line: "[block {block}    ][{accounts}   ][band {levels}   ]{rules:rule}",
    needs: ["rules"],
    may: ["block", "accounts", "levels"],
  }),
  "status summary": info({
    word: "summary",
    line: "{proposed} proposed, {confirmed} confirmed, {open} open; {accepted} of {answered:answered submission} accepted; {unanswered} unanswered[; the ledger: {executed} executed, {duplicates:duplicate}]",
    needs: ["proposed", "confirmed", "open", "accepted", "answered", "unanswered"],
    may: ["executed", "duplicates"],
  }),
  "command suggested": info({ word: "try now", line: "{command}   {purpose}", needs: ["command", "purpose"] }),
  "demonstration complete": info({
    word: "quiet",
    line: "one line per change, a summary every 10 minutes; Ctrl-C stops it",
    needs: [],
  }),
  "daemon stopping": info({
    word: "stopping",
    line: "waits for {count:answer}, at most {seconds} s; a second signal ends it at once, and nothing is paid twice",
    needs: ["count", "seconds"],
  }),
  "daemon stopped": info({
    word: "stopped",
    line: "in {seconds} s: {open:open payment}, {journalSeq} journal entries, head {journalHead}",
    needs: ["seconds", "open", "journalSeq", "journalHead"],
  }),
  "state reported": info({
    word: "state",
    line: "{about} {subject}: {detail}",
    needs: ["about", "subject", "detail"],
    may: ["severity", "facts"],
  }),
  "state not reported": failure,
  "loop failed": page({ needs: ["loop", "failures"] }),
  "invariant broken": page({ needs: ["invariant", "detail"] }),

  // Configuration
  "configuration doubtful": ticket({ line: "{detail}", needs: ["detail"] }),
  "configuration refused": ticket({ needs: ["author", "reason"] }),
  "configuration not loaded": failure,
  "configuration reloaded": info({
    word: "reloaded",
    line: "{parts} changed by {author}; policy {policy}",
    needs: ["parts", "author", "policy"],
  }),
  "terms in force": info({
    word: "terms",
    line: "{terms} in force, {reason}",
    needs: ["terms", "reason"],
  }),
  "terms accepted": info({
    word: "terms",
    line: "{terms} accepted by {author} without the operators' keys: {reason}",
    needs: ["terms", "author", "reason"],
  }),

  // Balances and listings
  "balance changed": info({
    word: "balance",
    subject: "{party}",
    line: "[block {block}   ]{balance} {asset}   {change}",
    needs: ["party", "asset", "balance", "change"],
    may: ["block"],
  }),
  "more balances changed": info({ word: "balance", line: "{count} more balances changed", needs: ["count"] }),
  "balance mismatch": ticket({
    word: "mismatch",
    subject: "{account}",
    line: "our history {storedBalance}, gateway {gatewayBalance} {asset}",
    needs: ["account", "asset", "storedBalance", "gatewayBalance"],
  }),
  "balance mismatch ended": info({
    word: "match",
    subject: "{account}",
    line: "the balances agree again",
    needs: ["account"],
  }),
  "balances not compared": failure,
  "balances not read": failure,
  "balances rebased": info({
    word: "rebased",
    subject: "{account}",
    line: "by {author}[, approved by {approvers}]: {reason}; {rows:row} read again",
    needs: ["account", "author", "reason", "rows"],
    may: ["approvers"],
  }),
  "balance history lost": ticket({
    word: "gap",
    line: "{since} to {until}: {reason}",
    needs: ["since", "until", "reason"],
  }),
  "balance history read": info({
    word: "backfill",
    line: "{percent} % since {since}, now at {until}",
    needs: ["percent", "since", "until"],
  }),
  "balance history not read": failure,
  "balance rows do not fit": page({ needs: ["since", "detail"] }),
  "gateway reads by no time": page({ needs: ["remedy"] }),
  "gateway ahead of our clock": ticket({ needs: ["block"], may: ["seconds"] }),
  "gateway went backwards": ticket({ needs: ["block"] }),
  "account listing without end": ticket({ needs: ["rows"] }),
  "asset changed": info({
    word: "asset",
    subject: "{asset}",
    line: "[{before} -> ][{status}][{changes}]",
    needs: ["asset"],
    may: ["before", "status", "changes"],
  }),
  "asset pin mismatch": page({ word: "paused", subject: "{asset}", line: "{detail}", needs: ["asset", "detail"] }),
  "asset pin agrees": info({ word: "asset", subject: "{asset}", line: "{detail}", needs: ["asset", "detail"] }),
  "asset listing without end": ticket({ needs: ["rows"] }),
  "asset listing contradicts itself": ticket({ needs: ["rows"] }),
  "asset listing empty": ticket({ needs: [] }),
  "asset listing ahead of our clock": ticket({ needs: ["block"] }),
  "asset listing older than the last": ticket({ needs: ["block"] }),
  "assets not read": failure,
  "network parameters not read": failure,
  "proof-of-work parameters not read": failure,
  "network epoch not read": failure,
  "transfer count not read": failure,
  "gateway does not answer yet": failure,
  "newest block not stored": failure,
  "chain accepted again": info({
    word: "trusted",
    subject: "{chainId}",
    line: "{detail}",
    needs: ["chainId", "detail"],
  }),

  // Rules
  "rule pending": info({
    word: "pending",
    subject: "{rule}",
    line: "[{subjects}: ]{detail}",
    needs: ["rule", "detail"],
    may: ["subjects"],
  }),
  "rule holding": info({
    word: "hold",
    subject: "{rule}",
    line: "[{subjects}: ]{hold}: {detail}",
    needs: ["rule", "hold", "detail"],
    may: ["subjects"],
  }),
  "rule evaluated": {
    severity: "debug",
    subject: "{rule}",
    line: "{subjects}: {hold}: {detail}",
    needs: ["rule", "subjects", "hold", "detail"],
  },
  "funding requested": info({
    word: "asked",
    subject: "{rule}",
    line: `people are asked for ${sum}; {reason}`,
    needs: ["rule", "amount", "asset", "from", "to", "reason"],
  }),
  "funding received": info({
    word: "received",
    subject: "{rule}",
    line: `back in band; asked for were ${sum}; {reason}`,
    needs: ["rule", "amount", "asset", "from", "to", "reason"],
  }),

  // Payments
  "payment proposed": info({
    word: "proposed",
    subject: "{intent}",
    line: `{rule}: ${sum}; {reason}`,
    needs: [...payment, "rule", "reason"],
  }),
  "payment rehearsed": info({
    word: "rehearsed",
    subject: "{intent}",
    line: `{rule}: ${sum}; {reason}`,
    needs: [...payment, "rule", "reason"],
  }),
  "payment submitted": info({
    word: "proposed",
    subject: "{intent}",
    line: `submitted[ by {author}]: ${sum}; {idempotencyKey}`,
    needs: [...payment, "idempotencyKey"],
    may: ["author"],
  }),
  "approval needed": info({ word: "waits", subject: "{intent}", line: "{detail}", needs: ["intent", "detail"] }),
  "payment approved": info({ word: "approved", subject: "{intent}", line: "{detail}", needs: ["intent", "detail"] }),
  "payment signed": info({
    word: "signed",
    subject: "{intent}/{attempt}",
    line: "on block {block} and saved; valid to block {validToBlock}",
    needs: [...attempt, "block", "validToBlock", "transferId"],
  }),
  "attempt accepted": info({
    word: "accepted",
    subject: "{intent}/{attempt}",
    line: "by the mempool of {gateway}, tx {txHash}",
    needs: [...sent, "gateway"],
    may: ["code"],
  }),
  "attempt already known": info({
    word: "known",
    subject: "{intent}/{attempt}",
    line: "{gateway} has this transaction already",
    needs: [...sent, "gateway"],
    may: ["code"],
  }),
  "attempt not sent": info({
    word: "unsent",
    subject: "{intent}/{attempt}",
    line: "{gateway} is unreachable; the same transaction is sent again",
    needs: [...sent, "gateway"],
    may: ["code"],
  }),
  "attempt unanswered": ticket({
    word: "unknown",
    subject: "{intent}/{attempt}",
    line: "no answer in {seconds} s: outcome unknown; rebroadcasting the same transaction",
    needs: [...sent, "gateway", "seconds"],
    may: ["code"],
  }),
  "attempt resent in the other wire form": info({
    word: "resent",
    subject: "{intent}/{attempt}",
    line: "in the other wire format (normal once per gateway)",
    needs: [...sent, "gateway"],
    may: ["code"],
  }),
  "attempt refused": ticket({
    word: "refused",
    subject: "{intent}/{attempt}",
    line: "[code {code}: ]{reason}; it may execute until block {validToBlock}",
    needs: [...sent, "gateway", "reason", "validToBlock"],
    may: ["code"],
  }),
  "attempt not accepted": ticket({
    word: "refused",
    subject: "{intent}/{attempt}",
    line: "{evidence}[, code {code}]: {reason}",
    needs: [...sent, "gateway", "evidence", "reason"],
    may: ["code"],
  }),
  "attempt expired": info({
    word: "expired",
    subject: "{intent}/{attempt}",
    line: "{reason}",
    needs: [...attempt, "reason"],
  }),
  "attempt lacks its proof of work": failure,
  "proof of work failed": failure,
  "proof-of-work search ended": info({
    word: "work",
    subject: "{intent}/{attempt}",
    line: "the search ended with its attempt",
    needs: attempt,
  }),
  "payment confirmed": info({
    word: "confirmed",
    subject: "{intent}",
    line: "{amount} {asset}[, fee {fee}][, fee pending, at most {feeMax}][{withdrawal}, debited here; claim it outside][, tx {txHash}][{restored}, made by another copy of this database][; {seconds} s after the decision][{resent}; an answer was lost, paid once]",
    needs: [...payment, "transferId"],
    may: ["attempt", "fee", "feeMax", "withdrawal", "txHash", "restored", "seconds", "resent"],
  }),
  "payment ended": info({
    word: "{state}",
    subject: "{intent}",
    line: "{reason}",
    needs: ["intent", "state", "reason"],
  }),
  "payment waits for a gateway": failure,
  "payment not looked up": failure,
  "payment movements not looked up": failure,
  "newest block unknown to confirmation": failure,
  "gateway shows another payment": failure,
  "ledger not compared": failure,
  "debits of a party incomplete": ticket({ needs: ["party"] }),
  "transfers acknowledged": info({
    word: "adopted",
    line: "{payments:transfer} by {author}: {reason}",
    needs: ["payments", "author", "reason"],
  }),
  "payments imported": info({
    word: "recovered",
    line: "{payments:payment} by {author}: {reason}",
    needs: ["payments", "author", "reason"],
  }),

  // Controls
  "signing halted": page({
    word: "halted",
    subject: "{scope}",
    line: "{reason}; {remedy}",
    needs: ["scope", "reason", "remedy"],
  }),
  "HALT file written": info({
    word: "HALT",
    line: "the HALT file is in {dataDir}: {reason}",
    needs: ["dataDir", "reason"],
  }),
  "HALT file not written": failure,
  "payments paused": info({
    word: "paused",
    subject: "{scope}",
    line: "by {author}[ until {until}]: {reason}",
    needs: ["scope", "author", "reason"],
    may: ["until"],
  }),
  "payments resumed": info({
    word: "resumed",
    subject: "{scope}",
    line: "by {author}[, approved by {approvers}]: {reason}[; {count} ended][; still halted: {stillHalted}]",
    needs: ["scope", "author", "reason"],
    may: ["approvers", "count", "stillHalted"],
  }),

  // Alerts, store and the embedded network
  "alert raised": info({
    word: "ALERT",
    subject: "{subject}",
    line: "{detail}   {severity}, delivered to {receiver}",
    needs: ["subject", "detail", "severity", "kind", "id", "receiver"],
    may: ["delivered"],
  }),
  "alert not delivered": failure,
  "heartbeat not accepted": failure,
  "receivers not read": failure,
  "database not writable": page({ needs: ["reason", "remedy"] }),
  "database writable": info({ word: "store", line: "it takes writes again", needs: [] }),
  "metrics of the database are old": page({ needs: ["reason"] }),
  "sandbox listening": info({ word: "sandbox", line: "network {chainId} at {urls}", needs: ["chainId", "urls"] }),
  "sandbox port taken": ticket({ needs: ["reason"] }),
  "sandbox fault armed": info({ word: "sandbox", line: "{fault}", needs: ["fault"] }),
  "sandbox stopped": page({ needs: [] }),
} as const satisfies Readonly<Record<string, LogEvent>>

export type LogEventName = keyof typeof logEvents

type Event<N extends LogEventName> = (typeof logEvents)[N]
type May<N extends LogEventName> =
  Event<N> extends { readonly may: ReadonlyArray<infer F extends LogFieldName> } ? F : never

/** The fields that an event takes. */
export type LogFieldsOf<N extends LogEventName> = {
  readonly [F in Event<N>["needs"][number]]: LogFieldValue<F>
} & { readonly [F in May<N>]?: LogFieldValue<F> | undefined }

/** Events that say why a request, or another thing that is tried again, failed. */
export type FailureEvent = {
  [N in LogEventName]: (typeof logEvents)[N] extends typeof failure ? N : never
}[LogEventName]
