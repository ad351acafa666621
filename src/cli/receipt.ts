import { writeFileSync } from "node:fs"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readUtf8 } from "../config/readBytes.ts"
import { formatAmount } from "../domain/Amount.ts"
import { visible } from "../domain/visible.ts"
import { receiptOf } from "../status/stories.ts"
import { checkReceipt } from "../store/checkReceipt.ts"
import type { Names, Proven, Recorded } from "../store/proven.ts"
import type { Chain, Receipt, Statement } from "../store/receipt.ts"
import { verifyStore } from "../store/verifyStore.ts"
import { failWith } from "./CliFailure.ts"
import { outputFlag, printResult, toJson } from "./output.ts"
import { commonFlags, configFlag, dataFlag } from "./setup.ts"
import { throughDaemon } from "./throughDaemon.ts"

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
const receiptText = (statement: Statement, proven: Proven, { entries }: Chain): string => {
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

/** A receipt with a thousand entries has less. */
const receiptBytesMax = 16_000_000

const read = (file: string) =>
  Effect.suspend(() => {
    const text = readUtf8(file, receiptBytesMax)
    if (typeof text === "string") return Effect.succeed(text)
    return failWith(text.code === "ENOENT" ? "notFound" : "failure", `${file}: ${text.problem}; name a receipt`)
  }).pipe(
    Effect.flatMap((text) =>
      Effect.try({ try: (): unknown => JSON.parse(text), catch: () => failWith("failure", `${file} is no JSON`) }),
    ),
  )

const verifyReceipt = Command.make(
  "verify",
  { file: Argument.String("file").pipe(Argument.withDescription("A receipt")), output: outputFlag },
  Effect.fn(function* (chosen) {
    const document = yield* read(chosen.file)
    const { problem, statement, proven } = checkReceipt(document)
    if (problem !== undefined || statement === undefined) {
      if (chosen.output === "json") yield* printResult("json", { whole: false, problem }, () => "")
      return yield* failWith("failure", `receipt broken: ${problem}`)
    }
    const { journal } = document as Receipt
    const whole = { whole: true, proven, claimed: statement }
    return yield* printResult(chosen.output, whole, () => receiptText(statement, proven, journal))
  }),
).pipe(Command.withDescription("Check a receipt with nothing but itself, and tell what it proves from what it claims"))

/** One payment with its proof, as one document. */
export const receipt = Command.make(
  "receipt",
  {
    id: Argument.String("id").pipe(Argument.withDescription("Id of a payment, or the start of one")),
    file: Flag.String("file").pipe(Flag.withDescription("Write it there; default standard output"), Flag.optional),
    config: configFlag,
    data: dataFlag,
  },
  Effect.fn(function* (chosen) {
    const { config, data } = chosen
    const path = `/api/v1/receipts/${encodeURIComponent(chosen.id)}`
    const { body } = yield* throughDaemon({ config, data }, { method: "GET", path, stored: () => receiptOf(chosen.id) })
    const text = toJson(body)
    if (Option.isNone(chosen.file)) return yield* Console.log(text)
    const file = chosen.file.value
    return yield* Effect.try({
      try: () => writeFileSync(file, `${text}\n`),
      catch: (error) => failWith("failure", `${file} cannot be written (${(error as NodeJS.ErrnoException).code})`),
    })
  }),
).pipe(Command.withDescription("Write one payment with its proof"), Command.withSubcommands([verifyReceipt]))

/** A journal of years takes minutes. */
const timeoutMillis = 3_600_000

/** Holds the journal against itself and against every payment. */
export const verify = Command.make(
  "verify",
  { ...commonFlags },
  Effect.fn(function* (chosen) {
    const { body: found } = yield* throughDaemon(chosen, {
      method: "GET",
      path: "/api/v1/verify",
      timeoutMillis,
      stored: verifyStore,
    })
    const { problem, entries, head } = found
    if (problem === null) {
      const text = `journal whole: ${entries} entries, head ${head.slice(0, 16)}`
      return yield* printResult(chosen.output, found, () => text)
    }
    if (chosen.output === "json") yield* printResult(chosen.output, found, () => "")
    return yield* failWith("failure", `journal broken: ${problem}`)
  }),
).pipe(Command.withDescription("Recompute the journal from its first entry and hold every payment against it"))
