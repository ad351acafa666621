/** A word as a shell reads it: quoted where anything in it would mean more than itself. */
export const shellWord = (word: string): string =>
  /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
