import { registerHooks } from "node:module"

/** Loaded before the daemon, it takes one promise away: a commit no longer waits for the disk. */
const file = new URL("../../src/store/database/NodeSqlite.ts", import.meta.url).href
const sound = "PRAGMA synchronous = FULL"
const weak = "PRAGMA synchronous = NORMAL"

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context)
    if (url !== file) return loaded
    const source = String(loaded.source instanceof Uint8Array ? Buffer.from(loaded.source) : loaded.source)
    const pieces = source.split(sound)
    if (pieces.length !== 2) throw new Error(`${file} holds "${sound}" ${pieces.length - 1} times, not once`)
    return { ...loaded, source: pieces.join(weak) }
  },
})
