import type { Reporter, TestModule } from "vitest/node"

/** Closes the run with "N passed, N failed, N skipped" alone on a line, whatever the terminal. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>): void {
    let passed = 0
    let failed = errors.length
    let skipped = 0
    const notes = new Map<string, number>()
    for (const module of modules) {
      if (module.state() === "failed" && module.children.size === 0) failed++
      for (const test of module.children.allTests()) {
        const result = test.result()
        const { state } = result
        if (state === "passed") passed++
        else if (state === "failed") failed++
        else {
          skipped++
          const note = result.state === "skipped" ? result.note : undefined
          if (note !== undefined) notes.set(note, (notes.get(note) ?? 0) + 1)
        }
      }
    }
    for (const [note, count] of notes) console.log(`${count} skipped: ${note}`)
    console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
  }
}
