/** Reads a stored text, and keeps what the last one was read as. No text, and an empty one, are nothing. */
export const lastly = <A>(read: (text: string) => A | undefined): ((text: string | undefined) => A | undefined) => {
  let last: { readonly text: string; readonly value: A | undefined } | undefined
  return (text) => {
    if (text === undefined || text === "") return undefined
    if (last?.text !== text) last = { text, value: read(text) }
    return last.value
  }
}
