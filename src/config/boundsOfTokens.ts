import { Lexer, Parser } from "yaml"
import { type Beyond, flatter } from "./boundsOfText.ts"

/** Shorter texts are read at once, whatever they hold. */
const charactersMin = 20_000
/** Words and marks, spaces among them: what twenty thousand lines of a treasury hold. */
const lexemesMax = 500_000
/** The composer takes some microseconds and a kilobyte for each fault; nobody reads so many. */
const faultsMax = 200

/** The first bound that the marks of a text exceed, found before anything is made of them. */
export const boundsOfTokens = (text: string): Beyond | undefined => {
  if (text.length < charactersMin) return undefined
  const parser = new Parser()
  let lexemes = 0
  let faults = 0
  let first: number | undefined
  for (const lexeme of new Lexer().lex(text)) {
    if (++lexemes > lexemesMax) {
      return { line: 1, column: 1, message: `it has more than ${lexemesMax} words and marks`, remedy: flatter }
    }
    for (const token of parser.next(lexeme)) {
      if (token.type !== "error") continue
      first ??= token.offset
      if (++faults <= faultsMax) continue
      const before = text.slice(0, first).split("\n")
      const message = `more than ${faultsMax} faults, of which the first is here`
      return { line: before.length, column: before.at(-1)!.length + 1, message, remedy: "write YAML" }
    }
  }
  return undefined
}
