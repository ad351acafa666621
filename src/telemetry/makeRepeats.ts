import { hasElapsed } from "../domain/hasElapsed.ts"

const quietMillis = 60_000
/** Others choose some of the words: what is remembered of them is bounded. */
const rememberedMax = 200

/**
 * Whether a message is written, and how often it came unwritten before: the same one once a minute. An outage says the
 * same each second, which tells nothing and hides what does.
 */
export const makeRepeats = () => {
  const known = new Map<string, { at: number; unwritten: number }>()
  return (message: string, fields: Readonly<Record<string, unknown>>, now: number): number | undefined => {
    const key = JSON.stringify([message, fields])
    const last = known.get(key)
    if (last !== undefined && !hasElapsed(last.at, now, quietMillis)) {
      last.unwritten++
      return undefined
    }
    known.delete(key)
    known.set(key, { at: now, unwritten: 0 })
    for (const oldest of known.keys()) {
      if (known.size <= rememberedMax) break
      known.delete(oldest)
    }
    return last?.unwritten ?? 0
  }
}
