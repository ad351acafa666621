import { json } from "../GatewayServer.ts"
import { asks } from "./asks.ts"
import type { BadAnswer, Outcome, Reason } from "./BadAnswer.ts"

const plain = (code: unknown, message: unknown, details: unknown = []) => JSON.stringify({ code, message, details })

/** Bodies that say nothing which the product knows: the number alone decides. */
const silent: ReadonlyArray<readonly [string, string]> = [
  ["no body", ""],
  ["HTML", "<html><body><h1>Sorry</h1></body></html>"],
  ["the good answer", JSON.stringify(asks.balances.answer)],
  ["a status", plain(2, "unknown")],
  ["a status with a code of text", plain("13", "Internal error")],
  ["a status with a code beyond a double", '{"code":1e400,"message":"x"}'],
  ["a status with unsafe words", plain(13, "a\r\nlevel=fatal \u001b[31m\u202e\u0000{{}}")],
  ["a status with a list for words", plain(13, ["x"], {})],
  [
    "a status with 10,000 details",
    plain(
      13,
      "x",
      Array.from({ length: 10_000 }, () => ({ message: "y" })),
    ),
  ],
  ["a status with details of numbers", plain(13, "x", [1, 2, 3])],
  ["500,000 letters", plain(13, "x".repeat(500_000))],
  ["more letters than are read", plain(13, "x".repeat(2 ** 21))],
  ["100 lists in each other", "[".repeat(100)],
  ["a million colons", plain(13, `${": ".repeat(500_000)}x`)],
  ["half a status", '{"code":13,"mess'],
  ["null", "null"],
]

const reasonOf = (status: number): Reason => {
  if (status >= 300 && status < 400) return "Unreadable"
  if (status === 413) return "TooLarge"
  if (status === 429) return "RateLimited"
  if ([404, 405, 501].includes(status)) return "Unsupported"
  if (status >= 500 || status === 408) return "Ambiguous"
  return "Rejected"
}

const answered = [
  ...[300, 301, 302, 303, 305, 307, 308, 399, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413],
  ...[
    414, 415, 416, 418, 421, 422, 425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 507, 511, 520, 599,
  ],
]

const numbered = answered.flatMap((status) =>
  silent.map(([what, body]): BadAnswer => {
    const elsewhere = { location: "/api/v2/assets", "retry-after": "-1" }
    const gives: Outcome = { fails: [reasonOf(status)] }
    return { name: `${status} with ${what}`, ask: "balances", send: json(body, status, elsewhere), gives }
  }),
)

const successes = [201, 202, 203, 206, 226, 299].map(
  (status): BadAnswer => ({
    name: `a good answer with ${status}`,
    ask: "balances",
    send: json(asks.balances.answer, status),
    gives: { value: asks.balances.value({}) },
  }),
)

/** Everything about numbers of answers. */
export const statuses: ReadonlyArray<BadAnswer> = [...numbered, ...successes]
