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

const notFound = '{"code":5,"message":"Not Found","details":[]}'

describe("a request that the network has no answer to", () => {
  const bad: ReadonlyArray<readonly [string, string, string, number, string]> = [
    ["an unknown path", "GET", "/api/v2/none", 404, notFound],
    ["another method", "POST", "/api/v2/assets", 404, notFound],
    ["a path that goes on", "GET", "/blockchain/height/1", 404, notFound],
    [
      "a parameter that cannot be read",
      "GET",
      "/api/v2/assets?pagination.first=ten",
      400,
      '{"code":3,"message":"parsing field \\"first\\": strconv.ParseInt: parsing \\"ten\\": invalid syntax","details":[]}',
    ],
  ]
  it.live.each(bad)("for %s gets an error, and none of a node's headers", ([, method, path, status, text]) =>
    withSandbox({}, function* (client) {
      const reply = yield* wire(client, method, path)
      assert.deepStrictEqual([reply.status, reply.bytes.toString()], [status, text])
      assert.strictEqual(reply.headers["content-type"], "application/json")
      assert.isUndefined(reply.headers["x-block-height"])
    }),
  )
})

describe("a network under a limiter", () => {
  it.live("does not count what no node answers", () =>
    withSandbox({ text: scenarioText({ rateLimit: "on" }) }, function* (client) {
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
  )
})

describe("a page in a browser of this machine", () => {
  it.live("steers the network if it is this machine's own, and not if it is another site's", () =>
    withSandbox({}, function* (client) {
      const steered = (origin: string) => wire(client, "POST", "/sandbox/blocks", { origin })
      for (const origin of ["https://evil.example", "http://127.0.0.1.evil.example", "null", ""]) {
        assert.strictEqual((yield* steered(origin)).status, 403, origin)
      }
      assert.strictEqual((yield* steered(new URL(client.url).origin)).status, 200)
    }),
  )
})
