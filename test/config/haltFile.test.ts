import { lstatSync, mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { readHaltFile, removeHaltFile } from "../../src/config/files.ts"
import { it } from "../support/it.ts"
import { tempDir } from "../support/tempDir.ts"

describe("the HALT file", () => {
  const links = { "to nothing": "nowhere", "to itself": "HALT" }
  it.effect.each(Object.entries(links))("halts as a link %s, until a resume removes it", function* ([name, to]) {
    const dir = join(tempDir("halt"), name)
    mkdirSync(dir)
    symlinkSync(to, join(dir, "HALT"))
    assert.strictEqual(yield* readHaltFile(dir), "it cannot be read")
    assert.isTrue(yield* removeHaltFile(dir))
    assert.isUndefined(lstatSync(join(dir, "HALT"), { throwIfNoEntry: false }))
    assert.isUndefined(yield* readHaltFile(dir))
    assert.isFalse(yield* removeHaltFile(dir))
  })
})
