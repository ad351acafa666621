/** "1 rule", "2 rules": a count with its word. */
export const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`
