import { root } from "../support/Cofferer.ts"
import { edited } from "./edited.ts"
import type { Edit } from "./planted.ts"

/** Puts mistakes into the product as tests load it: a plugin of the test runner. */
export const planter = (edits: ReadonlyArray<Edit>) => ({
  name: "planted",
  enforce: "pre" as const,
  transform: (code: string, id: string): string | undefined => {
    const mine = edits.filter(({ file }) => id.split("?")[0] === `${root}src/${file}`)
    return mine.length === 0 ? undefined : mine.reduce(edited, code)
  },
})
