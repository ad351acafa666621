/** Origin of a signed transfer: the installation, an entry of its journal, and the payment. */
export interface Reference {
  /** 8 hex characters. */
  readonly installation: string
  readonly seq: number
  /** The hash of its attempt's permit, the entry `seq`: 64 hex characters. */
  readonly hash: string
  /** 16 hex characters that stand for the payment, whichever store signs it: `tag` of signer/Signer.ts. */
  readonly tag: string
}

/**
 * "c3.<installation>.<sequence>.<hash>.<tag>": the ledger itself witnesses our journal, and remembers what was paid. 84
 * bytes at most, of 100.
 */
export const referenceText = ({ installation, seq, hash, tag }: Reference): string =>
  `c3.${installation}.${seq.toString(36)}.${Buffer.from(hash, "hex").toString("base64url")}.${tag}`

const form = /^c3\.([0-9a-f]{8})\.([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})\.([0-9a-f]{16})/

/** Parses a reference; undefined if it has another form. An operator's own text may follow it. */
export const readReference = (text: string): Reference | undefined => {
  const [, installation, seq, hash, tag] = form.exec(text) ?? []
  if (installation === undefined || seq === undefined || hash === undefined || tag === undefined) return undefined
  return {
    installation,
    seq: Number.parseInt(seq, 36),
    hash: Buffer.from(hash, "base64url").toString("hex"),
    tag,
  }
}
