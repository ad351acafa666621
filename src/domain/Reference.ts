/** What a signed command says of its origin: the installation, and the journal's head at its signature. */
export interface Reference {
  /** 8 hex characters. */
  readonly installation: string
  readonly seq: number
  /** The first 16 hex characters of the head's hash. */
  readonly hash: string
}

const hashLength = 16

/** "c1.<installation>.<sequence>.<journal head>": the ledger itself witnesses our journal. At most 100 bytes. */
export const referenceText = (installation: string, head: { readonly seq: number; readonly hash: string }): string =>
  `c1.${installation}.${head.seq.toString(36)}.${head.hash.slice(0, hashLength)}`

/** What a reference says; undefined for one of another form. An operator's own text may stand behind it. */
export const readReference = (text: string): Reference | undefined => {
  const parts = /^c1\.([0-9a-f]{8})\.([0-9a-z]{1,11})\.([0-9a-f]{16})/.exec(text)
  return parts === null ? undefined : { installation: parts[1]!, seq: Number.parseInt(parts[2]!, 36), hash: parts[3]! }
}
