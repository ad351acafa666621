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
  approvers: names("operators whose signatures were needed"),
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
  open: number("payments that are not finished"),
  outcome: text("outcome of the submission"),
  parts: names("parts of the configuration that changed"),
  party: text("name of the party"),
  payments: number("payments concerned"),
  percent: number("share that is done, 0 to 100"),
  per24h: amount("limit for 24 hours, in units of `asset`"),
  perTransfer: amount("limit for one payment, in units of `asset`"),
  people: text("operators who must approve, as text"),
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
