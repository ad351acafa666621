import { Schema } from "effect"

/** Descriptions of a treasury file's keys, for editors. "*" stands for a free name, "[]" for an item of a list. */
const words: Readonly<Record<string, string>> = {
  version: "Version of this format; 1 is the only one",
  name: "Name of the treasury, a label in metrics; default: the file's name",
  mode: "Only live signs; default observe. COFFERER_MODE may lower it",
  network: "The network, and how it is reached",
  "network.chainId": "Any other chain halts",
  "network.gateways": "One or more that show the same ledger, the preferred one first",
  "network.gateways.*": "Address of a gateway, or a map with url, headers and reads",
  "network.gateways.*.url": "https, or http on loopback",
  "network.gateways.*.headers": "Sent with every request; each value is read from a file",
  "network.gateways.*.headers.*": "Where the value of the header lies",
  "network.gateways.*.headers.*.file": "A file that holds the value",
  "network.gateways.*.reads": "How its history of balances is read; default windows",
  "network.quorum": "How many gateways must say the same before money moves; default: the majority",
  "network.maxAge": "Knowledge older than this moves no money; default 30s",
  "network.requestDeadline": "From the start of a request to the end of its answer; default 10s",
  "network.reconcile": "Between two comparisons with the gateway's own balances; default 5m",
  "network.poll": "How often balances are read",
  "network.poll.busy": "While money moves, or a rule or level is near; default 1s",
  "network.poll.idle": "Otherwise; default 2s",
  "network.framing": "Wire form of transactions; default auto",
  "network.fee": "What the network takes of transfers, for gateways that have no parameters",
  "network.fee.factor": "Share of the amount, such as 0.001: its parameter transfer.fee.factor",
  "network.fee.maxQuantum": "At most so many quanta of the asset: its transfer.fee.maxQuantumAmount",
  "network.chain": "node asks the gateway; or the facts by hand",
  "network.chain.fixed": "Facts of the chain, for a gateway that tells none",
  "network.chain.fixed.height": "Height of a block",
  "network.chain.fixed.hash": "Hash of that block",
  "network.chain.fixed.difficulty": "Leading zero bits of a proof of work",
  "network.chain.fixed.pastBlocks": "Blocks for which a proof of work holds",
  "network.chain.fixed.txPerBlock": "Transactions of one party that a block permits at that difficulty",
  "network.chain.fixed.at": "When all that was true, such as 2026-11-21T10:00:00Z",
  "network.chain.fixed.validFor": "After this time nothing is signed on it",
  assets: "Assets that rules and policy may name, pinned by id",
  "assets.*": "An asset by its symbol",
  "assets.*.id": "Its id on the network",
  "assets.*.decimals": "How many decimals one unit has",
  parties: "Accounts by name; only one that pays has a signer",
  "parties.*": "A party",
  "parties.*.publicKey": "Its key on the network",
  "parties.*.signer": "Where its private key lies; without one it is watched only",
  "parties.*.signer.file": "A file of 32 raw bytes or 64 hex characters, readable by this process alone",
  "parties.*.signer.sandbox": "A key that the embedded network makes",
  "parties.*.floor": "By asset: no payment takes the free balance below it, fee included",
  "parties.*.floor.*": "In units of the asset",
  "parties.*.transfersKept": "Transfers of the network's limit that no rule uses; default 0",
  addresses: "Addresses outside of the network that withdrawals may go to, by name",
  "addresses.*": "0x and 40 hex characters; capitals are checked",
  hours: "Weekly opening hours by name, for rules",
  "hours.*": "One calendar",
  "hours.*.weekdays": "monday:friday, or a list of days",
  "hours.*.times": "08:00-18:00, or a list of spans",
  "hours.*.location": "Time zone, such as Europe/Zurich",
  maintenance: "Planned stretches in which no rule pays",
  "maintenance[].name": "What the reason of silent rules tells while it lasts",
  "maintenance[].from": "First moment, with its zone",
  "maintenance[].until": "Last moment, with its zone",
  "maintenance[].hold": "payments, the default, is what every window holds: rules pay nothing in it",
  rules: "What is decided; each has exactly one kind. A file of rules in TypeScript may stand for them, or among them",
  "rules[].name": "Its name: in metrics, on the page, in the journal",
  "rules[].topUp": "Below a level, pay what brings the balance to its target",
  "rules[].topUp.from": "The party that pays",
  "rules[].topUp.levels": "The accounts that are filled",
  "rules[].topUp.levels[].party": "Whose account",
  "rules[].topUp.levels[].asset": "In which asset",
  "rules[].topUp.levels[].balance": "free is the general account, total has margin, bond and orders too; default free",
  "rules[].topUp.levels[].below": "Acts under this balance",
  "rules[].topUp.levels[].target": "Where a payment brings the balance to",
  "rules[].sweep": "Above a level, take what is over the target",
  "rules[].sweep.from": "Whose accounts are swept",
  "rules[].sweep.to": "Who gets it",
  "rules[].sweep.asset": "In which asset",
  "rules[].sweep.balance": "free or total; default free",
  "rules[].sweep.above": "Acts over this balance",
  "rules[].sweep.target": "What is left behind",
  "rules[].rebalance": "Keep shares of an asset between parties",
  "rules[].split": "Share out what is above a level",
  "rules[].payout": "Pay a fixed amount, by a schedule",
  "rules[].request": "Ask people for money that no key here can move",
  "rules[].withdraw": "Above a level, take what is over the target out of the network; its claim is made elsewhere",
  "rules[].withdraw.from": "Whose account pays",
  "rules[].withdraw.asset": "In which asset",
  "rules[].withdraw.balance": "free or total; default free",
  "rules[].withdraw.above": "Acts over this balance",
  "rules[].withdraw.target": "What is left behind",
  "rules[].withdraw.to": "One of addresses",
  "rules[].notify": "Tell when an asset reaches a status, or when a condition holds and when it is over",
  "rules[].notify.asset": "A pinned asset, or any",
  "rules[].notify.becomes": "The statuses that are told",
  "rules[].notify.when": "The condition that people hear of",
  "rules[].notify.severity": "page, ticket or info; default ticket. That it is over is always info",
  "rules[].schedule": "When it acts, as a cron line in a time zone",
  "rules[].schedule.cron": "minute hour day month weekday; last as a day is the last of each month",
  "rules[].schedule.location": "A time zone; default UTC",
  "rules[].schedule.missed": "once: what an outage kept is paid once; skip: it is let go when it is late; default once",
  "rules[].schedule.late": "How late a payment may be: skip lets it go then, once tells people; default 1h",
  "rules[].for": "The condition holds this long, and in two observations; default 0s",
  "rules[].clear": "Must hold before an alert is over: a condition, or another level of the balance",
  "rules[].cooldown": "Between two executed payments to one account, or two alerts; default 0s",
  "rules[].settle": "How long after a payment an account is left alone",
  "rules[].maxAge": "This rule's own limit for the age of balances; default: the network's",
  "rules[].min": "By asset: nothing smaller is paid",
  "rules[].floor": "By asset: what this rule leaves with the payer, above the party's own floor",
  "rules[].priority": "Lower numbers take scarce funds first; default 100",
  "rules[].onShort": "The payer cannot cover it: pay what there is, or hold; default hold",
  "rules[].onNoData": "No balance was ever seen: hold, or take it for zero; default hold",
  "rules[].during": "Acts in these hours alone",
  "rules[].maintenance": "Whether planned stretches hold it; default hold",
  "rules[].inhibitedBy": "Rules that forbid it while they fire",
  "rules[].mode": "shadow is on trial: it decides and pays nothing",
  policy: "What may be signed; what no line allows is refused",
  "policy.maxFee": "The network's fee may not be more of the amount; default 0.2%",
  "policy.allow": "One line each; its limits are shared by all of its parties",
  "policy.allow[].from": "Parties that may pay",
  "policy.allow[].to": "Parties that may be paid, and addresses that may be withdrawn to",
  "policy.allow[].asset": "A pinned asset",
  "policy.allow[].perTransfer": "The most that one payment may be",
  "policy.allow[].per24h": "The most of all payments in 24 hours",
  "policy.allow[].transfersPer24h": "The most payments in 24 hours",
  "policy.allow[].approval": "Operators who must sign each payment before it is made: a name under approvals",
  "policy.allow[].approvalAbove": "Smaller payments, and one of this amount, need nobody; default 0",
  approvals: "Groups of operators who approve payments by signatures of their own keys",
  "approvals.*.need": "How many of them must sign",
  "approvals.*.within": "An approval is void so long after the payment was decided",
  "approvals.*.of": "Names of the operators, and their public keys",
  "approvals.*.accept": "How an operator approves: signature",
  alerts: "Who is told; default: everything to the log",
  "alerts.receivers": "Who can be told, by name",
  "alerts.receivers.*": "A receiver of exactly one kind",
  "alerts.receivers.*.log": "The program's own log",
  "alerts.receivers.*.webhook": "JSON to an address",
  "alerts.receivers.*.webhook.secret": "Key of the signature in the header Cofferer-Signature; default: no signature",
  "alerts.receivers.*.alertmanager": "Prometheus Alertmanager, by its API v2",
  "alerts.receivers.*.slack": "An incoming webhook of Slack",
  "alerts.receivers.*.discord": "A webhook of Discord",
  "alerts.receivers.*.pagerduty": "PagerDuty, by its Events API v2",
  "alerts.receivers.*.pagerduty.key": "Integration key of the service",
  "alerts.receivers.*.pagerduty.url":
    "Default https://events.pagerduty.com; Europe has https://events.eu.pagerduty.com",
  "alerts.receivers.*.telegram": "A chat of Telegram, by its Bot API",
  "alerts.receivers.*.telegram.token": "Token of the bot",
  "alerts.receivers.*.telegram.chat": "Id of the chat, or @channel",
  "alerts.receivers.*.telegram.url": "Default https://api.telegram.org",
  "alerts.receivers.*.email": "E-mail over SMTP",
  "alerts.receivers.*.email.host": "Name of the mail server",
  "alerts.receivers.*.email.port": "Default 587; 465 with implicit TLS",
  "alerts.receivers.*.email.tls": "implicit, starttls or none; default starttls, with port 465 implicit",
  "alerts.receivers.*.email.user": "Who logs in; without a password nobody does",
  "alerts.receivers.*.email.password": "Password of that user",
  "alerts.receivers.*.email.from": "Address of the sender",
  "alerts.receivers.*.email.to": "Addresses of those who get it",
  "alerts.receivers.*.command": "Runs a program without a shell; JSON is its standard input, exit 0 means taken",
  "alerts.receivers.*.command.program": "The program; it has 10 s",
  "alerts.receivers.*.command.args": "Its arguments, as they are",
  "alerts.routes": "Which severities go to whom; default: everything to everyone",
  "alerts.routes[].severity": "page wakes people, ticket is for the day, info is for the record",
  "alerts.routes[].to": "Names of receivers",
  store: "Where and how long data are kept",
  "store.dir": "Data directory; default .cofferer. COFFERER_DATA_DIR wins",
  "store.keep": "How long balance rows, decisions and delivered alerts are kept; default 400d",
  "store.watermark": "A file outside the directory that says how far the journal had come",
  daemon: "How the process runs; in a folder only in its daemon.yaml",
  "daemon.listen": "Page, probes and metrics; default 127.0.0.1:9464. COFFERER_LISTEN wins",
  "daemon.metrics": "Metrics and probes here as well, without a token; default nowhere. COFFERER_METRICS wins",
  "daemon.logLevel": "Default info. COFFERER_LOG_LEVEL wins",
  sandbox: "The embedded network of play money",
}

/** Keys that several kinds of receivers have. */
const receiverWords: Readonly<Record<string, string>> = {
  url: "The address, or a file that holds it",
  headers: "Sent along; each value is read from a file",
  "headers.*": "Where the value of the header lies",
  file: "A file that holds the value",
  text: "What people read, with {severity}, {treasury}, {kind}, {subject}, {detail} and {fields}",
  allowPrivate: "true: its name may have a private address, and http is taken; default false",
}

/** Sentence for each key of a condition; conditions may be nested. */
const conditionWords: Readonly<Record<string, string>> = {
  balance: "The balance of one account against a number",
  change: "The balance against the one some time ago",
  rate: "The same per hour",
  asset: "The status of a pinned asset, or its symbol",
  stale: "What is known is old, or was never known",
  held: "A rule is silent",
  all: "All of these hold",
  any: "One of these holds",
  not: "This does not hold",
  party: "Whose account",
  below: "Holds under it; of a change in units or in percent of the earlier balance, negative for a loss",
  above: "Holds over it; of a change in units or in percent of the earlier balance, negative for a loss",
  over: "How long ago the balance is compared with, at most 31d; of a rate by default 1h",
  is: "One status, or a list of them",
  longerThan: "For longer than this",
  rule: "Name of a rule",
  reason: "Why it is silent; default: any reason but that there is nothing to do",
}

/** The sentence about a key; undefined where it needs none. "?" begins the path of what stands in many places. */
const describing = (path: string): string | undefined => {
  if (path.startsWith("?")) return conditionWords[path.slice(path.lastIndexOf(".") + 1)]
  if (Object.hasOwn(words, path)) return words[path]
  const ofReceiver = /^alerts\.receivers\.\*\.\w+\.(.+)$/.exec(path)?.[1]
  return ofReceiver === undefined
    ? undefined
    : (receiverWords[ofReceiver] ?? receiverWords[ofReceiver.replace(/^.*\./, "")])
}

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Largest whole number that is tried to find where a form of numbers ends. */
const numberMax = 9_999

/** Schema of the numbers that a YAML 1.2 reader makes of texts of this form. */
const numbersOf = (pattern: string): JsonSchema | undefined => {
  const form = new RegExp(pattern, "u")
  const isWhole = (n: number) => form.test(String(n))
  const least = [0, 1].find(isWhole)
  if (least === undefined) return undefined
  const isEndless = isWhole(numberMax)
  const range = Array.from({ length: isEndless ? 0 : numberMax }, (_, n) => n).findLast(isWhole)
  return {
    type: form.test("0.5") ? "number" : "integer",
    ...(form.test("-1") ? {} : { minimum: least }),
    ...(range === undefined ? {} : { maximum: range }),
  }
}

/** A plain word as a YAML 1.2 reader takes it. */
const readingsOf = (word: string): ReadonlyArray<unknown> => {
  if (word === "") return ["", null]
  if (word === "true" || word === "false") return [word, word === "true"]
  return /^[0-9]+$/.test(word) ? [word, Number(word)] : [word]
}

/** Texts of numbers may stand without quotes, as may "true". */
const loosened = (node: JsonSchema): JsonSchema => {
  const { type, pattern, enum: words, ...rest } = node
  if (type !== "string") return node
  if (Array.isArray(words)) return { ...rest, enum: words.flatMap((word) => readingsOf(String(word))) }
  const numbers = typeof pattern === "string" ? numbersOf(pattern) : undefined
  if (numbers === undefined) return node
  return { ...rest, anyOf: [{ type, pattern }, numbers] }
}

/** A key that may be left out is no key that may be null. */
const withoutNull = (node: JsonSchema): JsonSchema => {
  const { anyOf, ...rest } = node
  if (!Array.isArray(anyOf)) return node
  const kept = (anyOf as ReadonlyArray<JsonSchema>).filter(({ type }) => type !== "null")
  return kept.length === 1 ? { ...kept[0], ...rest } : { ...rest, anyOf: kept }
}

const isNode = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const mapValues = (value: JsonSchema, change: (inner: JsonSchema, name: string) => unknown): JsonSchema =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, isNode(inner) ? change(inner, name) : inner]))

/** Walks the schema of the value at `path`: "rules[].topUp.levels[].below", with "*" for a free name. */
const walk = (node: JsonSchema, path: string): JsonSchema => {
  const { properties, patternProperties, items, additionalProperties, anyOf, allOf, ...rest } = node
  const under = (name: string) => (path === "" ? name : `${path}.${name}`)
  const words = describing(path)
  return loosened({
    ...rest,
    ...(isNode(properties)
      ? { properties: mapValues(properties, (inner, name) => walk(withoutNull(inner), under(name))) }
      : {}),
    ...(isNode(patternProperties)
      ? { patternProperties: mapValues(patternProperties, (inner) => walk(inner, under("*"))) }
      : {}),
    ...(isNode(items) ? { items: walk(items, `${path}[]`) } : {}),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties: isNode(additionalProperties)
            ? walk(additionalProperties, under("*"))
            : additionalProperties,
        }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map((inner: JsonSchema) => walk(inner, path)) } : {}),
    ...(Array.isArray(allOf) ? { allOf: allOf.map((inner: JsonSchema) => walk(inner, path)) } : {}),
    ...(words === undefined ? {} : { description: words }),
  })
}

/** JSON Schema (draft 2020-12) of the files that a schema takes, for editors: strict, each key with its description. */
export const jsonSchemaOf = (schema: Schema.Constraint): JsonSchema => {
  const options = { onExcessProperty: "error", generateDescriptions: true } as const
  const document = Schema.toJsonSchemaDocument(schema, options)
  const { definitions, schema: root } = document
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Treasury file of Cofferer",
    ...walk(root, ""),
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: mapValues(definitions, (inner) => walk(inner, "?")) }),
  }
}
