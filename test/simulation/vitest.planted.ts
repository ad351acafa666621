import { root } from "../support/Cofferer.ts"
import { guards } from "./guards.ts"

/** Puts one mistake of `guards.ts`, named by PLANTED, into the product while one test file runs. */
const one = guards.find(({ name }) => name === process.env["PLANTED"])
if (one === undefined) throw new Error(`PLANTED names no mistake: ${process.env["PLANTED"]}`)

const plant = (code: string, id: string): string | undefined => {
  const mine = one.edits.filter(({ file }) => id.split("?")[0] === `${root}src/${file}`)
  if (mine.length === 0) return undefined
  return mine.reduce((source, edit) => {
    const parts = source.split(edit.source)
    if (parts.length !== 2) throw new Error(`${edit.file} holds ${parts.length - 1} times, not once: ${edit.source}`)
    return parts.join(edit.instead)
  }, code)
}

export default {
  root,
  plugins: [{ name: "planted", enforce: "pre" as const, transform: plant }],
  // What was transformed for another mistake, or for none, must not be taken for this one.
  test: { fsModuleCache: false, include: [one.test], testNamePattern: one.title, maxWorkers: 1, testTimeout: 300_000 },
}
