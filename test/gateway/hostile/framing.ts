import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { type Handler, json } from "../GatewayServer.ts"
import { askNames, asks } from "./asks.ts"
import { type BadAnswer, type Outcome, unreadable } from "./BadAnswer.ts"

const ask = "balances"
const text = JSON.stringify(asks[ask].answer)
const good: Outcome = { value: asks[ask].value({}) }
const broken: Outcome = { fails: ["Ambiguous"] }
const tooLarge: Outcome = { fails: ["TooLarge"] }
const mebibyte = 2 ** 20

const block = { "x-block-height": "120", "x-block-timestamp": "1795220344973517000" }
const head = `HTTP/1.1 200 OK\r\nX-Block-Height: 120\r\nX-Block-Timestamp: 1795220344973517000\r\n`

/** Bytes on the wire as they are, and then the end of the connection. */
const raw =
  (bytes: string): Handler =>
  (_response, _arrived, socket) =>
    socket.end(bytes)
const encoded =
  (encoding: string, bytes: Uint8Array): Handler =>
  (response) => {
    response.writeHead(200, { ...block, "content-encoding": encoding }).end(bytes)
  }
const bytes =
  (body: Uint8Array): Handler =>
  (response) => {
    response.writeHead(200, block).end(body)
  }

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

/** The same, and the connection ends where more was announced. */
const cutOff = Array.from({ length: Math.ceil(text.length / 5) }, (_, i) => i * 5).flatMap((k) => [
  one(`${k} of ${text.length} bytes`, raw(`${head}Content-Length: ${text.length}\r\n\r\n${text.slice(0, k)}`), broken),
  one(
    `${k} bytes of a chunk`,
    raw(`${head}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text.slice(0, k)}`),
    broken,
  ),
])

/** One byte of the answer changed into one that UTF-8 does not have, or that JSON does not let stand there. */
const spoilt = [0xff, 0xc0, 0x80, 0x00, 0x1b].flatMap((byte) =>
  [0, 5, 40, text.indexOf("1795220344") + 2, text.length - 1].map((at) => {
    const body = Buffer.from(text)
    body[at] = byte
    return one(`byte ${byte} at ${at}`, bytes(body), unreadable)
  }),
)

const utf8 = [
  ["an overlong slash", [0xc0, 0xaf]],
  ["half a pair of surrogates", [0xed, 0xa0, 0x80]],
  ["a code point that is none", [0xf4, 0x90, 0x80, 0x80]],
  ["half a letter", [0xe2, 0x82]],
  ["Latin 1", [0xe9]],
].map(([name, odd]) =>
  one(
    `${name} in a string`,
    bytes(Buffer.concat([Buffer.from('{"balances":{"x":"'), Buffer.from(odd as Array<number>), Buffer.from('"}}')])),
    unreadable,
  ),
)

const marks = [
  ["a mark of UTF-8 in front", bytes(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]))],
  ["UTF-16", bytes(Buffer.from(`\ufeff${text}`, "utf16le"))],
  ["UTF-16 without a mark", bytes(Buffer.from(text, "utf16le"))],
  ["NULs behind it", bytes(Buffer.concat([Buffer.from(text), Buffer.alloc(10)]))],
].map(([name, send]) => one(name as string, send as Handler, unreadable))

const encodings = [
  "gzip",
  "GZIP",
  "x-gzip",
  "deflate",
  "br",
  "zstd",
  "compress",
  "gzip, br",
  "identity, gzip",
  "nonsense",
]

const zipped = [
  ...encodings.map((encoding) => one(`encoding ${encoding}`, encoded(encoding, gzipSync(text)), unreadable)),
  ...encodings.map((encoding) =>
    one(`encoding ${encoding}, but plain`, encoded(encoding, Buffer.from(text)), unreadable),
  ),
  one("gzip that does not say so", bytes(gzipSync(text)), unreadable),
  one("deflate that does not say so", bytes(deflateSync(text)), unreadable),
  one("brotli that does not say so", bytes(brotliCompressSync(text)), unreadable),
  one("a bomb of gzip", encoded("gzip", gzipSync(Buffer.alloc(64 * mebibyte))), unreadable),
  one("the encoding identity", encoded("identity", Buffer.from(text)), good),
]

const deep = (open: string, close: string, n: number) => `{"balances":${open.repeat(n)}${close.repeat(n)}}`
const many = (piece: string, n: number) => `{"balances":{"edges":[${piece.repeat(n)}{}],"pageInfo":{}}}`

const heavy = [
  one("two million opened brackets", json("[".repeat(2_000_000)), unreadable),
  one("two million opened braces", json('{"a":'.repeat(2_000_000)), unreadable),
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
  ...["1000000000", "99999999999", "9007199254740993"].map((n) =>
    one(`a length of ${n}`, raw(`${head}Content-Length: ${n}\r\n\r\n{`), tooLarge),
  ),
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

const lines: ReadonlyArray<readonly [string, string, Outcome]> = [
  ["a length that is too short", `${head}Content-Length: 10\r\n\r\n${text}`, unreadable],
  ["a length of no digits", `${head}Content-Length: ten\r\n\r\n${text}`, broken],
  ["a negative length", `${head}Content-Length: -5\r\n\r\n${text}`, broken],
  ["two lengths", `${head}Content-Length: 5\r\nContent-Length: ${text.length}\r\n\r\n${text}`, broken],
  ["a length and chunks", `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, broken],
  ["a chunk without a size", `${head}Transfer-Encoding: chunked\r\n\r\n\r\n${text}\r\n0\r\n\r\n`, broken],
  ["a chunk of a size too large", `${head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n`, broken],
  ["a chunk of a negative size", `${head}Transfer-Encoding: chunked\r\n\r\n-1\r\n${text}\r\n0\r\n\r\n`, broken],
  ["another answer behind the first", `${head}Content-Length: ${text.length}\r\n\r\n${text}${head}\r\n\r\n{}`, good],
  ["no length, until the end", `${head}Connection: close\r\n\r\n${text}`, good],
  ["HTTP 0.9", text, broken],
  ["HTTP 1.0", `${head.replace("1.1", "1.0")}\r\n${text}`, good],
  ["HTTP 2 in the form of HTTP 1", `${head.replace("1.1", "2.0")}\r\n${text}`, good],
  ["HTTP 9.9", `${head.replace("1.1", "9.9")}\r\n${text}`, broken],
  ["no reason", `${head.replace(" OK", "")}Content-Length: ${text.length}\r\n\r\n${text}`, good],
  ["a status of two digits", `${head.replace("200", "20")}\r\n${text}`, broken],
  ["a status of letters", `${head.replace("200", "abc")}\r\n${text}`, broken],
  ["a header without a colon", `${head}Nonsense\r\n\r\n${text}`, broken],
  ["a header with a NUL", `${head}X: a\u0000b\r\n\r\n${text}`, broken],
  ["a name with a space", `${head}X Y: 1\r\n\r\n${text}`, broken],
  ["a folded header", `${head}X: a\r\n b\r\nContent-Length: ${text.length}\r\n\r\n${text}`, broken],
  ["a mebibyte of headers", `${head}X: ${"x".repeat(mebibyte)}\r\n\r\n${text}`, broken],
  ["ten thousand headers", `${head}${"X: y\r\n".repeat(10_000)}\r\n${text}`, broken],
  ["garbage", "\u0000\u0001\u0002", broken],
  ["nothing", "", broken],
  ["TLS", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000", broken],
  ["a greeting of mail", "220 mail ready\r\n", broken],
]

const slow: ReadonlyArray<BadAnswer> = [
  one("a byte at a time", drip(text, 0), good),
  one("a byte in ten milliseconds", drip(text, 10), { fails: ["Timeout"] }, { requestDeadlineMillis: 60 }),
  one(
    "headers without a body",
    (r) => r.writeHead(200, block).flushHeaders(),
    { fails: ["Timeout"] },
    {
      requestDeadlineMillis: 60,
    },
  ),
  one("no answer", () => {}, { fails: ["Timeout"] }, { requestDeadlineMillis: 60 }),
  one(
    "half a line",
    (_r, _a, socket) => socket.write("HTTP/1.1 2"),
    { fails: ["Timeout"] },
    {
      requestDeadlineMillis: 60,
    },
  ),
]

function drip(body: string, millis: number): Handler {
  return (response) => {
    response.writeHead(200, { ...block, "content-length": body.length })
    let at = 0
    const next = () => {
      if (at >= body.length || response.destroyed) return response.end()
      response.write(body.slice(at, ++at), () => (millis === 0 ? setImmediate(next) : setTimeout(next, millis)))
      return undefined
    }
    next()
  }
}

/** Everything about bytes, lengths, encodings and sizes. */
export const framing: ReadonlyArray<BadAnswer> = [
  ...cut,
  ...cutOff,
  ...spoilt,
  ...utf8,
  ...marks,
  ...zipped,
  ...heavy,
  ...lines.map(([name, wire, gives]) => one(name, raw(wire), gives)),
  ...slow,
]
