import { createServer as createTcpServer } from "node:net"
import { gzipSync } from "node:zlib"
import { assert } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schema } from "effect"
import { jsonDepthMax, jsonStringMax } from "../../src/gateway/readBody.ts"
import { Metrics } from "../../src/telemetry/Metrics.ts"
import { layer } from "../support/it.ts"
import { type Handler, json, live, mark, openTransport, startGateway } from "./GatewayServer.ts"

const Anything = Schema.Struct({ ok: Schema.Boolean })
const ask = { operation: "height", path: "/x", schema: Anything } as const
const write = { ...ask, operation: "submit", body: { tx: 1 } } as const

const raw =
  (bytes: string): Handler =>
  (_response, _arrived, socket) => {
    socket.end(bytes)
  }
const nest = (levels: number) => `{"ok":true,"deep":${"[".repeat(levels)}${"]".repeat(levels)}}`

/** A port on which nobody listens. */
const closedPort = Effect.callback<number>((resume) => {
  const server = createTcpServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

layer(live, { excludeTestServices: true })("Transport", (it) => {
  it.effect("reads a good answer with its block", function* () {
    const server = yield* startGateway(json({ ok: true }))
    const transport = yield* openTransport(server.url)
    const { date, ...answer } = yield* transport.request(ask)
    assert.deepStrictEqual(answer, { value: { ok: true }, mark })
    assert.isBelow(Math.abs(Number(date) / 1e6 - Date.now()), 60_000, "by the server's Date header")
  })

  it.effect.each([
    ["none", (r) => Object.assign(r, { sendDate: false }).writeHead(200).end('{"ok":true}')],
    ["one that is no time", json({ ok: true }, 200, { date: "tomorrow" })],
    ["one without a zone", json({ ok: true }, 200, { date: "Sun Nov  6 08:49:37 1994" })],
  ] satisfies ReadonlyArray<readonly [string, Handler]>)("reads an answer without a time: %s", function* ([, answer]) {
    const server = yield* startGateway(answer)
    assert.isUndefined((yield* (yield* openTransport(server.url)).request(ask)).date)
  })

  it.effect("posts JSON with its content type, and says how long it is", function* () {
    const server = yield* startGateway(json({ ok: true }))
    yield* (yield* openTransport(server.url)).request(write)
    const { method, headers, body } = server.arrived[0]!
    assert.strictEqual(method, "POST")
    assert.strictEqual(headers["content-type"], "application/json")
    assert.strictEqual(headers["content-length"], "8")
    assert.strictEqual(headers["accept"], "application/json")
    assert.strictEqual(body, '{"tx":1}')
  })

  it.effect.each([
    ["a content type of plain text", json({ ok: true }, 200, { "content-type": "text/plain" })],
    ["no content type", (r) => r.writeHead(200).end('{"ok":true}')],
    ["the encoding identity", json({ ok: true }, 200, { "content-encoding": "identity" })],
    ["status 202", json({ ok: true }, 202)],
    ["spaces around it", json('\n  {"ok" : true}\n')],
    ["brackets inside of text", json(`{"ok":true,"t":"${'[{\\"'.repeat(500)}"}`)],
    ["a text that ends in a backslash", json(`{"ok":true,"t":"a\\\\","u":"${"[".repeat(jsonDepthMax)}"}`)],
    ["as many levels as are allowed", json(nest(jsonDepthMax - 1))],
    ["as long a text as is allowed", json({ ok: true, t: "t".repeat(jsonStringMax) })],
    [
      "a hint in front",
      (r) => {
        r.writeEarlyHints({ link: "</x>; rel=preload" })
        r.writeHead(200).end('{"ok":true}')
      },
    ],
    [
      "one byte at a time",
      (r) => {
        r.writeHead(200)
        const bytes = [...'{"ok":true}']
        const next = () => {
          const byte = bytes.shift()
          if (byte === undefined) r.end()
          else r.write(byte, () => setImmediate(next))
        }
        next()
      },
    ],
  ] satisfies ReadonlyArray<readonly [string, Handler]>)("takes an answer with %s", function* ([_name, handler]) {
    const server = yield* startGateway(handler)
    const { value } = yield* (yield* openTransport(server.url)).request(ask)
    assert.deepStrictEqual(value, { ok: true })
  })

  it.effect.each([
    ["HTML with status 200", json("<html><body>ok</body></html>", 200, { "content-type": "text/html" }), "no JSON"],
    ["status 204", (r) => r.writeHead(204).end(), "0 bytes"],
    ["an empty body", json(""), "0 bytes"],
    ["half a document", json('{"ok":tr'), "no JSON"],
    ["two documents", json('{"ok":true}{"ok":true}'), "no JSON"],
    ["NaN", json('{"ok":NaN}'), "no JSON"],
    ["a byte order mark", json('\ufeff{"ok":true}'), "no JSON"],
    [
      "bytes that are no UTF-8",
      (r) => r.writeHead(200).end(Buffer.from('{"ok":true,"x":"\xff"}', "latin1")),
      "no JSON",
    ],
    ["another form", json({ ok: "yes" }), "boolean"],
    [
      "gzip that says so",
      (r) => r.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync('{"ok":true}')),
      "encoded",
    ],
    ["an encoding nobody knows", json({ ok: true }, 200, { "content-encoding": "br, x" }), "encoded"],
    ["gzip that does not say so", (r) => r.writeHead(200).end(gzipSync('{"ok":true}')), "no JSON"],
    ["one level more than is allowed", json(nest(jsonDepthMax)), "nested deeper"],
    [
      "one level more behind a text that ends in a backslash",
      json(`{"t":"a\\\\","u":${nest(jsonDepthMax)}}`),
      "nested deeper",
    ],
    ["one byte more in a text than is allowed", json({ t: "t".repeat(jsonStringMax + 1) }), "bytes in one string"],
    ["two million opened brackets", json("[".repeat(2_000_000)), "nested deeper"],
    ["status 301", json({ ok: true }, 301, { location: "/elsewhere" }), "redirects are not followed"],
    ["status 302", json({ ok: true }, 302, { location: "http://127.0.0.1:1/" }), "redirects are not followed"],
    ["status 307", json({ ok: true }, 307, { location: "/x" }), "redirects are not followed"],
    ["status 308", json({ ok: true }, 308, { location: "/x" }), "redirects are not followed"],
  ] satisfies ReadonlyArray<readonly [string, Handler, string]>)(
    "calls %s unreadable, after one request",
    function* ([_name, handler, words]) {
      const server = yield* startGateway(handler)
      const error = yield* Effect.flip((yield* openTransport(server.url)).request(write))
      assert.strictEqual(error.reason._tag, "Unreadable")
      assert.include(error.message, words)
      assert.isTrue(error.mayHaveArrived)
      assert.strictEqual(server.arrived.length, 1)
    },
  )

  it.effect.each([
    ["a reset without an answer", (_r, _a, socket) => socket.resetAndDestroy()],
    ["a close without an answer", (_r, _a, socket) => socket.destroy()],
    [
      "a reset in the middle of the body",
      (r, _a, socket) => r.writeHead(200).write('{"ok":', () => socket.resetAndDestroy()),
    ],
    ["a body that is shorter than announced", raw('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"ok":true}')],
    ["a body that is cut off", raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"ok"\r\n')],
    ["chunks of garbage", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")],
    ["garbage instead of HTTP", raw("hello\r\n\r\n")],
    ["half a header", raw("HTTP/1.1 200 OK\r\nContent-Le")],
    ["a header of a mebibyte", raw(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(2 ** 20)}\r\n\r\n{"ok":true}`)],
    ["status 500 without words", json("", 500)],
    ["status 502 in HTML", json("<h1>Bad Gateway</h1>", 502)],
    ["status 503", json({ code: 14, message: "connection refused", details: [] }, 503)],
    ["status 504", json({ code: 4, message: "deadline", details: [] }, 504)],
  ] satisfies ReadonlyArray<readonly [string, Handler]>)(
    "does not know what became of a write after %s, and sends it once",
    function* ([_name, handler]) {
      const server = yield* startGateway(handler)
      const error = yield* Effect.flip((yield* openTransport(server.url)).request(write))
      assert.strictEqual(error.reason._tag, "Ambiguous", error.message)
      assert.isTrue(error.mayHaveArrived)
      assert.isTrue(error.isRetryable)
      assert.strictEqual(server.arrived.length, 1)
    },
  )

  it.effect("sends a write once on a connection that the gateway closes meanwhile", function* () {
    const server = yield* startGateway(json({ ok: true }))
    const transport = yield* openTransport(server.url)
    yield* transport.request(ask)
    server.handler = (_response, _arrived, socket) => socket.resetAndDestroy()
    const errors = yield* Effect.forEach([1, 2, 3], () => Effect.flip(transport.request(write)))
    assert.deepStrictEqual(
      errors.map(({ reason }) => reason._tag),
      ["Ambiguous", "Ambiguous", "Ambiguous"],
    )
    assert.strictEqual(server.arrived.length, 4)
  })

  it.effect("knows that nothing was sent where nobody listens", function* () {
    const urls = [
      `http://127.0.0.1:${yield* closedPort}`,
      `http://localhost:${yield* closedPort}`,
      "http://nobody.invalid",
      "http://[::1",
    ]
    for (const url of urls) {
      const error = yield* Effect.flip((yield* openTransport(url)).request(write))
      assert.strictEqual(error.reason._tag, "Unreachable", error.message)
      assert.isFalse(error.mayHaveArrived)
      assert.isTrue(error.isRetryable)
    }
  })

  it.effect("reads at most as many bytes as allowed, and closes the connection", function* () {
    let sent = 0
    const chunk = Buffer.alloc(64 * 1024, 0x20)
    const server = yield* startGateway((response) => {
      response.writeHead(200)
      const pump = () => {
        while (sent < 2 ** 30 && !response.destroyed) {
          sent += chunk.length
          if (!response.write(chunk)) {
            response.once("drain", pump)
            return
          }
        }
      }
      pump()
    })
    const before = process.memoryUsage().rss
    const error = yield* Effect.flip((yield* openTransport(server.url)).request(ask))
    assert.strictEqual(error.reason._tag, "TooLarge")
    assert.isFalse(error.isRetryable)
    yield* server.allClosed
    assert.isAbove(sent, 8 * 2 ** 20)
    assert.isBelow(sent, 64 * 2 ** 20)
    assert.isBelow(process.memoryUsage().rss - before, 128 * 2 ** 20)
  })

  it.effect("does not begin to read an answer that announces too much", function* () {
    const server = yield* startGateway((response) => {
      response.writeHead(200, { "content-length": String(2 ** 30) })
      response.write("{")
    })
    const error = yield* Effect.flip((yield* openTransport(server.url)).request(ask))
    assert.strictEqual(error.reason._tag, "TooLarge")
    yield* server.allClosed
  })

  it.effect("takes exactly as many bytes as allowed", function* () {
    const server = yield* startGateway(json(`{"ok":true}${" ".repeat(89)}`))
    const fits = yield* openTransport(server.url, { bodyBytesMax: 100 })
    assert.isTrue((yield* fits.request(ask)).value.ok)
    const tight = yield* openTransport(server.url, { bodyBytesMax: 99 })
    assert.strictEqual((yield* Effect.flip(tight.request(ask))).reason._tag, "TooLarge")
  })

  const slow: ReadonlyArray<readonly [string, Handler]> = [
    ["never answers", () => {}],
    ["stops in the middle of its headers", (_r, _a, socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Le")],
    ["stops in the middle of its body", (r) => r.writeHead(200).write('{"ok":')],
    [
      "drips for ever",
      (r) => {
        r.writeHead(200)
        const drip = setInterval(() => r.write(" "), 10)
        r.on("close", () => clearInterval(drip))
      },
    ],
  ]
  it.effect.each(slow)(
    "gives up a gateway that %s, at the deadline, and closes the connection",
    function* ([_name, handler]) {
      const server = yield* startGateway(handler)
      const startedAt = performance.now()
      const transport = yield* openTransport(server.url, { requestDeadlineMillis: 150 })
      const error = yield* Effect.flip(transport.request(write))
      assert.deepStrictEqual(error.reason, { _tag: "Timeout", afterMillis: 150 })
      assert.isTrue(error.mayHaveArrived)
      assert.isAtLeast(performance.now() - startedAt, 145)
      assert.isBelow(performance.now() - startedAt, 15_000)
      yield* server.allClosed
      assert.strictEqual(server.arrived.length, 1)
    },
  )

  it.effect("closes the connection of a request that is interrupted, and counts nothing", function* () {
    const metrics = yield* Metrics
    metrics.gatewayRequests.reset()
    const server = yield* startGateway(() => {})
    const transport = yield* openTransport(server.url)
    const arrived = Effect.callback<void>((resume) => {
      server.handler = () => resume(Effect.void)
    })
    const waiting = yield* Effect.forkChild(arrived, { startImmediately: true })
    const fiber = yield* Effect.forkChild(transport.request(ask))
    yield* Fiber.join(waiting)
    yield* Fiber.interrupt(fiber)
    yield* server.allClosed
    assert.deepStrictEqual((yield* Effect.promise(() => metrics.gatewayRequests.get())).values, [])
  })

  it.effect("counts each request by how it ended, and knows whether the gateway is up", function* () {
    const metrics = yield* Metrics
    const value = (metric: { get(): Promise<{ values: ReadonlyArray<{ value: number; labels: object }> }> }) =>
      Effect.map(
        Effect.promise(() => metric.get()),
        ({ values }) => values,
      )
    const server = yield* startGateway(json({ ok: true }))
    const refused = (code: number, message: string) => ({ code, message, details: [{ message }] })
    const steps: ReadonlyArray<readonly [handler: Handler, outcome: string, up: number]> = [
      [json({ ok: true }), "ok", 1],
      [json(refused(5, "no resource"), 404), "ok", 1],
      [json(refused(13, "tx already exists in cache"), 500), "ok", 1],
      [json(refused(3, "bad"), 400), "refused", 1],
      [json(refused(12, "Method Not Allowed"), 501), "refused", 1],
      [json(refused(8, "rate limit"), 429), "rate_limited", 1],
      [json(refused(7, "temporarily banned"), 403), "banned", 1],
      [json("<html>"), "unreadable", 0],
      [json(refused(13, "boom"), 500), "unreadable", 0],
      [() => {}, "timeout", 0],
    ]
    for (const [handler, outcome, up] of steps) {
      metrics.gatewayRequests.reset()
      metrics.gatewayRequestDuration.reset()
      server.handler = handler
      // Of its own: who is banned asks nothing more.
      const transport = yield* openTransport(server.url, {
        requestDeadlineMillis: outcome === "timeout" ? 100 : 30_000,
      })
      yield* Effect.exit(transport.request(ask))
      assert.deepStrictEqual(yield* value(metrics.gatewayRequests), [
        { value: 1, labels: { gateway: "g", operation: "height", outcome } },
      ])
      const durations = yield* value(metrics.gatewayRequestDuration)
      const inf = durations.find(({ labels }) => "le" in labels && labels.le === "+Inf")
      assert.strictEqual(inf?.value, 1)
      const gauge = (yield* value(metrics.gatewayUp)).find(
        ({ labels }) => "gateway" in labels && labels.gateway === "g",
      )
      assert.strictEqual(gauge?.value, up, outcome)
    }
    metrics.gatewayRequests.reset()
    yield* Effect.exit((yield* openTransport(`http://127.0.0.1:${yield* closedPort}`)).request(ask))
    assert.deepInclude((yield* value(metrics.gatewayRequests))[0]!.labels, { outcome: "unreachable" })
    assert.deepInclude((yield* value(metrics.gatewayHeight))[0], { value: 120 })
  })

  it.effect("never shows a header's value, even one that cannot be sent", function* () {
    const secret = "hunter2-hunter2"
    const server = yield* startGateway((_r, _a, socket) => socket.resetAndDestroy())
    for (const value of [secret, `${secret}\nx`]) {
      const transport = yield* openTransport(server.url, { headers: { authorization: Redacted.make(value) } })
      const error = yield* Effect.flip(transport.request(ask))
      assert.notInclude(JSON.stringify(error) + error.message + String(error.stack), secret)
    }
  })

  it.effect("passes a gateway's words on escaped and short", function* () {
    const words = `\r\nlevel=error \u001b[31m{{}} \u202e ${"x".repeat(100_000)}`
    const server = yield* startGateway(json({ code: 3, message: words, details: [] }, 400))
    const { reason } = yield* Effect.flip((yield* openTransport(server.url)).request(ask))
    assert.strictEqual(reason._tag, "Rejected")
    const detail = "detail" in reason ? reason.detail : ""
    assert.strictEqual(detail.length, 256)
    assert.include(detail, "400 \\u{d}\\u{a}level=error \\u{1b}[31m{{}} \\u{202e} xxx")
  })
})
