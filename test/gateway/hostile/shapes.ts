import { json } from "../GatewayServer.ts"
import { type AskName, askNames, asks } from "./asks.ts"
import { type BadAnswer, type Outcome, unreadable } from "./BadAnswer.ts"
import { containersOf, inFront, valueAt, without, withText } from "./edit.ts"

const good = (ask: AskName): Outcome => ({ value: asks[ask].value({}) })
const bad = (ask: AskName, name: string, text: string, gives: Outcome): BadAnswer => ({
  name: `${ask}: ${name}`,
  ask,
  send: json(text),
  gives,
})

const instead = ["null", "[]", "{}", '"x"', '""', "5", "true", "[[]]", "[{}]", "[null]", '{"0":{}}', '{"length":1}']

/** What may stand instead of an object or list all the same, by the end of its path: absent things have defaults. */
const isHarmless = (ask: AskName, path: string, text: string): boolean => {
  const last = path.split(".").at(-1) ?? ""
  if (last === "edges") return text === "null" || text === "[]"
  if (last === "pageInfo") return ["{}", '{"0":{}}', '{"length":1}'].includes(text)
  if (last === "fees") return text === "null" || text === "[]"
  if (last === "erc20" || last === "details") return ["null", "{}", '{"0":{}}', '{"length":1}'].includes(text)
  // Nothing is read of these.
  return last === "oneOff" || (ask === "assets" && last === "builtinAsset")
}

/** Each object and list of each answer, with something else in its place. */
const replaced = askNames.flatMap((ask) =>
  containersOf(asks[ask].answer).flatMap((path) =>
    instead
      .filter((text) => !isHarmless(ask, path, text))
      .map((text) => bad(ask, `${path} is ${text}`, withText(asks[ask].answer, path, text), unreadable)),
  ),
)

const gone = askNames.flatMap((ask) =>
  containersOf(asks[ask].answer)
    .filter((path) => !isHarmless(ask, path, "null"))
    .map((path) => bad(ask, `${path} is not there`, without(asks[ask].answer, path), unreadable)),
)

const extras = [
  ['"somethingNew":{"a":[1,{"b":null}]}', "a new key"],
  ['"__proto__":{"balance":"1","amount":"1","height":"1","hasNextPage":true}', "__proto__"],
  ['"constructor":{"prototype":{"balance":"1","hasNextPage":true}}', "constructor"],
  ['"toString":"x","valueOf":"x","hasOwnProperty":"x","then":"x"', "the names of methods"],
  ['"":1', "an empty key"],
  ['"\\u0000":1,"\\ud800":2,"\\u202e":3', "keys of unsafe characters"],
  [`"${"k".repeat(100_000)}":1`, "a key of 100,000 letters"],
] as const

/** Keys that nobody asked for change nothing, wherever they stand. */
const extra = askNames.flatMap((ask) => {
  const { answer } = asks[ask]
  const objects = containersOf(answer).filter((path) => !Array.isArray(valueAt(answer, path)))
  return extras.flatMap(([text, what]) => [
    ...objects.map((path) => bad(ask, `${path} has ${what}`, inFront(answer, path, text), good(ask))),
    bad(
      ask,
      `the answer has ${what}`,
      JSON.stringify(answer).replace("{", () => `{${text},`),
      good(ask),
    ),
  ])
})

/** A key that stands twice: the last one counts, as everywhere where JSON is read. */
const twice = askNames.flatMap((ask) =>
  asks[ask].fields.map(({ path }) => {
    const last = path.split(".").at(-1)
    const parent = path.split(".").slice(0, -1).join(".")
    const { answer } = asks[ask]
    const text = `"${last}":{"first":1}`
    const doubled =
      parent === "" ? JSON.stringify(answer).replace("{", () => `{${text},`) : inFront(answer, parent, text)
    return bad(ask, `${path} stands twice`, doubled, good(ask))
  }),
)

/** A prototype gives no field that is missing. */
const inherited = askNames.flatMap((ask) =>
  asks[ask].fields
    .filter(({ path }) => asks[ask].fields.length > 0 && path.includes("."))
    .flatMap((field) => {
      const last = field.path.split(".").at(-1) ?? ""
      const parent = field.path.split(".").slice(0, -1).join(".")
      const given = JSON.stringify(valueAt(asks[ask].answer, field.path))
      const bare = JSON.parse(without(asks[ask].answer, field.path)) as object
      const text = inFront(bare, parent, `"__proto__":{"${last}":${given}}`).replace(",}", "}")
      const gives = "absent" in field ? { value: asks[ask].value({ [field.key]: field.absent }) } : unreadable
      return bad(ask, `${field.path} stands in __proto__ alone`, text, gives)
    }),
)

const roots = [
  "null",
  "true",
  "5",
  '"x"',
  "[]",
  "[{}]",
  "{}",
  '{"result":{}}',
  '{"error":{"code":5}}',
  "",
  " ",
  "{",
  "}",
]

/** What a submission's answer is where it says nothing at all. */
const nothing: Outcome = { value: { success: false, txHash: "", code: 0, data: "", log: "", height: 0n } }

const wholes = askNames.flatMap((ask) => [
  ...roots
    // A submission has no field that must be there.
    .filter((text) => ask !== "submit" || !text.startsWith("{") || text === "{")
    .map((text) => bad(ask, `the answer is ${JSON.stringify(text)}`, text, unreadable)),
  bad(ask, "the answer stands in a list", `[${JSON.stringify(asks[ask].answer)}]`, unreadable),
  bad(ask, "the answer is text of JSON", JSON.stringify(JSON.stringify(asks[ask].answer)), unreadable),
  bad(ask, "the answer comes twice", JSON.stringify(asks[ask].answer).repeat(2), unreadable),
  bad(ask, "the answer ends with a comma", `${JSON.stringify(asks[ask].answer)},`, unreadable),
  bad(ask, "the answer has a comment", `/* hi */${JSON.stringify(asks[ask].answer)}`, unreadable),
  bad(ask, "the answer is indented", JSON.stringify(asks[ask].answer, null, "\t"), good(ask)),
  bad(
    ask,
    "the answer is that of a stream",
    JSON.stringify({ result: asks[ask].answer }),
    ask === "submit" ? nothing : unreadable,
  ),
])

const hashes = [
  "",
  "0x",
  "zz".repeat(32),
  "ab".repeat(31),
  "ab".repeat(33),
  `${"ab".repeat(32)}\\n`,
  `0x${"ab".repeat(31)}`,
]

/** Everything about the form of an answer. */
export const shapes: ReadonlyArray<BadAnswer> = [
  ...replaced,
  ...gone,
  ...extra,
  ...twice,
  ...inherited,
  ...wholes,
  ...hashes.map((hash) => bad("head", `hash is ${hash}`, withText(asks.head.answer, "hash", `"${hash}"`), unreadable)),
  bad("transfer", "another transfer", withText(asks.transfer.answer, "transferNode.transfer.id", '"ab"'), unreadable),
]
