import { registerHooks } from "node:module"
import { workerData } from "node:worker_threads"
import { edited } from "./edited.ts"
import type { Edit } from "./planted.ts"

/**
 * Preloaded by a worker: puts the edits that it was given in place of the product's source as it is loaded. One that
 * does not apply exactly once ends the worker, so that no mistake is reported as caught that was never made.
 */
const edits = (workerData as { readonly edits?: ReadonlyArray<Edit> } | null)?.edits ?? []
const sourceRoot = new URL("../../src/", import.meta.url).href

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context)
    const mine = edits.filter(({ file }) => url === sourceRoot + file)
    if (mine.length === 0) return loaded
    const source = String(loaded.source instanceof Uint8Array ? Buffer.from(loaded.source) : loaded.source)
    return { ...loaded, source: mine.reduce(edited, source) }
  },
})
