import { assert, describe, it } from "@effect/vitest"
import { GatewayError, GatewayReason } from "../../src/gateway/GatewayError.ts"
import { reasonOfStatus } from "../../src/gateway/reasons.ts"

type Headers = Readonly<Record<string, string>>
const status = (code: number, message: string, inner = "", headers: Headers = {}) => ({
  body: { code, message: "class error", details: [{ "@type": "x", code: 10000, message, inner }] },
  headers,
})
const plain = (code: number, message: string, headers: Headers = {}) => ({
  body: { code, message, details: [] },
  headers,
})
const nothing = { body: undefined, headers: {} }

describe("reasonOfStatus", () => {
  it.each([
    [400, plain(3, "unexpected EOF"), { _tag: "Rejected", detail: "400 unexpected EOF" }],
    [400, nothing, { _tag: "Rejected", detail: "400" }],
    [401, nothing, { _tag: "Rejected", detail: "401" }],
    [403, nothing, { _tag: "Rejected", detail: "403" }],
    [409, plain(6, "exists"), { _tag: "Rejected", detail: "409 exists" }],
    [403, plain(7, "temporarily banned for continuing to request while rate limited"), { _tag: "Banned" }],
    [
      403,
      plain(7, "temporarily banned", { "ratelimit-retry-after": "599" }),
      { _tag: "Banned", retryAfterMillis: 599_000 },
    ],
    [403, { body: undefined, headers: { "ratelimit-retry-after": "1" } }, { _tag: "Banned", retryAfterMillis: 1000 }],
    [429, plain(8, "api request rate limit exceeded", { "ratelimit-reset": "1" }), { _tag: "RateLimited" }],
    [429, { body: undefined, headers: { "retry-after": "2" } }, { _tag: "RateLimited", retryAfterMillis: 2000 }],
    [429, { body: undefined, headers: { "retry-after": "-1" } }, { _tag: "RateLimited" }],
    [429, { body: undefined, headers: { "retry-after": "1e9" } }, { _tag: "RateLimited" }],
    [429, { body: undefined, headers: { "retry-after": "Fri, 31 Dec 1999" } }, { _tag: "RateLimited" }],
    [
      429,
      { body: undefined, headers: { "retry-after": "99999" } },
      { _tag: "RateLimited", retryAfterMillis: 86_400_000 },
    ],
    [
      429,
      plain(8, "grpc: received message larger than max (5 vs. 4)"),
      { _tag: "TooLarge", detail: "429 grpc: received message larger than max (5 vs. 4)" },
    ],
    [413, nothing, { _tag: "TooLarge", detail: "413" }],
    [
      500,
      status(13, "Tx too large. Max size is 1048576, but got 2000000"),
      { _tag: "TooLarge", detail: "500 class error: Tx too large. Max size is 1048576, but got 2000000" },
    ],
    [404, plain(5, "Not Found"), { _tag: "Unsupported", detail: "404 Not Found" }],
    [404, nothing, { _tag: "Unsupported", detail: "404" }],
    [404, status(5, "no resource"), { _tag: "NotFound", detail: "404 class error: no resource" }],
    [405, nothing, { _tag: "Unsupported", detail: "405" }],
    [501, plain(12, "Method Not Allowed"), { _tag: "Unsupported", detail: "501 Method Not Allowed" }],
    [
      500,
      status(13, "tx already exists in cache"),
      { _tag: "AlreadyKnown", detail: "500 class error: tx already exists in cache" },
    ],
    [
      500,
      status(13, "invalid date range", "too long"),
      { _tag: "Rejected", detail: "500 class error: invalid date range: too long" },
    ],
    [
      500,
      status(13, "failed to get assets", "pagination limit must be in range 0-5000: invalid pagination"),
      {
        _tag: "Rejected",
        detail: "500 class error: failed to get assets: pagination limit must be in range 0-5000: invalid pagination",
      },
    ],
    [500, status(13, "mempool is full"), { _tag: "Ambiguous", detail: "500 class error: mempool is full" }],
    [500, nothing, { _tag: "Ambiguous", detail: "500" }],
    [408, nothing, { _tag: "Ambiguous", detail: "408" }],
    [503, plain(14, "connection refused"), { _tag: "Ambiguous", detail: "503 connection refused" }],
    [504, plain(4, "deadline"), { _tag: "Ambiguous", detail: "504 deadline" }],
    [599, nothing, { _tag: "Ambiguous", detail: "599" }],
    [302, nothing, { _tag: "Unreadable", detail: "302: redirects are not followed" }],
    [500, { body: ["tx already exists in cache"], headers: {} }, { _tag: "Ambiguous", detail: "500" }],
    [500, { body: { code: "x" }, headers: {} }, { _tag: "Ambiguous", detail: "500" }],
  ])("reads %i %j as %j", (code, answer, reason) => {
    assert.deepEqual(reasonOfStatus({ status: code, mark: undefined, ...answer }), reason)
  })

  it("keeps the block up to which the gateway looked", () => {
    const mark = { height: 7n, timestamp: 8n }
    const reason = reasonOfStatus({ status: 404, ...status(5, "no resource"), mark })
    assert.deepEqual(reason, { _tag: "NotFound", detail: "404 class error: no resource", mark })
  })
})

describe("GatewayError", () => {
  const detail = "x"
  const table: ReadonlyArray<readonly [reason: GatewayReason, isRetryable: boolean, mayHaveArrived: boolean]> = [
    [{ _tag: "Unreachable", detail }, true, false],
    [{ _tag: "Timeout", afterMillis: 10 }, true, true],
    [{ _tag: "Ambiguous", detail }, true, true],
    [{ _tag: "RateLimited" }, true, false],
    [{ _tag: "Banned", retryAfterMillis: 1000 }, true, false],
    [{ _tag: "AlreadyKnown", detail }, false, true],
    [{ _tag: "NotFound", detail }, false, true],
    [{ _tag: "Rejected", detail }, false, false],
    [{ _tag: "Unreadable", detail }, true, true],
    [{ _tag: "TooLarge", detail }, false, true],
    [{ _tag: "Unsupported", detail }, false, false],
    [{ _tag: "Doubted", detail }, false, false],
    [{ _tag: "BegunAgain", detail, chainId: "one" }, false, false],
    [{ _tag: "OtherChain", detail, chainId: "other" }, true, true],
  ]

  it.each(table)("%j: may pass later %s, may have arrived %s", (reason, isRetryable, mayHaveArrived) => {
    const error = new GatewayError({ gateway: "a", operation: "submit", reason })
    assert.strictEqual(error.isRetryable, isRetryable)
    assert.strictEqual(error.mayHaveArrived, mayHaveArrived)
    assert.match(error.message, /^gateway a, submit: \w[a-z ]+/)
  })

  it("has one line in the table for each condition", () => {
    assert.sameMembers(
      table.map(([reason]) => reason._tag),
      Object.keys(GatewayReason.cases),
    )
  })
})
