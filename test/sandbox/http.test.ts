import { type IncomingHttpHeaders, request } from "node:http"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Test from "../support/TestClient.ts"
import { scenarioText, usdt, withSandbox } from "../support/TestSandbox.ts"

interface Wire {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** A request whose answer is not unpacked, with no header but those that are given. */
const wire = (
  client: Pick<Test.TestClient, "url">,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Effect.Effect<Wire, Test.NoAnswer> =>
  Effect.tryPromise({
    try: () =>
      new Promise<Wire>((resolve, reject) => {
        request(client.url + path, { method, headers, timeout: 30_000 }, (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("error", reject)
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }),
          )
        })
          .on("error", reject)
          .end()
      }),
    catch: (cause) => new Test.NoAnswer({ cause }),
  })

const notAllowed = '{"code":12,"message":"Method Not Allowed","details":[]}'
const notFound = '{"code":5,"message":"Not Found","details":[]}'

describe("gzip", () => {
  const paths = [
    ["an answer", "/api/v2/assets", 200],
    ["plain text", "/health", 200],
    ["an error of the node", `/api/v2/asset/${"ab".repeat(32)}`, 404],
    ["an unknown path", "/api/v2/none", 404],
  ] as const
  it.live.each(paths)("packs %s for who takes it, and holds the same", ([, path, status]) =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const plain = yield* wire(client, "GET", path)
        assert.strictEqual(plain.status, status)
        assert.isUndefined(plain.headers["content-encoding"])
        for (const accepted of ["gzip", "deflate, gzip;q=1.0, br"]) {
          const packed = yield* wire(client, "GET", path, { "accept-encoding": accepted })
          assert.strictEqual(packed.status, status)
          assert.strictEqual(packed.headers["content-encoding"], "gzip")
          assert.strictEqual(packed.headers["content-type"], plain.headers["content-type"])
          assert.strictEqual(packed.headers["content-length"], String(packed.bytes.length))
          assert.strictEqual(packed.bytes.readUInt16BE(0), 0x1f8b, "the bytes are packed, not only the header says so")
          assert.strictEqual(gunzipSync(packed.bytes).toString(), plain.bytes.toString())
        }
        const other = yield* wire(client, "GET", path, { "accept-encoding": "br, identity" })
        assert.deepStrictEqual(other.bytes, plain.bytes)
      }),
    ),
  )
})

describe("a method that a path does not have", () => {
  const wrong = [
    ["GET", "/transaction"],
    ["GET", "/transaction/raw"],
    ["PUT", "/transaction/check"],
    ["POST", "/api/v2/assets"],
    ["DELETE", "/api/v2/balance/changes"],
    ["PATCH", "/blockchain/height"],
    ["POST", `/statistics/spam/${"ab".repeat(32)}`],
    ["OPTIONS", "/api/v2/assets"],
  ] as const
  it.live.each(wrong)("%s %s is answered with 501, and by no node", ([method, path]) =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const reply = yield* wire(client, method, path)
        assert.deepStrictEqual([reply.status, reply.bytes.toString()], [501, notAllowed])
        assert.strictEqual(reply.headers["content-type"], "application/json")
        assert.isUndefined(reply.headers["x-block-height"])
      }),
    ),
  )

  it.live("is HEAD everywhere, whose answer has no body", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        for (const path of ["/api/v2/assets", "/health", "/transaction"]) {
          const reply = yield* wire(client, "HEAD", path)
          assert.deepStrictEqual([path, reply.status, reply.bytes.length], [path, 501, 0])
        }
        assert.strictEqual((yield* wire(client, "HEAD", "/api/v2/none")).status, 404)
      }),
    ),
  )
})

describe("errors", () => {
  const bad: ReadonlyArray<readonly [string, string, number, string, boolean]> = [
    ["an unknown path", "/api/v2/none", 404, notFound, false],
    ["a path that goes on", "/blockchain/height/1", 404, notFound, false],
    ["a slash at the end", "/api/v2/assets/", 404, notFound, false],
    ["a slash too many", "/api/v2//assets", 404, notFound, false],
    ["capital letters", "/API/v2/assets", 404, notFound, false],
    [
      "a parameter that cannot be read",
      "/api/v2/assets?pagination.first=ten",
      400,
      '{"code":3,"message":"parsing field \\"first\\": strconv.ParseInt: parsing \\"ten\\": invalid syntax","details":[]}',
      false,
    ],
    [
      "an id that is none",
      "/api/v2/asset/USDT",
      400,
      '{"code":3,"message":"InvalidArgument error","details":[{"@type":"type.googleapis.com/vega.ErrorDetail",' +
        '"code":10038,"message":"invalid asset ID","inner":""}]}',
      true,
    ],
    [
      "an id as long as a book",
      `/api/v2/asset/${"ab".repeat(4_000)}`,
      400,
      '{"code":3,"message":"InvalidArgument error","details":[{"@type":"type.googleapis.com/vega.ErrorDetail",' +
        '"code":10038,"message":"invalid asset ID","inner":""}]}',
      true,
    ],
  ]
  it.live.each(bad)(
    "for %s have the network's body, and its headers where a node was asked",
    ([, path, status, text, node]) =>
      withSandbox({}, (client) =>
        Effect.gen(function* () {
          const reply = yield* wire(client, "GET", path)
          assert.deepStrictEqual([reply.status, reply.bytes.toString()], [status, text])
          assert.strictEqual(reply.headers["content-type"], "application/json")
          assert.strictEqual(reply.headers["x-block-height"] !== undefined, node)
        }),
      ),
  )
})

describe("pretty", () => {
  it.live("indents whatever its value is, and errors too", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        const compact = (yield* wire(client, "GET", `/api/v2/asset/${usdt}`)).bytes.toString()
        const indented = JSON.stringify(JSON.parse(compact), null, 2)
        for (const query of ["pretty", "pretty=true", "pretty=false", "other=1&pretty="]) {
          const reply = yield* wire(client, "GET", `/api/v2/asset/${usdt}?${query}`)
          assert.strictEqual(reply.bytes.toString(), indented, query)
        }
        assert.strictEqual(
          (yield* wire(client, "GET", "/api/v2/none?pretty")).bytes.toString(),
          JSON.stringify(JSON.parse(notFound), null, 2),
        )
        assert.strictEqual((yield* wire(client, "GET", "/health?pretty")).bytes.toString(), "ok")
      }),
    ),
  )
})

describe("a browser of any origin", () => {
  const origin = "https://page.example"
  it.live("reads every header of an answer, and of a refusal", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        for (const path of ["/api/v2/assets", "/api/v2/none"]) {
          const { headers } = yield* wire(client, "GET", path, { origin })
          assert.deepStrictEqual(
            [headers["access-control-allow-origin"], headers["access-control-expose-headers"], headers["vary"]],
            [origin, "*", "Origin"],
          )
          assert.isUndefined(headers["access-control-allow-credentials"])
        }
        const without = yield* wire(client, "GET", "/api/v2/assets")
        assert.isUndefined(without.headers["access-control-allow-origin"])
      }),
    ),
  )

  it.live("may ask first, whatever it will ask for", () =>
    withSandbox({}, (client) =>
      Effect.gen(function* () {
        for (const path of ["/transaction", "/api/v2/assets", "/api/v2/none"]) {
          const reply = yield* wire(client, "OPTIONS", path, {
            origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,x-request-id",
          })
          assert.deepStrictEqual([reply.status, reply.bytes.length], [204, 0])
          const allowed = ["origin", "headers"].map((name) => reply.headers[`access-control-allow-${name}`])
          assert.deepStrictEqual(allowed, [origin, "content-type,x-request-id"])
          assert.include(reply.headers["access-control-allow-methods"], "POST")
          assert.strictEqual(reply.headers["access-control-max-age"], "7200")
        }
      }),
    ),
  )
})

describe("a network under a limiter", () => {
  it.live("counts neither health nor what no node answers", () =>
    withSandbox({ text: scenarioText({ rateLimit: "on" }) }, (client) =>
      Effect.gen(function* () {
        const left = Effect.map(wire(client, "GET", "/blockchain/height"), (reply) =>
          Number(reply.headers["ratelimit-remaining"]),
        )
        const before = yield* left
        for (const path of ["/health", "/api/v2/none", "/sandbox/ledger"]) {
          const { headers } = yield* wire(client, "GET", path)
          assert.isUndefined(headers["ratelimit-limit"], path)
        }
        // A second may have passed and given some back, but none of these took one.
        assert.isAtLeast(yield* left, before - 1)
      }),
    ),
  )
})
