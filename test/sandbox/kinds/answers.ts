import { once } from "node:events"
import { get, type IncomingMessage } from "node:http"
import { createGunzip, gunzipSync } from "node:zlib"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { FaultKind } from "../../../src/sandbox/Faults.ts"
import * as Test from "../../support/TestClient.ts"
import { arm, rawAnswer } from "../../support/TestFaults.ts"
import type { Seen } from "./Seen.ts"

const path = "/blockchain/height"
const mebibyte = 2 ** 20

const lengthIn = (head: string): number => Number(/content-length: (\d+)/.exec(head)?.[1])

/** The sound answer, and what stands on the wire in its place. */
const broken = Effect.fnUntraced(function* (client: Test.TestClient, kind: FaultKind, bytesMax: number) {
  const sound = (yield* Test.request(client, path)).text
  yield* arm(client, { operation: "height", kind, count: 1 })
  return { sound, ...(yield* rawAnswer(client, path, bytesMax)) }
})

/**
 * Reads the height as JSON, of 16 MiB at most. `fetch` opens a second connection for one that it cut, and leaves it
 * unused: the sandbox would wait four seconds for it.
 */
const readHeight = (client: Test.TestClient) =>
  Effect.tryPromise(async (signal) => {
    const [response] = (await once(get(client.url + path, { agent: false, signal }), "response")) as [IncomingMessage]
    const packed = response.headers["content-encoding"] === "gzip"
    let body = ""
    for await (const chunk of packed ? response.pipe(createGunzip()) : response) {
      body += chunk
      if (body.length > 16 * mebibyte) throw response.destroy(new RangeError("more than 16 MiB"))
    }
    return JSON.parse(body)
  })

/** That a client which knows nothing of it fails, and that the next answer is sound. */
const failsOnce = Effect.fnUntraced(function* (client: Test.TestClient, kind: FaultKind) {
  yield* arm(client, { operation: "height", kind, count: 1 })
  yield* Effect.flip(readHeight(client))
  assert.isDefined((yield* readHeight(client)).height)
})

const html: Seen = {
  says: "is a page of a proxy with status 200",
  see: Effect.fnUntraced(function* (client) {
    yield* arm(client, { operation: "height", kind: "html_body", count: 1 })
    const reply = yield* Test.request(client, path)
    assert.deepStrictEqual([reply.status, reply.headers.get("content-type")], [200, "text/html"])
    assert.match(reply.text, /^<html>.*<\/html>$/)
    assert.isDefined((yield* Test.request(client, path)).json)
  }),
}

const truncated: Seen = {
  says: "is the first half of what it announces",
  see: Effect.fnUntraced(function* (client) {
    const { sound, head, body, ended } = yield* broken(client, "truncated_body", mebibyte)
    assert.deepStrictEqual(
      [lengthIn(head), body.toString(), ended],
      [sound.length, sound.slice(0, Math.floor(sound.length / 2)), true],
    )
    yield* failsOnce(client, "truncated_body")
  }),
}

const mismeasured: Seen = {
  says: "announces ten bytes less than it has",
  see: Effect.fnUntraced(function* (client) {
    const { sound, head, body } = yield* broken(client, "wrong_content_length", mebibyte)
    assert.deepStrictEqual([lengthIn(head), body.toString()], [sound.length - 10, sound])
    yield* arm(client, { operation: "height", kind: "wrong_content_length", count: 1 })
    const cut = yield* Effect.result(Test.request(client, path))
    assert.isTrue(cut._tag === "Failure" || cut.success.json === undefined)
    assert.strictEqual((yield* Test.request(client, path)).status, 200)
  }),
}

const endless: Seen = {
  says: "goes on for as long as somebody reads",
  see: Effect.fnUntraced(function* (client) {
    const { head, body, ended } = yield* broken(client, "endless_body", 16 * mebibyte)
    assert.match(head, /^HTTP\/1\.1 200 [\s\S]*transfer-encoding: chunked/)
    assert.strictEqual(ended, false)
    assert.match(body.subarray(0, 100).toString(), /^10000\r\n +$/)
    yield* failsOnce(client, "endless_body")
  }),
}

const bomb: Seen = {
  says: "is a gigabyte in a mebibyte or so",
  see: Effect.fnUntraced(function* (client) {
    const { head, body } = yield* broken(client, "gzip_bomb", 4 * mebibyte)
    assert.match(head, /content-encoding: gzip/)
    assert.strictEqual(lengthIn(head), body.length)
    const member = body.length / 1_024
    assert.strictEqual(gunzipSync(body.subarray(0, 16 * member)).length, 16 * mebibyte)
    yield* failsOnce(client, "gzip_bomb")
  }),
}

/** A listing of one row a page, and one of all its rows. */
const assets = (first: number, after = "") =>
  `/api/v2/network/parameters?pagination.first=${first}${after === "" ? "" : `&pagination.after=${encodeURIComponent(after)}`}`

const keysOf = (reply: Test.Reply): ReadonlyArray<unknown> =>
  (Test.at(reply, "networkParameters.edges") as ReadonlyArray<{ node: { key: string } }>).map(({ node }) => node.key)

const reorganised: Seen = {
  says: "has its rows in another order, one of them twice and one not at all",
  see: Effect.fnUntraced(function* (client) {
    const sound = keysOf(yield* Test.request(client, assets(10)))
    yield* arm(client, { operation: "parameters", kind: "reorganised_pages", count: 2 })
    const first = keysOf(yield* Test.request(client, assets(10)))
    const second = keysOf(yield* Test.request(client, assets(10)))
    for (const page of [first, second]) {
      assert.strictEqual(page.length, sound.length)
      assert.strictEqual(new Set(page).size, sound.length - 1)
      assert.isTrue(page.every((key) => sound.includes(key)))
      assert.notDeepEqual(
        page,
        sound.filter((key) => page.includes(key)),
      )
    }
    assert.notDeepEqual(first, second)
    assert.deepStrictEqual(keysOf(yield* Test.request(client, assets(10))), sound)
  }),
}

const cyclic: Seen = {
  says: "has a next page for ever, and never comes to the end",
  see: Effect.fnUntraced(function* (client) {
    const sound = keysOf(yield* Test.request(client, assets(100)))
    yield* arm(client, { operation: "parameters", kind: "cursor_cycle" })
    const found = new Set<unknown>()
    let after = ""
    for (let n = 0; n < 3 * sound.length; n++) {
      const page = yield* Test.request(client, assets(1, after))
      assert.strictEqual(Test.at(page, "networkParameters.pageInfo.hasNextPage"), true)
      for (const key of keysOf(page)) found.add(key)
      after = String(Test.at(page, "networkParameters.pageInfo.endCursor"))
    }
    assert.isBelow(found.size, sound.length)
  }),
}

export const answers = {
  html_body: html,
  truncated_body: truncated,
  endless_body: endless,
  wrong_content_length: mismeasured,
  gzip_bomb: bomb,
  reorganised_pages: reorganised,
  cursor_cycle: cyclic,
} satisfies Partial<Record<FaultKind, Seen>>
