import { readdirSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import { recordedAnswers } from "../support/Recordings.ts"
import { decoders, parts } from "./decoders.ts"
import { boundaries, integersOf, routeOf, withBoundary } from "./lies.ts"

const folder = new URL("../../src/gateway/schema/", import.meta.url)

const exported = async (): Promise<ReadonlyArray<string>> => {
  const files = [...readdirSync(folder), "../GatewayWriter.ts"]
  const modules = await Promise.all(files.map((file) => import(new URL(file, folder).href)))
  return modules.flatMap((module: object) =>
    Object.entries(module).flatMap(([name, value]) => (Schema.isSchema(value) ? [name] : [])),
  )
}

/** Kept as digits in a text column of 78 places, or compared and never kept. */
const isText = (key: string): boolean => /^(balance|amount|quantity|quantum|fees|nonce)$/.test(key)

/** Numbers of a decoded value that would not fit their columns. */
const misfits = (value: unknown, key = ""): ReadonlyArray<string> => {
  if (typeof value === "bigint") {
    const fits = isText(key)
      ? value >= 0n && value < 10n ** 78n
      : value >= -(2n ** 63n) && value < 2n ** 63n - 2n ** 57n
    return fits ? [] : [`${key}: ${value}`]
  }
  if (typeof value === "number") return Number.isSafeInteger(value) ? [] : [`${key}: ${value}`]
  if (typeof value !== "object" || value === null) return []
  // Nothing reads the height in the answer to a submission.
  if ("txHash" in value && value.txHash !== undefined) return misfits({ ...value, height: 0n, txHash: undefined }, key)
  return Object.entries(value).flatMap(([name, one]) => misfits(one, /^\d+$/.test(name) ? key : name))
}

const answers = recordedAnswers()

/** Recorded answers of a route, or refusals; one for each set of integers. */
const samplesOf = (route: RegExp | undefined): ReadonlyArray<unknown> => {
  const seen = new Set<string>()
  return answers.flatMap(({ method, path, status, body }) => {
    const isMeant = route === undefined ? status >= 400 : route.test(routeOf(method, path.split("?")[0]!))
    if (!isMeant || status >= 400 !== (route === undefined)) return []
    const places = [...integersOf(body)].join()
    if (seen.has(places) || JSON.stringify(body).length > 200_000) return []
    seen.add(places)
    return [body]
  })
}

describe("decoders of a gateway's answers", () => {
  it("each have an entry in decoders.ts", async () => {
    const names = await exported()
    assert.deepStrictEqual(
      names.filter((name) => !(name in decoders) && !parts.has(name)),
      [],
      "add it to decoders.ts",
    )
    assert.deepStrictEqual(
      [...Object.keys(decoders), ...parts].filter((name) => !names.includes(name)),
      [],
    )
  })

  it.each(Object.keys(decoders))("refuse integers that do not fit their column: %s", (name) => {
    const { schema, route } = decoders[name]!
    const decode = Schema.decodeUnknownExit(schema)
    let refused = 0
    let read = 0
    for (const sample of samplesOf(route)) {
      const good = decode(sample)
      assert.isTrue(Exit.isSuccess(good), JSON.stringify(sample).slice(0, 300))
      for (const keys of integersOf(sample)) {
        for (const value of boundaries) {
          for (const form of ["as it was", "text", "number"] as const) {
            const changed = decode(JSON.parse(withBoundary(sample, keys, value, form)))
            if (Exit.isFailure(changed)) refused++
            else if (!isDeepStrictEqual(changed, good)) {
              read++
              assert.deepStrictEqual(misfits(changed.value), [], `${keys} = ${value} ${form}`)
            }
          }
        }
      }
    }
    assert.isAbove(refused + read, 0, "an answer was recorded, and integers are read of it")
  })
})
