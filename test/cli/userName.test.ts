import { assert, it, vi } from "vitest"
import { userName } from "../../src/cli/userName.ts"

const { entry } = vi.hoisted(() => ({ entry: { lacks: false } }))

vi.mock("node:os", async (original) => {
  const os = await original<typeof import("node:os")>()
  return {
    ...os,
    userInfo: () => {
      if (entry.lacks) throw new Error("uv_os_get_passwd returned ENOENT")
      return { ...os.userInfo(), username: "ana" }
    },
  }
})

it("names who runs this, and by its number a user of whom the system knows no name, as in the image", () => {
  assert.strictEqual(userName(), "ana")
  entry.lacks = true
  assert.match(userName(), /^uid\d+$/)
})
