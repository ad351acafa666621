import { userInfo } from "node:os"
import { assert, it } from "vitest"
import { userName } from "../../src/cli/userName.ts"

it("names who runs this, and by its number a user of whom the system knows no name, as in the image", () => {
  assert.strictEqual(userName(), userInfo().username)
  const nameless = userName(() => {
    throw new Error("uv_os_get_passwd returned ENOENT (no such file or directory)")
  })
  assert.strictEqual(nameless, `uid${process.getuid?.()}`)
})
