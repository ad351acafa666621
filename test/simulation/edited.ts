import type { Edit } from "./planted.ts"

/** The source with an edit made. One that does not apply exactly once is a mistake that was never made. */
export const edited = (source: string, { file, at, source: before, instead }: Edit): string => {
  if (at !== undefined) {
    if (!source.startsWith(before, at)) throw new Error(`${file} holds something else at ${at} than ${before}`)
    return source.slice(0, at) + instead + source.slice(at + before.length)
  }
  const parts = source.split(before)
  if (parts.length !== 2) throw new Error(`${file} holds ${parts.length - 1} times, not once: ${before.trim()}`)
  return parts.join(instead)
}
