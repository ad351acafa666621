/** What a signed command says of its origin: the installation, and an entry of its journal. */
export interface Reference {
  /** 2: it names its attempt's permit by all of its hash. 1, of earlier releases: the journal's head, by 64 bits. */
  readonly version: 1 | 2
  /** 8 hex characters. */
  readonly installation: string
  readonly seq: number
  /** The entry's hash: 64 hex characters, of version 1 the first 16. */
  readonly hash: string
}

/** "c2.<installation>.<sequence>.<hash>": the ledger itself witnesses our journal. 88 bytes at most, of 100. */
export const referenceText = (installation: string, entry: { readonly seq: number; readonly hash: string }): string =>
  `c2.${installation}.${entry.seq.toString(36)}.${entry.hash}`

const form =
  /^c(?:1\.([0-9a-f]{8})\.([0-9a-z]{1,11})\.([0-9a-f]{16})|2\.([0-9a-f]{8})\.([0-9a-z]{1,11})\.([0-9a-f]{64}))/

/** What a reference says; undefined for one of another form. An operator's own text may stand behind it. */
export const readReference = (text: string): Reference | undefined => {
  const parts = form.exec(text)
  if (parts === null) return undefined
  const version = parts[1] === undefined ? 2 : 1
  const [installation, seq, hash] = version === 1 ? parts.slice(1) : parts.slice(4)
  return { version, installation: installation!, seq: Number.parseInt(seq!, 36), hash: hash! }
}
