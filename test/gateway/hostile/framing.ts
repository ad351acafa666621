import { type Handler, json } from "../GatewayServer.ts"
import { askNames, asks } from "./asks.ts"
import { type BadAnswer, type Outcome, unreadable } from "./BadAnswer.ts"

const ask = "balances"
const text = JSON.stringify(asks[ask].answer)
const good: Outcome = { value: asks[ask].value({}) }
const tooLarge: Outcome = { fails: ["TooLarge"] }
const mebibyte = 2 ** 20

const one = (name: string, send: Handler, gives: Outcome, more: Partial<BadAnswer> = {}): BadAnswer => ({
  name,
  ask,
  send,
  gives,
  ...more,
})

/** The first k bytes of each answer, as if they were all: no length of them is the answer. */
const cut = askNames.flatMap((each) => {
  const whole = JSON.stringify(asks[each].answer)
  const step = each === ask ? 1 : 11
  const lengths = Array.from({ length: Math.ceil(whole.length / step) }, (_, i) => i * step)
  return lengths.map((k) => ({
    name: `${each}: the first ${k} bytes`,
    ask: each,
    send: json(whole.slice(0, k)),
    gives: unreadable,
  }))
})

const deep = (open: string, close: string, n: number) => `{"balances":${open.repeat(n)}${close.repeat(n)}}`
const many = (piece: string, n: number) => `{"balances":{"edges":[${piece.repeat(n)}{}],"pageInfo":{}}}`

const heavy = [
  one("two million opened brackets", json("[".repeat(2_000_000)), unreadable),
  one("a million opened braces", json('{"a":'.repeat(1_000_000)), unreadable),
  ...[64, 65, 1_000, 100_000].flatMap((n) => [
    one(`${n} lists in each other`, json(deep("[", "]", n)), unreadable),
    one(`${n} objects in each other`, json(deep('{"a":', "}", n).replace(":}", ":1}")), unreadable),
  ]),
  one("a million empty rows", json(many("{},", 1_000_000)), { fails: ["Unreadable", "TooLarge"] }),
  one("a million lists", json(many("[],", 1_000_000)), { fails: ["Unreadable", "TooLarge"] }),
  one("a million numbers", json(many("0,", 1_000_000)), { fails: ["Unreadable", "TooLarge"] }),
  one("a million texts", json(many('"",', 1_000_000)), { fails: ["Unreadable", "TooLarge"] }),
  one("60,000 rows of one field", json(many('{"node":{"balance":"1"}},', 60_000)), {
    fails: ["Unreadable", "TooLarge"],
  }),
  one("200,000 keys", json(keys(200_000)), { fails: ["Unreadable", "TooLarge"] }),
  one("50,000 keys", json(keys(50_000)), { fails: ["Unreadable", "TooLarge"] }),
  one("7 MiB of spaces", json(`${" ".repeat(7 * mebibyte)}${text}`), good),
  one("7 MiB in one string", json(`{"balances":"${"x".repeat(7 * mebibyte)}"}`), unreadable),
  one("7 MiB of escapes", json(`{"balances":"${"\\u0041".repeat(mebibyte)}"}`), unreadable),
  one("7 MiB of quotes", json(`{"balances":"${'\\"'.repeat(3 * mebibyte)}"}`), unreadable),
  one("7 MiB of letters beyond Latin", json(`{"balances":"${"é".repeat(3 * mebibyte)}"}`), unreadable),
  one("17 MiB", json(" ".repeat(17 * mebibyte)), tooLarge),
  one("more than is allowed by one byte", json(text), tooLarge, { bodyBytesMax: text.length - 1 }),
  one("as much as is allowed", json(text), good, { bodyBytesMax: text.length }),
  ...transfersWithFees(),
]

function keys(n: number): string {
  return `{"balances":{${Array.from({ length: n }, (_, i) => `"k${i}":0`).join()}}}`
}

/** A transfer has as many fees as a gateway likes. */
function transfersWithFees(): ReadonlyArray<BadAnswer> {
  const fees = (n: number) =>
    JSON.stringify(asks.transfer.answer).replace(
      /"fees":\[.*\]/,
      () => `"fees":[${'{"amount":"1"},'.repeat(n - 1)}{"amount":"1"}]`,
    )
  return [
    {
      name: "a transfer with 50 fees",
      ask: "transfer",
      send: json(fees(50)),
      gives: { value: asks.transfer.value({ fees: 50n }) },
    },
    {
      name: "a transfer with 200,000 fees",
      ask: "transfer",
      send: json(fees(200_000)),
      gives: { fails: ["Unreadable", "TooLarge"] },
    },
  ]
}

/** What is cut off, and what is too heavy. How bytes travel, `Transport.test.ts` tries over the same adapter. */
export const framing: ReadonlyArray<BadAnswer> = [...cut, ...heavy]
