import { json } from "../GatewayServer.ts"
import { askNames, asks, type Field, type Kind } from "./asks.ts"
import { type BadAnswer, type Outcome, unreadable } from "./BadAnswer.ts"
import { without, withText } from "./edit.ts"

/** What text stands in a field, and what it means there; undefined: it is refused. */
interface Written {
  readonly name: string
  readonly text: string
  readonly means: (field: Field) => { readonly value: unknown } | undefined
}

const numeric: ReadonlySet<Kind> = new Set(["amount", "int64", "height", "time", "uint32", "uint", "code", "quantum"])
const ranges: Readonly<Partial<Record<Kind, readonly [bigint, bigint]>>> = {
  amount: [0n, 2n ** 256n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  quantum: [0n, 10n ** 78n - 1n],
  height: [0n, 9n * 10n ** 18n],
  time: [0n, 9n * 10n ** 18n],
  uint32: [0n, 2n ** 32n - 1n],
  uint: [0n, 2n ** 53n - 1n],
  code: [-(2n ** 53n) + 1n, 2n ** 53n - 1n],
}
const asNumbers: ReadonlySet<Kind> = new Set(["uint32", "uint", "code"])

const inRange = (n: bigint, { kind }: Field): { readonly value: unknown } | undefined => {
  const [min, max] = ranges[kind] ?? [1n, 0n]
  if (n < min || n > max) return undefined
  return { value: asNumbers.has(kind) ? Number(n) : n }
}

/** A whole number as its canonical digits in a string. */
const digits = (n: bigint): Written => ({
  name: `"${n}"`.slice(0, 60),
  text: `"${n}"`,
  means: (field) => (numeric.has(field.kind) ? inRange(n, field) : undefined),
})

/** A whole number as a number of JSON: good where a double holds it exactly, and never for money. */
const bare = (text: string, n: bigint): Written => ({
  name: text,
  text,
  means: (field) => (field.kind === "amount" || field.kind === "quantum" ? undefined : inRange(n, field)),
})

const refused = (text: string): Written => ({
  name: JSON.stringify(text.slice(0, 40)),
  text,
  means: () => undefined,
})

const big = 2_000_000
const odd = [
  ...[" ", "0x10", "0b1", "0o7", "1e5", "1E5", "+1", "-0", "--1", "1-", "00", "007", "-01", "1.0", "1.", ".5"],
  ...["0.1", "1e400", "1e-400", " 1", "1 ", "1\\n", "\\t1", "\\u00a01", "1_000", "1,000", "1 000", "1n", "0x", "NaN"],
  ...[
    "Infinity",
    "-Infinity",
    "null",
    "true",
    "undefined",
    "١٢",
    "１２",
    "𝟏",
    "①",
    "²",
    "Ⅷ",
    "−1",
    "\\u200b1",
    "1\\u0000",
  ],
  ...["\\u202e1", "\\ufeff1", "1\\ud800", "__proto__", "constructor", "[]", "{}", "1;2", "$1", "1%", "ten"],
]

const numbers: ReadonlyArray<Written> = [
  ...[0n, 1n, 42n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n].map(digits),
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n].map(digits),
  ...[9n * 10n ** 18n, 9n * 10n ** 18n + 1n].map(digits),
  ...[10n ** 30n, 10n ** 77n, 2n ** 256n - 1n, 2n ** 256n, 10n ** 78n - 1n, 10n ** 78n, 10n ** 200n].map(digits),
  ...[-1n, -42n, -(2n ** 53n) + 1n, -(2n ** 53n), -(2n ** 63n), -(2n ** 63n) - 1n, -(10n ** 30n)].map(digits),
  ...[0n, 1n, 42n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, -1n].map((n) => bare(String(n), n)),
  ...(
    [
      ["1.0", 1n],
      ["1e5", 100_000n],
      ["5E+3", 5_000n],
      ["100e-2", 1n],
    ] as const
  ).map(([text, n]) => bare(text, n)),
  ...["-0", "-0.0", "1.5", "0.1", "1e-7", "1e400", "-1e400", "1e78", "1e19"].map(refused),
  ...["9007199254740992", "9007199254740993", "-9007199254740993", "18446744073709551615"].map(refused),
  ...["0x10", "007", "+1", ".5", "5.", "1_000", "1n", "NaN", "Infinity", "undefined", "'1'", "", "1 1"].map(refused),
  ...["true", "false", "[]", "[1]", '["1"]', "{}", '{"value":"1"}', '{"$numberLong":"1"}', '{"toString":"1"}'].map(
    refused,
  ),
  ...odd.map((text) => refused(`"${text}"`)),
  { ...refused('""'), means: ({ kind }) => (kind === "quantum" ? { value: 0n } : undefined) },
  { ...refused(`"${"1".repeat(big)}"`), name: "two million digits in a string" },
  { ...refused(`"${"0".repeat(big)}1"`), name: "two million zeros in front" },
  { ...refused("1".repeat(big)), name: "two million digits" },
]

/** A chain's id is shown, and signed with a zero byte behind it. */
const isChainId = (value: unknown): boolean => typeof value === "string" && /^[ -~]{1,50}$/.test(value)

const same = (text: string): Written => ({
  name: text.slice(0, 40),
  text,
  means: ({ kind }) => {
    const value: unknown = JSON.parse(text)
    if (kind === "chainId" && !isChainId(value)) return undefined
    const isKept = typeof value !== "string" || (value.isWellFormed() && !value.includes("\0"))
    const isTooLong = (kind === "name" || kind === "id") && typeof value === "string" && value.length > 128
    const isNone = (kind === "name" && value === "") || isTooLong || !isKept
    return isNone ? undefined : { value }
  },
})

const texts: ReadonlyArray<Written> = [
  ...['""', '" "', '"\\u0000"', '"a\\r\\nb: c"', '"\\u001b[31mred\\u001b[0m"', '"\\u202egnirts"', '"\\ufeffx"'].map(
    same,
  ),
  ...['"\\u200b"', '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"😀"', '"\\u2028\\u2029"', '"\\u0085"'].map(
    same,
  ),
  ...['"__proto__"', '"constructor"', '"toString"', '"hasOwnProperty"', '"{{7*7}}"', '"$(id)"', '"%s%n"'].map(same),
  ...['"<script>alert(1)</script>"', `"' OR 1=1 --"`, '"../../etc/passwd"', '"\\"\\\\\\/\\b\\f"', '"null"', '"0"'].map(
    same,
  ),
  { ...same(`"${"x".repeat(300_000)}"`), name: "300,000 letters" },
  ...[128, 129].map((length) => ({ ...same(`"${"x".repeat(length)}"`), name: `${length} letters` })),
  { ...same(`"${"\\u0000".repeat(50_000)}"`), name: "50,000 NULs" },
  ...["5", "0", "-1.5", "true", "false", "[]", '["x"]', "{}", '{"length":1}', '{"toString":"x"}'].map(refused),
  ...['"a\nb"', '"\u0000"', '"\u001b[0m"', '"\\x41"', '"\\u12"', '"\\"', "'x'", "x", '"a" "b"', "undefined"].map(
    refused,
  ),
]

const flags: ReadonlyArray<Written> = [
  same("true"),
  same("false"),
  ...["0", "1", '""', '"true"', '"false"', "[]", "[true]", "{}", "True", "TRUE", "1.0", "tru", "truee"].map(refused),
]

const numbered = (n: number): Written => ({
  name: String(n),
  text: String(n),
  means: ({ key }) => ({ value: key === "status" ? statusName(n) : typeName(n) }),
})
const statusName = (n: number): string => (n === 4 ? "STATUS_ENABLED" : n === 1 ? "STATUS_PROPOSED" : String(n))
const typeName = (n: number): string =>
  n === 4
    ? "ACCOUNT_TYPE_GENERAL"
    : n === 1
      ? "ACCOUNT_TYPE_INSURANCE"
      : n === 34
        ? "ACCOUNT_TYPE_LOCKED_FOR_STAKING"
        : String(n)

/** Names and numbers that nobody knows are kept as they came: later networks have more of them. */
const enums: ReadonlyArray<Written> = [
  { ...refused(`"${"X".repeat(3_000)}"`), name: "an enum's name of 3,000 letters" },
  ...['"ACCOUNT_TYPE_GENERAL"', '"ACCOUNT_TYPE_OF_TOMORROW"', '""', '"4"', '"__proto__"', '"\\u0000"', '"general"'].map(
    same,
  ),
  ...[1, 4, 34, 35, 999, 2 ** 31, -1].map(numbered),
  ...["1.5", "1e400", "true", "[]", "[4]", "{}", '{"value":4}', "ACCOUNT_TYPE_GENERAL"].map(refused),
]

const writtenFor = (kind: Kind): ReadonlyArray<Written> => {
  if (numeric.has(kind)) return numbers
  return kind === "flag" ? flags : kind === "enum" ? enums : texts
}

/** Every field that the product reads, with everything in it that may stand there, and much that may not. */
export const values: ReadonlyArray<BadAnswer> = askNames.flatMap((ask) => {
  const { answer, fields, value } = asks[ask]
  return fields.flatMap((field): ReadonlyArray<BadAnswer> => {
    const name = (what: string) => `${ask}: ${field.path} is ${what}`
    const of = (means: { readonly value: unknown } | undefined): Outcome =>
      means === undefined ? unreadable : { value: value({ [field.key]: means.value }) }
    const absent = of("absent" in field ? { value: field.absent } : undefined)
    return [
      ...writtenFor(field.kind).map((written) => ({
        name: name(written.name),
        ask,
        send: json(withText(answer, field.path, written.text)),
        gives: of(written.means(field)),
      })),
      { name: name("null"), ask, send: json(withText(answer, field.path, "null")), gives: absent },
      { name: name("not there"), ask, send: json(without(answer, field.path)), gives: absent },
    ]
  })
})
