import { type IncomingHttpHeaders, request } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Test from "../support/TestClient.ts"
import { scenarioText, withSandbox } from "../support/TestSandbox.ts"

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

describe("a method that a path does not have", () => {
  const wrong = [
    ["GET", "/transaction"],
    ["PUT", "/transaction"],
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
        for (const path of ["/api/v2/assets", "/transaction"]) {
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

describe("a network under a limiter", () => {
  it.live("does not count what no node answers", () =>
    withSandbox({ text: scenarioText({ rateLimit: "on" }) }, (client) =>
      Effect.gen(function* () {
        const left = Effect.map(wire(client, "GET", "/blockchain/height"), (reply) =>
          Number(reply.headers["ratelimit-remaining"]),
        )
        const before = yield* left
        for (const path of ["/api/v2/none", "/sandbox/ledger"]) {
          const { headers } = yield* wire(client, "GET", path)
          assert.isUndefined(headers["ratelimit-limit"], path)
        }
        // A second may have passed and given some back, but none of these took one.
        assert.isAtLeast(yield* left, before - 1)
      }),
    ),
  )
})
