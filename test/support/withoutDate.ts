/** An answer of a gateway without its own time, which differs from run to run. */
export const withoutDate = (answer: unknown): unknown => {
  if (typeof answer !== "object" || answer === null || !("date" in answer)) return answer
  const { date: _, ...rest } = answer
  return rest
}
