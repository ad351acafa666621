import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { attemptMoves } from "../../src/domain/Attempt.ts"
import { intentMoves } from "../../src/domain/Intent.ts"

const drawn = (name: string) =>
  readFileSync(new URL(`../../src/domain/${name}.md`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.includes("-->"))
    .map((line) => line.trim())
    .sort()

const coded = (moves: Readonly<Record<string, ReadonlyArray<string>>>) =>
  Object.entries(moves)
    .flatMap(([from, tos]) => tos.map((to) => `${from} --> ${to}`))
    .sort()

describe("state diagrams", () => {
  it("the drawing of an intent's life is what the program allows", () => {
    assert.deepStrictEqual(drawn("intent"), coded(intentMoves))
  })
  it("the drawing of an attempt's life is what the program allows", () => {
    assert.deepStrictEqual(drawn("attempt"), coded(attemptMoves))
  })
})
