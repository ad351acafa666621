/** Whether a condition holds; undefined where that is not known. */
export type Truth = boolean | undefined

/** False where one is false, whatever is not known. */
export const allOf = (truths: ReadonlyArray<Truth>): Truth =>
  truths.includes(false) ? false : truths.includes(undefined) ? undefined : true

/** True where one is true, whatever is not known. */
export const anyOf = (truths: ReadonlyArray<Truth>): Truth =>
  truths.includes(true) ? true : truths.includes(undefined) ? undefined : false

export const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)
