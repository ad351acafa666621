import unhomoglyph from "unhomoglyph"
import { visible } from "./text.ts"

const drawnAsNothing = /[\p{White_Space}\p{M}]/gu

/**
 * Reduces a text to its look: the skeleton of UTS 39, without marks, spaces, invisible characters and compatibility
 * forms. Two texts with the same skeleton look alike; a skeleton is not for people to read.
 */
const skeletonOf = (text: string): string => {
  const seen = [...text.normalize("NFKD")].filter((char) => visible(char) === char).join("")
  return unhomoglyph(seen).normalize("NFD").replace(drawnAsNothing, "")
}

/** In which letters a text may be read: "usdt" is taken for "USDT", and "l" for "I", which is no case of it. */
const forms = [(text: string) => text, (text: string) => text.toUpperCase(), (text: string) => text.toLowerCase()]

/** Skeletons of a text; two texts look alike where one of them is the same. None: the text shows nothing. */
const skeletonsOf = (text: string): ReadonlyArray<string> =>
  forms.flatMap((form, i) => {
    const skeleton = skeletonOf(form(text))
    return skeleton === "" ? [] : [`${i}${skeleton}`]
  })

/** True if a person can confuse the two texts. Equal texts look alike. */
export const isLookAlike = (a: string, b: string): boolean => {
  if (a === b) return true
  const others = skeletonsOf(b)
  return skeletonsOf(a).some((skeleton) => others.includes(skeleton))
}
