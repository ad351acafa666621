import { writeFileSync } from "node:fs"
import { Console, Effect, Option, Schema, SchemaGetter } from "effect"
import { Command, Flag } from "effect/cli"
import { isDay, isInstant } from "../config/schema/Fields.ts"
import { readUtf8 } from "../config/yaml/readBytes.ts"
import { formatAmount } from "../domain/Amount.ts"
import { dayMillis } from "../domain/Time.ts"
import { plural, visible, visibleJson, visibleLines } from "../domain/text.ts"
import {
  type ExportAsked,
  type ExportPage,
  type ExportRow,
  exportColumns,
  exportKinds,
  exportPage,
} from "../http/exports.ts"
import { receiptOf } from "../http/stories.ts"
import { storeLayer } from "../layers.ts"
import { checkReceipt } from "../store/journal/checkReceipt.ts"
import type { Names, Proven, Recorded } from "../store/journal/proven.ts"
import type { EntryChain, Receipt } from "../store/journal/receipt.ts"
import type { Statement } from "../store/journal/Statement.ts"
import { verifyStore } from "../store/journal/verifyStore.ts"
import { askDaemon, bodyOf, storedSetup, throughDaemon } from "./common/client.ts"
import { type CliFailure, failWith, outputFlag, printResult, toJson, withSeconds, writeOut } from "./common/output.ts"
import {
  type Chosen,
  commonFlags,
  configFlag,
  dataDirOf,
  dataFlag,
  optionalOf,
  pathArgument,
  pathFlag,
  textArgument,
  treasuryFlag,
} from "./common/setup.ts"

const textOf = (value: unknown): string => (value === null || value === undefined ? "unknown" : visible(String(value)))

const signedLines = ({ signed }: Proven): ReadonlyArray<string> =>
  signed.flatMap(({ k, command, chainId, from, to, assetId, units, transferId }) => {
    const what = `${command}s ${units} base units of asset ${assetId}`
    return [
      `attempt ${k}: ${from} ${what} to ${to} on chain ${visible(chainId)}`,
      `  look up its id ${transferId} on the ledger to see if it executed: a receipt cannot prove that`,
    ]
  })

const nameLine = ({ from, to, symbol, decimals }: Names, units: string): string =>
  `its configuration calls that ${formatAmount(BigInt(units), decimals)} ${textOf(symbol)} (${decimals} decimals) ${textOf(from)} -> ${textOf(to)}`

const recordedLines = ({ signed, recorded }: Proven): ReadonlyArray<string> =>
  recorded.flatMap(({ k, seq, policy, line, approval, names }: Recorded) => {
    const by = approval === null ? "no approval needed" : `approved by ${approval.by.map(textOf).join(", ")}`
    const need = approval === null ? "" : ` (${textOf(approval.group)} needs ${approval.need})`
    const units = signed.find((one) => one.k === k)?.units ?? "0"
    const permitted = `attempt ${k}: permitted by line ${line} of policy ${textOf(policy)}, ${by}${need}; entry ${seq}`
    return names === null ? [permitted] : [permitted, `  ${nameLine(names, units)}`]
  })

const peopleLines = ({ payment, states }: Statement): ReadonlyArray<string> => [
  ...(payment.submittedBy === undefined ? [] : [`submitted by ${textOf(payment.submittedBy)}`]),
  ...states.flatMap(({ verb, author, reason }) =>
    author === null ? [] : [`${textOf(verb)} by ${textOf(author)}: "${textOf(reason)}"`],
  ),
]

const claimedLines = (statement: Statement, { recorded }: Proven): ReadonlyArray<string> => {
  const { payment, decision, attempts, approvals = [], states, treasury } = statement
  const hasNames = recorded.some(({ names }) => names !== null)
  const isRecorded = recorded.length === attempts.length
  const sent = attempts.flatMap(({ k, signedAt, sends }) => {
    const hash = sends.at(-1)?.txHash
    const last = typeof hash === "string" ? `, sent last as tx ${hash.toUpperCase()}` : ", never sent"
    return [`attempt ${textOf(k)}: signed at ${signedAt}${last}`]
  })
  return [
    `payment ${textOf(payment.id)} of treasury ${textOf(treasury)} is ${textOf(states.at(-1)?.state)}`,
    ...(hasNames
      ? []
      : [
          `names and units: ${textOf(payment.amount)} ${textOf(payment.asset)} ${textOf(payment.from)} -> ${textOf(payment.to)}`,
        ]),
    `rule ${textOf(payment.rule)}${decision === null ? "" : `, decided at ${decision.at}: ${textOf(decision.sentence)}`}`,
    ...(isRecorded || decision === null ? [] : [`policy ${textOf(decision.policy)}, line ${textOf(decision.line)}`]),
    ...(isRecorded ? [] : approvals.map(({ operator, at }) => `approved by ${textOf(operator)} at ${at}`)),
    ...sent,
  ]
}

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]

/** Prints what a valid receipt proves and what it merely claims, each under its own title. */
const receiptText = (statement: Statement, proven: Proven, { entries }: EntryChain): string => {
  const [first, last] = [entries[0], entries.at(-1)]
  const from = proven.signed[0]?.from
  const bare = proven.signed.filter(({ k }) => !proven.recorded.some((one) => one.k === k))
  const lacking = bare.map(
    ({ k }) => `attempt ${k}: its bytes carry no hash of a permit: its policy line, decision and approvals are claims`,
  )
  return [
    `receipt intact: ${plural(proven.signed.length, "signed command")} of ${from}`,
    ...section("proven by the signature of that key:", signedLines(proven)),
    ...section(
      "recorded by the payer before the signature, which covers the hash of this record:",
      recordedLines(proven),
    ),
    ...section("claimed by the payer, and not proven:", [...lacking, ...claimedLines(statement, proven)]),
    ...section("statements of people, as the payer recorded them:", peopleLines(statement)),
    `journal entries ${first?.seq} to ${last?.seq}, the last with hash ${last?.hash}: "verify" and "export" show the same`,
  ].join("\n")
}

/** Longest receipt file that is read. A receipt of a thousand entries is smaller. */
const receiptBytesMax = 16_000_000

const readJson = (file: string) =>
  Effect.suspend(() => {
    const text = readUtf8(file, receiptBytesMax)
    if (typeof text === "string") return Effect.succeed(text)
    return failWith(text.code === "ENOENT" ? "notFound" : "failure", `${file}: ${text.problem}; name a receipt`)
  }).pipe(
    Effect.flatMap((text) =>
      Effect.try({ try: (): unknown => JSON.parse(text), catch: () => failWith("failure", `${file} is not JSON`) }),
    ),
  )

const verifyReceipt = Command.make(
  "verify",
  { file: pathArgument("file", "File of the receipt"), output: outputFlag },
  Effect.fn(function* (chosen) {
    const document = yield* readJson(chosen.file)
    const { problem, statement, proven } = checkReceipt(document)
    if (problem !== undefined || statement === undefined) {
      if (chosen.output === "json") yield* printResult("json", { whole: false, problem }, () => "")
      return yield* failWith("failure", `receipt broken: ${problem}`)
    }
    const { journal } = document as Receipt
    const whole = { whole: true, proven, claimed: statement }
    return yield* printResult(chosen.output, whole, () => receiptText(statement, proven, journal))
  }),
).pipe(Command.withDescription("Verify a receipt offline, and show what it proves and what it claims"))

export const receipt = Command.make(
  "receipt",
  {
    id: textArgument("id", "Id of the payment, or its first characters"),
    file: pathFlag("file", "Output file; default: standard output").pipe(Flag.optional),
    config: configFlag,
    data: dataFlag,
    treasury: treasuryFlag,
  },
  Effect.fn(function* (chosen) {
    const { file: output, ...place } = chosen
    const path = `/api/v1/receipts/${encodeURIComponent(chosen.id)}`
    const { body } = yield* throughDaemon(place, path, () => receiptOf(chosen.id))
    const text = toJson(body)
    if (Option.isNone(output)) return yield* Console.log(text)
    const file = output.value
    return yield* Effect.try({
      try: () => writeFileSync(file, `${text}\n`),
      catch: (error) => {
        const { code } = error as NodeJS.ErrnoException
        return failWith("failure", `${file} cannot be written (${code}); name a file in a directory of this user`)
      },
    })
  }),
).pipe(Command.withDescription("Print one payment with its proof"), Command.withSubcommands([verifyReceipt]))

/** A journal of years takes minutes. */
const timeoutMillis = 3_600_000

export const verify = Command.make(
  "verify",
  commonFlags,
  Effect.fn(function* (chosen) {
    const { body: found } = yield* throughDaemon(chosen, "/api/v1/verify", verifyStore, { timeoutMillis }).pipe(
      withSeconds("verify"),
    )
    const { problem, entries, head } = found
    if (problem === null) {
      const text = `journal intact: ${entries} entries, head ${head.slice(0, 16)}`
      return yield* printResult(chosen.output, found, () => text)
    }
    if (chosen.output === "json") yield* printResult(chosen.output, found, () => "")
    return yield* failWith("failure", `journal broken: ${problem}`)
  }),
).pipe(Command.withDescription("Recompute the journal from its first entry and compare every payment with it"))

/** Characters that make a spreadsheet read a cell as a formula. */
const formula = /^[=+\-@\t\r]/

/** One cell by RFC 4180; what a spreadsheet would compute gets an apostrophe before it. */
export const csvCell = (value: string | number | null): string => {
  if (value === null) return ""
  const seen = visibleLines(String(value))
  const text = typeof value === "string" && formula.test(value) ? `'${seen}` : seen
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Lines by RFC 4180, each with its end. */
export const csvLines = (rows: ReadonlyArray<ReadonlyArray<string | number | null>>): string =>
  rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("")

/** Rows as lines, the values in the order of the columns. */
export const csvText = (columns: ReadonlyArray<string>, rows: ReadonlyArray<ExportRow>): string =>
  csvLines(rows.map((row) => columns.map((name) => row[name] ?? null)))

const pathOf = ({ what, from, to, after }: ExportAsked): string =>
  `/api/v1/export?what=${what}&from=${from}&to=${to}&after=${after}`

/** Passes page after page of an export to `use`: from the daemon, or from the database if none runs. */
export const exportPages = Effect.fnUntraced(function* (
  chosen: Chosen,
  asked: Omit<ExportAsked, "after">,
  use: (page: ExportPage) => Effect.Effect<void, CliFailure>,
) {
  const dataDir = yield* dataDirOf(chosen)
  const answer = yield* askDaemon(dataDir, "/api/v1/live")
  if (answer !== undefined) {
    return yield* eachPage(asked, use, (page) =>
      Effect.flatMap(askDaemon(dataDir, pathOf(page)), (reply) =>
        reply === undefined
          ? Effect.fail(failWith("failure", "the daemon stopped answering; the output is incomplete"))
          : Effect.map(bodyOf(reply), (body) => body as ExportPage),
      ),
    )
  }
  return yield* eachPage(asked, use, exportPage).pipe(
    Effect.provide(storeLayer(yield* storedSetup(chosen, dataDir), "reader")),
    Effect.catchTag("StoreError", (error) => failWith("failure", error.message)),
  )
})

const eachPage = <E, R>(
  asked: Omit<ExportAsked, "after">,
  use: (page: ExportPage) => Effect.Effect<void, CliFailure>,
  read: (asked: ExportAsked) => Effect.Effect<ExportPage, E, R>,
) =>
  Effect.gen(function* () {
    for (let after: string | null = ""; after !== null; ) {
      const page: ExportPage = yield* read({ ...asked, after })
      yield* use(page)
      after = page.next
    }
  })

/** Begin and end of a date, in Unix milliseconds; equal for a time. Undefined if the text is neither. */
export const instantOf = (text: string): { readonly begin: number; readonly end: number } | undefined => {
  if (!isDay(text) && !isInstant(text)) return undefined
  const begin = Date.parse(text)
  return { begin, end: isDay(text) ? begin + dayMillis : begin }
}

const expected = "a date such as 2026-11-21, or a time such as 2026-11-21T08:00:00Z"
export const DateText = Schema.String.check(
  Schema.makeFilter((text) => instantOf(text) !== undefined, { expected }),
).pipe(
  Schema.decodeTo(Schema.Struct({ begin: Schema.Finite, end: Schema.Finite }), {
    decode: SchemaGetter.transform((text: string) => instantOf(text)!),
    encode: SchemaGetter.transform(({ begin }: { begin: number }) => new Date(begin).toISOString()),
  }),
)

export const exportCommand = Command.make(
  "export",
  {
    what: Flag.Literals("what", exportKinds).pipe(
      Flag.withDescription("payments, entries of the journal, or balances and their changes; default payments"),
      Flag.withDefault("payments" as const),
    ),
    format: Flag.Literals("format", ["csv", "jsonl"]).pipe(
      Flag.withDescription("csv (RFC 4180), or one JSON object per line; default csv"),
      Flag.withDefault("csv" as const),
    ),
    from: optionalOf("from", DateText, "From this day or time on (UTC); default: the first row"),
    to: optionalOf("to", DateText, "Through this day, or before this time (UTC); default: the last row"),
    config: configFlag,
    data: dataFlag,
    treasury: treasuryFlag,
  },
  Effect.fn(function* (chosen) {
    const { what, format } = chosen
    const from = Option.match(chosen.from, { onNone: () => 0, onSome: ({ begin }) => begin })
    const to = Option.match(chosen.to, { onNone: () => Number.MAX_SAFE_INTEGER, onSome: ({ end }) => end })
    if (from >= to) return yield* failWith("usage", "--from must be before --to")
    const columns = exportColumns[what]
    if (format === "csv") yield* writeOut(csvLines([columns]))
    yield* exportPages(chosen, { what, from, to }, ({ rows }) =>
      writeOut(
        format === "csv" ? csvText(columns, rows) : rows.map((row) => `${visibleJson(JSON.stringify(row))}\n`).join(""),
      ),
    )
  }),
).pipe(Command.withDescription("Print payments, the journal or balances"))
