import { gzipSync } from "node:zlib"
import { type Handler, json } from "../GatewayServer.ts"
import { asks, key } from "./asks.ts"
import type { BadAnswer, Outcome, Reason } from "./BadAnswer.ts"
import { unreadable } from "./BadAnswer.ts"

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

const says = (status: number, body: string, reason: Reason, headers = {}): BadAnswer => ({
  name: `${status} that says ${body.slice(0, 60)}`,
  ask: "balances",
  send: json(body, status, headers),
  gives: { fails: [reason] },
})

const words: ReadonlyArray<BadAnswer> = [
  says(404, plain(5, "NotFound error", [{ code: 10000, message: "no resource" }]), "NotFound"),
  says(404, plain(5, "Not Found"), "Unsupported"),
  says(404, plain(5.5, "NotFound error", [{ message: "x" }]), "Unsupported"),
  says(500, plain(13, "Internal error", [{ message: "tx already exists in cache" }]), "AlreadyKnown"),
  says(500, plain(13, "Internal error", [{ message: "invalid date range" }]), "Rejected"),
  says(500, plain(13, "x", [{ inner: "pagination limit must be in range 0-5000: invalid pagination" }]), "Rejected"),
  says(429, plain(8, "grpc: received message larger than max (5 vs. 4)"), "TooLarge"),
  says(403, plain(7, "temporarily banned for continuing to request while rate limited"), "Banned"),
  ...["599", "0", "99999", "", "-1", "1e9", "soon", "600.5"].map((time) =>
    says(403, plain(7, "no"), "Banned", { "ratelimit-retry-after": time }),
  ),
]

const twoTypes: ReadonlyArray<BadAnswer> = [
  {
    ...says(500, plain(13, "Internal error", [{ message: "boom" }]), "Ambiguous"),
    name: "500 with two content types",
    send: json(plain(13, "x"), 500, { "content-type": ["application/json", "application/grpc"] }),
  },
  ...["text/html", "application/grpc", "image/png", "application/json; charset=utf-16", "\u00e9", ""].map(
    (type): BadAnswer => ({
      name: `a good answer as ${type}`,
      ask: "balances",
      send: json(asks.balances.answer, 200, { "content-type": type }),
      gives: { value: asks.balances.value({}) },
    }),
  ),
  {
    name: "HTML with status 200",
    ask: "balances",
    send: json("<html><body>Welcome</body></html>", 200, { "content-type": "text/html" }),
    gives: unreadable,
  },
]

const successes = [201, 202, 203, 206, 226, 299].map(
  (status): BadAnswer => ({
    name: `a good answer with ${status}`,
    ask: "balances",
    send: json(asks.balances.answer, status),
    gives: { value: asks.balances.value({}) },
  }),
)

/** What a proxy packs though nobody asked for it still says by its number what it is. */
const packed = [413, 429, 500, 503].map(
  (status): BadAnswer => ({
    name: `${status} in gzip`,
    ask: "balances",
    send: (response) => {
      response.writeHead(status, { "content-encoding": "gzip" }).end(gzipSync(plain(13, "x")))
    },
    gives: { fails: [reasonOf(status)] },
  }),
)

const line =
  (text: string): Handler =>
  (_response, _arrived, socket) =>
    socket.end(text)

const early: ReadonlyArray<BadAnswer> = [
  ...[204, 205, 304].map(
    (status): BadAnswer => ({
      name: `${status} without a body`,
      ask: "head",
      send: (response) => response.writeHead(status).end(),
      gives: unreadable,
    }),
  ),
  ...[100, 101, 102, 103, 150, 199].map(
    (status): BadAnswer => ({
      name: `${status} and nothing more`,
      ask: "head",
      send: line(`HTTP/1.1 ${status} Early\r\n\r\n`),
      gives: { fails: ["Ambiguous"] },
    }),
  ),
  ...[0, 99, 600, 999].map(
    (status): BadAnswer => ({
      name: `status ${status}`,
      ask: "head",
      send: line(`HTTP/1.1 ${String(status).padStart(3, "0")} Odd\r\nContent-Length: 2\r\n\r\n{}`),
      gives: { fails: ["Ambiguous", "Unreadable"] },
    }),
  ),
]

const block = { height: "120", time: "1795220344973517000" }
const marked = (height: string | undefined, time: string | undefined, gives: Outcome): BadAnswer => ({
  name: `block ${height} at ${time}`.slice(0, 90),
  ask: "balances",
  send: (response) => {
    response.writeHead(200, {
      ...(height === undefined ? {} : { "x-block-height": height }),
      ...(time === undefined ? {} : { "x-block-timestamp": time }),
    })
    response.end(JSON.stringify(asks.balances.answer))
  },
  gives,
})

const noNumbers = [
  ...["", " ", "-1", "+1", "1.5", "1e3", "0x10", "007", "00", "-0", "ten", "NaN", "null", "120, 120", "1 2"],
  ...["18446744073709551616", "1".repeat(100), "1".repeat(4_000), "120;", "\u00e9", "\u00b2", "true", "[]"],
]
const page = (mark: unknown): Outcome => ({ value: { ...(asks.balances.value({}) as object), mark } })

/** What fits a column with room for what is reckoned from it. */
const latest = 9n * 10n ** 18n

const marks: ReadonlyArray<BadAnswer> = [
  ...noNumbers.flatMap((text) => [marked(text, block.time, unreadable), marked(block.height, text, unreadable)]),
  marked(undefined, undefined, page(undefined)),
  marked(block.height, undefined, page(undefined)),
  marked(undefined, block.time, page(undefined)),
  marked("0", block.time, page(undefined)),
  marked(block.height, "0", page(undefined)),
  marked("1", "1", page({ height: 1n, timestamp: 1n })),
  marked(String(latest), String(latest), page({ height: latest, timestamp: latest })),
  ...[latest + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n].flatMap((n) => [
    marked(String(n), block.time, unreadable),
    marked(block.height, String(n), unreadable),
  ]),
  marked(block.height, "1795220344", page({ height: 120n, timestamp: 1795220344n })),
]

const edge = { cursor: "c1", node: { transfer: { id: "t", from: key, amount: "1" } } }

interface Turn {
  readonly cursor: string
  readonly hasNextPage?: boolean
  readonly rows?: ReadonlyArray<object>
}

/** Pages of a listing, the last of them for ever. */
const pages = (turn: (n: number) => Turn): Handler => {
  let n = 0
  return (response, arrived, socket) => {
    if (!arrived.url.searchParams.has("pagination.after")) n = 0
    const { cursor, hasNextPage = true, rows = [edge] } = turn(n++)
    const pageInfo = { hasNextPage, hasPreviousPage: false, startCursor: "", endCursor: cursor }
    json({ transfers: { edges: rows, pageInfo } })(response, arrived, socket)
  }
}

const seen = { id: "t", status: "STATUS_UNSPECIFIED", from: key, fromAccountType: "ACCOUNT_TYPE_UNSPECIFIED" }
const row = { ...seen, to: "", toAccountType: "ACCOUNT_TYPE_UNSPECIFIED", asset: "", amount: 1n, reference: "" }
const listed = (complete: boolean, rows: boolean, cursor: string | undefined): Outcome => ({
  value: {
    transfers: rows ? [{ ...row, timestamp: 0n, fees: 0n }] : [],
    complete,
    mark: { height: 120n, timestamp: 1795220344973517000n },
    cursor,
  },
})
const walk = (name: string, turn: (n: number) => Turn, gives: Outcome): BadAnswer => ({
  name: `pages: ${name}`,
  ask: "transfers",
  send: pages(turn),
  gives,
})

const walks: ReadonlyArray<BadAnswer> = [
  walk("the cursor is always the same", () => ({ cursor: "c" }), listed(false, true, "c")),
  walk("two cursors take turns", (n) => ({ cursor: `c${n % 2}` }), listed(false, true, "c1")),
  walk("ten cursors go in a circle", (n) => ({ cursor: `c${n % 10}` }), listed(false, true, "c9")),
  walk("the cursor is new each time", (n) => ({ cursor: `c${n}` }), listed(false, true, "c199")),
  walk("no cursor, and more to come", () => ({ cursor: "" }), listed(false, true, undefined)),
  walk("a cursor of 2,000 letters", () => ({ cursor: "c".repeat(2_000) }), listed(false, true, undefined)),
  walk("no rows, and more to come", () => ({ cursor: "c", rows: [] }), listed(false, false, undefined)),
  walk(
    "no rows on the second page",
    (n) => ({ cursor: `c${n}`, rows: n === 0 ? [edge] : [] }),
    listed(false, true, "c0"),
  ),
  walk("no rows and no more", () => ({ cursor: "", rows: [], hasNextPage: false }), listed(true, false, undefined)),
  walk("the same rows again", (n) => ({ cursor: `c${n}`, hasNextPage: n < 3 }), listed(true, true, "c3")),
  {
    name: "pages: parameters whose cursors never end",
    ask: "parameters",
    send: (() => {
      let n = 0
      return (response, arrived, socket) => {
        const pageInfo = { hasNextPage: true, hasPreviousPage: false, startCursor: "", endCursor: `p${n++}` }
        const edges = [{ cursor: "p", node: { key: `k${n}`, value: "" } }]
        json({ networkParameters: { edges, pageInfo } })(response, arrived, socket)
      }
    })(),
    gives: unreadable,
  },
  {
    name: "pages: a ledger that always has more",
    ask: "ledger",
    send: json({ ledgerEntries: { edges: [], pageInfo: { hasNextPage: true } } }),
    gives: {
      value: {
        counts: new Map(),
        shown: new Set(),
        complete: false,
        mark: { height: 120n, timestamp: 1795220344973517000n },
      },
    },
  },
]

/** Everything about numbers of answers, their headers, and one page after the other. */
export const statuses: ReadonlyArray<BadAnswer> = [
  ...numbered,
  ...words,
  ...twoTypes,
  ...successes,
  ...packed,
  ...early,
  ...marks,
  ...walks,
]
