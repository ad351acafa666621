import { formatAmount } from "../domain/Amount.ts"
import { visible } from "../domain/visible.ts"
import type { Names, Proven, Recorded } from "../store/proven.ts"
import type { Chain, Statement } from "../store/receipt.ts"

const said = (value: unknown): string => (value === null || value === undefined ? "unknown" : visible(String(value)))

const signedLines = ({ signed }: Proven): ReadonlyArray<string> =>
  signed.flatMap(({ k, command, chainId, from, to, assetId, units, transferId }) => {
    const what = `${command}s ${units} base units of asset ${assetId}`
    return [
      `attempt ${k}: ${from} ${what} to ${to} on chain ${visible(chainId)}`,
      `  its transaction is ${transferId} on the ledger, if it executed: look there, no receipt proves that`,
    ]
  })

const nameLine = ({ from, to, symbol, decimals }: Names, units: string): string =>
  `its configuration calls that ${formatAmount(BigInt(units), decimals)} ${said(symbol)} (${decimals} decimals) ${said(from)} -> ${said(to)}`

const recordedLines = ({ signed, recorded }: Proven): ReadonlyArray<string> =>
  recorded.flatMap(({ k, seq, policy, line, approval, names }: Recorded) => {
    const by = approval === null ? "nobody's approval needed" : `approved by ${approval.by.map(said).join(", ")}`
    const need = approval === null ? "" : ` (${said(approval.group)} needs ${approval.need})`
    const units = signed.find((one) => one.k === k)?.units ?? "0"
    const permitted = `attempt ${k}: permitted by line ${line} of policy ${said(policy)}, ${by}${need}; entry ${seq}`
    return names === null ? [permitted] : [permitted, `  ${nameLine(names, units)}`]
  })

const people = ({ payment, states }: Statement): ReadonlyArray<string> => [
  ...(payment.submittedBy === undefined ? [] : [`submitted by ${said(payment.submittedBy)}`]),
  ...states.flatMap(({ verb, author, reason }) =>
    author === null ? [] : [`${said(verb)} by ${said(author)}: "${said(reason)}"`],
  ),
]

const claimedLines = (statement: Statement, { recorded }: Proven): ReadonlyArray<string> => {
  const { payment, decision, attempts, approvals = [], states, treasury } = statement
  const hasNames = recorded.some(({ names }) => names !== null)
  const isRecorded = recorded.length === attempts.length
  const sent = attempts.flatMap(({ k, signedAt, sends }) => {
    const hash = sends.at(-1)?.txHash
    const last = typeof hash === "string" ? `, sent last as tx ${hash.toUpperCase()}` : ", never sent"
    return [`attempt ${said(k)}: signed at ${signedAt}${last}`]
  })
  return [
    `payment ${said(payment.id)} of treasury ${said(treasury)} is ${said(states.at(-1)?.state)}`,
    ...(hasNames
      ? []
      : [
          `names and units: ${said(payment.amount)} ${said(payment.asset)} ${said(payment.from)} -> ${said(payment.to)}`,
        ]),
    `rule ${said(payment.rule)}${decision === null ? "" : `, decided at ${decision.at}: ${said(decision.sentence)}`}`,
    ...(isRecorded || decision === null ? [] : [`policy ${said(decision.policy)}, line ${said(decision.line)}`]),
    ...(isRecorded ? [] : approvals.map(({ operator, at }) => `approved by ${said(operator)} at ${at}`)),
    ...sent,
  ]
}

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]

/** What a receipt that holds proves, and what it merely claims, each under its own title. */
export const receiptText = (statement: Statement, proven: Proven, { entries }: Chain): string => {
  const [first, last] = [entries[0], entries.at(-1)]
  const from = proven.signed[0]?.from
  const bare = proven.signed.filter(({ k }) => !proven.recorded.some((one) => one.k === k))
  const lacking = bare.map(
    ({ k }) => `attempt ${k}: its bytes carry no hash of a permit: its policy line, decision and approvals are claims`,
  )
  return [
    `receipt whole: ${proven.signed.length === 1 ? "1 signed command" : `${proven.signed.length} signed commands`} of ${from}`,
    ...section("proven by the signature of that key:", signedLines(proven)),
    ...section(
      "proven to be the payer's own record from before it signed, whose hash is signed:",
      recordedLines(proven),
    ),
    ...section("claimed by the payer, and not proven:", [...lacking, ...claimedLines(statement, proven)]),
    ...section("a person's word, as the payer tells it:", people(statement)),
    `journal entries ${first?.seq} to ${last?.seq}, the last with hash ${last?.hash}: "verify" and "export" show the same`,
  ].join("\n")
}
