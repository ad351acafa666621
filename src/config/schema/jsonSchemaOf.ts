import { Schema } from "effect"

/** Descriptions of a treasury file's keys, for editors. "*" stands for a free name, "[]" for an item of a list. */
const words: Readonly<Record<string, string>> = {
  version: "Version of this format; 1 is the only one",
  name: "Name of the treasury, a label in metrics; default: the file's name",
  mode: "Only live signs; default observe. COFFERER_MODE may lower it",
  network: "The network, and how it is reached",
  "network.gateways": "One or more gateways of the same ledger, the preferred one first",
  "network.gateways.*": "Address of a gateway, or a map with url and headers",
  "network.gateways.*.url": "https, or http on loopback",
  "network.gateways.*.headers": "Sent with every request; each value is read from a file",
  "network.gateways.*.headers.*": "File that holds the value of the header",
  "network.gateways.*.headers.*.file": "A file that holds the value",
  "network.quorum": "How many gateways must agree before money moves; default: the majority",
  "network.maxAge": "Balances and blocks older than this move no money; default 30s",
  "network.requestDeadline": "Longest time from the start of a request to the end of its answer; default 10s",
  "network.reconcile": "Time between two comparisons with the gateway's own balances; default 5m",
  "network.poll": "How often balances are read",
  "network.poll.busy": "While a payment is open, or a balance is near a level; default 1s",
  "network.poll.idle": "Otherwise; default 2s",
  "network.framing": "Wire form of transactions; default auto",
  "network.fee": "The network's fee on transfers, for gateways that report no parameters",
  "network.fee.factor": "Share of the amount, such as 0.001: parameter transfer.fee.factor",
  "network.fee.maxQuantum": "Largest fee in quanta of the asset: parameter transfer.fee.maxQuantumAmount",
  listen: "Address of the page of all treasuries; default 127.0.0.1:9464",
  metrics: "Address at which metrics and probes are served as well, without a token; default none",
  tracing: "Collector of spans, by OTLP over HTTP; default none",
  "tracing.url": "Its address",
  "tracing.headers": "Sent with every request; each value is read from a file",
  "tracing.headers.*": "File that holds the value of the header",
  logLevel: "Least level of the log; default info",
  dataDir: "Data directory of the process; each treasury has a folder of its name there; default .cofferer",
  requestsPerSecond: "Requests to each gateway at most, of all treasuries together; default 10",
  assets: "Assets that rules and policy may name, pinned by id",
  "assets.*": "An asset by its symbol",
  "assets.*.id": "Its id on the network",
  "assets.*.decimals": "How many decimals one unit has",
  parties: "Accounts by name; only one that pays has a signer",
  "parties.*": "A party",
  "parties.*.publicKey": "Its key on the network",
  "parties.*.signer": "Where its private key is; without it the party is only watched",
  "parties.*.signer.file": "A file of 32 raw bytes or 64 hex characters, readable by this process alone",
  "parties.*.signer.sandbox": "A key that the embedded network makes",
  "parties.*.floor": "By asset: no payment takes the free balance below it, fee included",
  "parties.*.floor.*": "In units of the asset",
  "parties.*.transfersKept": "Transfers of each epoch that rules leave to submit; default 0",
  addresses: "Addresses outside the network that withdrawals may go to, by name",
  "addresses.*": "0x and 40 hex characters; capitals are checked",
  hours: "Weekly opening hours by name, for rules",
  "hours.*": "One calendar",
  "hours.*.weekdays": "monday:friday, or a list of days",
  "hours.*.times": "08:00-18:00, or a list of spans",
  "hours.*.location": "Time zone, such as Europe/Zurich",
  maintenance: "Planned windows in which no rule pays",
  "maintenance[].name": "Name that `explain` shows as the reason",
  "maintenance[].from": "Start, with its time zone",
  "maintenance[].until": "End, with its time zone",
  "maintenance[].hold": "payments is the default and the only value: rules pay nothing",
  rules: "Rules; each has exactly one kind. A TypeScript file may stand in their place, or among them",
  "rules[].name": "Name in metrics, journal and page",
  "rules[].topUp": "Below a level, pay up to the target",
  "rules[].topUp.levels": "Accounts to fill",
  "rules[].topUp.levels[].party": "Party of the account",
  "rules[].topUp.levels[].asset": "Asset of the account",
  "rules[].topUp.levels[].balance": "free: general account; total: with margin, bond and orders; default free",
  "rules[].topUp.levels[].below": "Acts below this balance",
  "rules[].topUp.levels[].target": "Balance after the payment",
  "rules[].sweep": "Above a level, pay what exceeds the target",
  "rules[].sweep.from": "Parties that pay",
  "rules[].sweep.to": "Party that receives",
  "rules[].rebalance": "Keep each party's share of an asset",
  "rules[].rebalance.weights.*": "Share of this party, as a weight",
  "rules[].rebalance.tolerance": "Largest deviation, as a part of the whole",
  "rules[].split": "Divide what exceeds a level among receivers",
  "rules[].split.target": "Balance that stays; default 0",
  "rules[].split.to.*": "Share of this receiver, as a weight",
  "rules[].payout": "Pay a fixed amount at planned times",
  "rules[].payout.to": "Party that receives",
  "rules[].payout.amount": "Amount of each payment",
  "rules[].request": "Ask people for money from a key that is not here",
  "rules[].request.from": "Party whose key is elsewhere",
  "rules[].request.to": "Party that receives",
  "rules[].request.below": "Asks below this balance",
  "rules[].request.target": "Balance after the payment",
  "rules[].withdraw": "Above a level, withdraw what exceeds the target; the claim outside is not made here",
  "rules[].withdraw.to": "A name under addresses",
  "rules[].notify": "Alert when an asset reaches a status, or while a condition holds",
  "rules[].notify.asset": "A pinned asset, or any",
  "rules[].notify.becomes": "Statuses that raise an alert",
  "rules[].notify.when": "Condition that raises an alert, and clears it when it ends",
  "rules[].notify.severity": "Default ticket. The all-clear is always info",
  "rules[].schedule": "Planned times, as a cron line in a time zone; only for payout",
  "rules[].schedule.cron": "minute hour day month weekday; last as a day is the last of the month",
  "rules[].schedule.location": "A time zone; default UTC",
  "rules[].schedule.missed": "After an outage: once pays once, skip drops late times; default once",
  "rules[].schedule.late": "After this delay skip drops the time, and once raises a ticket; default 1h",
  "rules[].for": "The condition must hold this long, and in two observations; default 0s",
  "rules[].clear": "Condition, or another level of the balance, that must hold before an alert ends",
  "rules[].cooldown": "Shortest time between two executed payments to one account, or two alerts; default 0s",
  "rules[].settle": "How much younger than the last payment's block the balances must be; default 0s",
  "rules[].maxAge": "Oldest balances this rule uses; default: the network's maxAge",
  "rules[].min": "Smallest payment, by asset; default: the network's minimum",
  "rules[].floor": "Balance this rule leaves with the payer, by asset; default none",
  "rules[].priority": "Lower numbers take scarce funds first; default 100",
  "rules[].onShort": "If the payer has too little: pay a part, or hold; default hold",
  "rules[].onNoData": "If no balance was ever seen: hold, or use zero; default hold",
  "rules[].during": "Pays only in these hours: a name under hours; default always",
  "rules[].maintenance": "ignore: pays in maintenance windows too; default hold",
  "rules[].inhibitedBy": "Rules that block this one while their condition holds; default none",
  "rules[].mode": "shadow is a trial: it decides and pays nothing; default: the file's mode",
  policy: "Payments that may be signed; the signer refuses all others",
  "policy.maxFee": "Largest network fee, as a part of the amount; default 0.2%",
  "policy.allow": "Permitted payments; the limits of a line are shared by all its parties",
  "policy.allow[].from": "Parties that may pay",
  "policy.allow[].to": "Parties that may receive, and addresses that withdrawals may go to",
  "policy.allow[].asset": "A pinned asset",
  "policy.allow[].perTransfer": "Largest amount of one payment",
  "policy.allow[].per24h": "Largest sum of payments in 24 hours",
  "policy.allow[].transfersPer24h": "Largest number of payments in 24 hours",
  "policy.allow[].approval": "Group of operators who must sign each payment: a name under approvals",
  "policy.allow[].approvalAbove": "Payments up to this amount need no approval; default 0",
  approvals: "Groups of operators who approve payments with their own keys",
  "approvals.*.need": "How many must sign",
  "approvals.*.within": "An approval expires this long after the decision",
  "approvals.*.of": "Public key of each operator, by name",
  "approvals.*.accept": "How an operator approves: signature",
  alerts: "Who gets alerts; default: everything to the log",
  "alerts.receivers": "Receivers, by name",
  "alerts.receivers.*": "One receiver of exactly one kind",
  "alerts.receivers.*.log": "The program's own log",
  "alerts.receivers.*.webhook": "JSON to an address",
  "alerts.receivers.*.webhook.secret": "Key of the signature in the header Cofferer-Signature; default none",
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
  "alerts.receivers.*.email.tls": "Default starttls; with port 465 implicit",
  "alerts.receivers.*.email.user": "User for login; without a password there is no login",
  "alerts.receivers.*.email.password": "Password of that user",
  "alerts.receivers.*.email.from": "Address of the sender",
  "alerts.receivers.*.email.to": "Addresses of the receivers",
  "alerts.receivers.*.command":
    "Runs a program without a shell; it gets JSON on standard input, exit 0 means delivered",
  "alerts.receivers.*.command.program": "The program; killed after 10 s",
  "alerts.receivers.*.command.args": "Its arguments",
  "alerts.routes": "Receivers of each severity; default: everything to everyone",
  "alerts.routes[].severity": "page: act now; ticket: act on the next working day; info: no action",
  "alerts.routes[].to": "Names of receivers",
  "alerts.routes[].escalate": "Who else gets an alert that nobody acknowledges; default nobody",
  "alerts.routes[].escalate[].after": "How long after it was raised",
  "alerts.routes[].escalate[].to": "Names of receivers",
  "alerts.repeatInterval":
    "How often an alert that lasts is sent again until somebody acknowledges it; default 12h, 0s never",
  "alerts.groupWait": "How long events of one kind are collected after the first, to be one message; default 0s",
  "alerts.groupInterval": "Least time between two messages of events of one kind; default 0s",
  "alerts.conditions": "Conditions of health whose alert is changed, by name",
  "alerts.conditions.*": "One condition; the headline and the metric show it all the same",
  "alerts.conditions.*.after": "How long it holds before people are alerted",
  "alerts.conditions.*.alert": "Whether people are alerted; default true",
  "alerts.heartbeat":
    "An address outside that is called while the daemon works, and that alerts when the calls stop; default none",
  "alerts.heartbeat.url": "Its address",
  "alerts.heartbeat.every": "How often; default 1m",
  "alerts.heartbeat.allowPrivate": "Whether its name may lead into a private network; default false",
  store: "Where data are kept, and how long",
  "store.dir": "Data directory; default .cofferer. COFFERER_DATA_DIR wins",
  "store.keep": "How long balance rows, decisions and delivered alerts are kept; default 400d",
  "store.watermark": "File outside the directory that holds the height of the journal; default none",
  database: "Where rows are stored; default: a SQLite file in the data directory",
  "database.postgres": "A database of PostgreSQL 14 or newer, which several processes may share",
  "database.postgres.urlFile":
    "File that holds its address: postgres://USER:PASSWORD@HOST/DATABASE. TLS, unless it is on this host or says sslmode=disable",
  daemon: "How the process runs; in a folder only in its daemon.yaml",
  "daemon.listen": "Address of page, probes and metrics; default 127.0.0.1:9464. COFFERER_LISTEN wins",
  "daemon.metrics": "Another address for metrics and probes, without a token; default none. COFFERER_METRICS wins",
  "daemon.tracing": "Collector of spans by OTLP over HTTP in JSON; default none",
  "daemon.tracing.url": "Such as http://127.0.0.1:4318/v1/traces; https, or http on loopback",
  "daemon.tracing.headers": "Headers of each request, whose values come from files",
  "daemon.tracing.headers.*": "File that holds the value of the header",
  "daemon.logLevel": "Default info. COFFERER_LOG_LEVEL wins",
  sandbox: "The embedded network of play money",
}

/** Keys that several kinds of rules have. */
const ruleWords: Readonly<Record<string, string>> = {
  from: "Party that pays",
  asset: "Asset",
  balance: "free or total; default free",
  above: "Acts above this balance",
  target: "Balance that stays",
}

/** Keys that several kinds of receivers have. */
const receiverWords: Readonly<Record<string, string>> = {
  url: "Address, or a file that holds it",
  headers: "Headers of each request; each value is read from a file",
  "headers.*": "File that holds the value of the header",
  file: "A file that holds the value",
  text: "Text of an alert, with {severity}, {treasury}, {kind}, {subject}, {detail} and {fields}",
  allowPrivate: "true permits private addresses and http; default false",
}

/** Sentence for each key of a condition; conditions may be nested. */
const conditionWords: Readonly<Record<string, string>> = {
  balance: "An account's balance; inside it: free or total, default free",
  change: "Change of a balance within a time",
  rate: "Change of a balance per hour",
  asset: "Status of a pinned asset; inside a condition: its symbol",
  stale: "Balances are old, or were never seen",
  held: "A rule holds",
  all: "All of these conditions hold",
  any: "One of these conditions holds",
  not: "This condition does not hold",
  party: "Party of the account",
  below: "True below this value; a change in units, or in percent of the earlier balance; negative: a loss",
  above: "True above this value; a change in units, or in percent of the earlier balance; negative: a loss",
  over: "Time before now that the balance is compared with, at most 31d; of a rate by default 1h",
  is: "One status or several",
  longerThan: "True after this time",
  rule: "Name of a rule",
  reason: "A hold reason; default: any but in_band",
}

/** The sentence about a key; undefined where it needs none. "?" begins the path of what stands in many places. */
const describing = (path: string): string | undefined => {
  if (path.startsWith("?")) return conditionWords[path.slice(path.lastIndexOf(".") + 1)]
  if (Object.hasOwn(words, path)) return words[path]
  const ofRule = /^rules\[\]\.\w+\.(\w+)$/.exec(path)?.[1]
  if (ofRule !== undefined) return ruleWords[ofRule]
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
