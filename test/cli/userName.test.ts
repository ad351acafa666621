import { userInfo } from "node:os"
import { assert, it } from "vitest"
import { userName } from "../../src/cli/common/setup.ts"

const named = () => {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

it("the user name falls back to the number of the user", ({ skip }) => {
  const nameless = userName(() => {
    throw new Error("uv_os_get_passwd returned ENOENT (no such file or directory)")
  })
  assert.strictEqual(nameless, `uid${process.getuid?.()}`)
  const known = named()
  skip(known === undefined, "needs a user with a name")
  assert.strictEqual(userName(), known)
})
