import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import { BaseUnits } from "../../domain/Amount.ts"
import { jsonText } from "../../domain/text.ts"
import type { Terms } from "./weakens.ts"

const { String: Text, Int } = Schema
const Share = Schema.Struct({ numerator: Schema.BigInt, denominator: Schema.BigInt })
const Group = Schema.Struct({ name: Text, need: Int, withinMillis: Int, of: Schema.ReadonlyMap(Text, Text) })
const Line = Schema.Struct({
  line: Int,
  from: Schema.ReadonlySet(Text),
  to: Schema.ReadonlySet(Text),
  assetId: Text,
  perTransfer: BaseUnits,
  per24h: BaseUnits,
  transfersPer24h: Int,
  approval: Schema.optional(Schema.Struct({ group: Group, above: BaseUnits })),
})
const Party = Schema.Struct({
  name: Text,
  publicKey: Text.pipe(Schema.brand("PublicKey")),
  signer: Schema.optional(Schema.Union([Schema.Struct({ file: Text }), Schema.Struct({ sandbox: Text })])),
  floor: Schema.ReadonlyMap(Text, BaseUnits),
  transfersKept: Int,
})
const StoredTerms = Schema.Struct({
  chainId: Text,
  mode: Schema.Literals(["observe", "shadow", "live"]),
  maxAgeMillis: Int,
  quorum: Int,
  code: Schema.Array(Text),
  fee: Schema.optional(Schema.Struct({ factor: Share, maxQuantum: Share })),
  assets: Schema.Array(Schema.Struct({ symbol: Text, id: Text, decimals: Int })),
  parties: Schema.Array(Party),
  policy: Schema.Struct({
    maxFee: Share,
    lines: Schema.Array(Line),
    groups: Schema.Array(Group),
    digest: Text,
    hash: Text,
  }),
})

/** Amounts as digits, maps as pairs, sets as lists. */
const Json = Schema.toCodecJson(StoredTerms)
const encode = Schema.encodeSync(Schema.fromJsonString(Json))
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Json))

/** Sets in one order, so that the same terms have the same text. */
const stored = ({ policy, parties, assets, code, fee, ...plain }: Terms): typeof StoredTerms.Type => ({
  ...plain,
  ...(fee === undefined ? {} : { fee }),
  code: [...code].sort(),
  assets: [...assets.values()],
  parties: [...parties.values()].map(({ signer, ...party }) => (signer === undefined ? party : { ...party, signer })),
  policy: {
    ...policy,
    lines: policy.lines.map((line) => ({
      ...line,
      from: new Set([...line.from].sort()),
      to: new Set([...line.to].sort()),
    })),
    groups: policy.groups ?? [],
  },
})

/** The terms as a text that `decodeTerms` reads again, without any other file. */
export const encodeTerms = (terms: Terms): string => encode(stored(terms))

/** Reads stored terms, with the names of that time; undefined if the text is none. */
export const decodeTerms = (text: string): Terms | undefined =>
  Option.getOrUndefined(
    Option.map(decode(text), ({ policy, parties, assets, ...plain }) => ({
      ...plain,
      policy: {
        ...policy,
        names: {
          parties: new Map(parties.map(({ publicKey, name }) => [publicKey, name])),
          assets: new Map(assets.map(({ id, symbol, decimals }) => [id, { symbol, decimals }])),
        },
      },
      parties: new Map(parties.map((party) => [party.name, { ...party, signer: party.signer }])),
      assets: new Map(assets.map((asset) => [asset.symbol, asset])),
    })),
  )

const byText = (rows: ReadonlyArray<ReadonlyArray<unknown>>): ReadonlyArray<string> =>
  rows.map((row) => jsonText(row)).sort()

/**
 * SHA-256 over all that bounds the money, in keys and base units: what operators approve, and what waits for its time.
 * The same terms in other words, under other names of parties or in another file have the same hash.
 */
export const termsHash = (terms: Terms): string => {
  const { policy, parties, assets, chainId, mode, maxAgeMillis, quorum, code, fee } = stored(terms)
  const lines = policy.lines.map(({ line: _, from, to, approval, ...line }) => ({
    from: [...from],
    to: [...to],
    ...line,
    ...(approval === undefined ? {} : { approval: [approval.group.name, approval.above] }),
  }))
  const groups = policy.groups.map(({ name, need, withinMillis, of }) => [name, need, withinMillis, ...byText([...of])])
  const keeps = parties
    .filter(({ signer, floor, transfersKept }) => signer !== undefined || floor.size > 0 || transfersKept > 0)
    .map(({ publicKey, floor, transfersKept }) => [
      publicKey,
      transfersKept,
      byText([...floor].filter(([, units]) => units !== 0n)),
    ])
  const facts = [
    "terms, version 1",
    chainId,
    mode,
    maxAgeMillis,
    quorum,
    code,
    byText(assets.map(({ symbol, id, decimals }) => [symbol, id, decimals])),
    byText(keeps),
    policy.maxFee.numerator,
    policy.maxFee.denominator,
    lines.map((line) => jsonText(Object.entries(line))),
    byText(groups),
    ...(fee === undefined ? [] : [fee]),
  ]
  return createHash("sha256").update(jsonText(facts)).digest("hex")
}
