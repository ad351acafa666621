import { closest, distance } from "fastest-levenshtein"

/** The known name that was most likely meant; undefined where none is near. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (known.length === 0 || name === "") return undefined
  const near = closest(
    name.toLowerCase(),
    known.map((each) => each.toLowerCase()),
  )
  const found = known.find((each) => each.toLowerCase() === near)
  return distance(name.toLowerCase(), near) <= Math.max(2, name.length / 2) ? found : undefined
}

const listedMax = 20

/** A remedy for a name that nothing has: the nearest one, or all there are. */
export const nameRemedy = (name: string, known: ReadonlyArray<string>, none: string): string => {
  if (known.length === 0) return none
  const near = nearest(name, known)
  if (near !== undefined) return `did you mean "${near}"?`
  const more = known.length > listedMax ? ` and ${known.length - listedMax} more` : ""
  return `known here: ${known.slice(0, listedMax).join(", ")}${more}`
}
