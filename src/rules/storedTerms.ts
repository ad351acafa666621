import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import type { BaseUnits } from "../domain/Amount.ts"
import type { ApprovalGroup } from "../domain/Approval.ts"
import type { PublicKey } from "../domain/Hex.ts"
import type { Policy, PolicyLine, PolicyNames } from "./Policy.ts"
import type { Share as Fraction, Party } from "./Rule.ts"
import type { Terms } from "./weakens.ts"

const Digits = Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]{0,77})$/, { expected: "digits" }))
const Pairs = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))
const Share = Schema.Struct({ numerator: Digits, denominator: Digits })
const Group = Schema.Struct({ name: Schema.String, need: Schema.Int, withinMillis: Schema.Int, of: Pairs })
const Line = Schema.Struct({
  line: Schema.Int,
  from: Schema.Array(Schema.String),
  to: Schema.Array(Schema.String),
  assetId: Schema.String,
  perTransfer: Digits,
  per24h: Digits,
  transfersPer24h: Schema.Int,
  approval: Schema.optional(Schema.Struct({ group: Group, above: Digits })),
})
const StoredParty = Schema.Struct({
  name: Schema.String,
  publicKey: Schema.String,
  signer: Schema.optional(
    Schema.Union([Schema.Struct({ file: Schema.String }), Schema.Struct({ sandbox: Schema.String })]),
  ),
  floor: Pairs,
  transfersKept: Schema.Int,
})
const StoredTerms = Schema.Struct({
  chainId: Schema.String,
  mode: Schema.Literals(["observe", "shadow", "live"]),
  maxAgeMillis: Schema.Int,
  quorum: Schema.Int,
  code: Schema.Array(Schema.String),
  fee: Schema.optional(Schema.Struct({ factor: Share, maxQuantum: Share })),
  assets: Schema.Array(Schema.Struct({ symbol: Schema.String, id: Schema.String, decimals: Schema.Int })),
  parties: Schema.Array(StoredParty),
  policy: Schema.Struct({
    maxFee: Share,
    lines: Schema.Array(Line),
    groups: Schema.Array(Group),
    digest: Schema.String,
    hash: Schema.String,
  }),
})
type StoredTerms = typeof StoredTerms.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(StoredTerms))

const storedGroup = ({ name, need, withinMillis, of }: ApprovalGroup): typeof Group.Type => ({
  name,
  need,
  withinMillis,
  of: [...of],
})

const storedLine = (line: PolicyLine): typeof Line.Type => ({
  line: line.line,
  from: [...line.from].sort(),
  to: [...line.to].sort(),
  assetId: line.assetId,
  perTransfer: String(line.perTransfer),
  per24h: String(line.per24h),
  transfersPer24h: line.transfersPer24h,
  ...(line.approval === undefined
    ? {}
    : { approval: { group: storedGroup(line.approval.group), above: String(line.approval.above) } }),
})

const storedParty = ({ name, publicKey, signer, floor, transfersKept }: Party): typeof StoredParty.Type => ({
  name,
  publicKey,
  ...(signer === undefined ? {} : { signer }),
  floor: [...floor].map(([id, units]) => [id, String(units)] as const),
  transfersKept,
})

const storedShare = ({ numerator, denominator }: Fraction): typeof Share.Type => ({
  numerator: String(numerator),
  denominator: String(denominator),
})

const shareOf = ({ numerator, denominator }: typeof Share.Type): Fraction => ({
  numerator: BigInt(numerator),
  denominator: BigInt(denominator),
})

const stored = ({ policy, parties, assets, chainId, mode, maxAgeMillis, quorum, code, fee }: Terms): StoredTerms => ({
  chainId,
  mode,
  maxAgeMillis,
  quorum,
  code: [...code].sort(),
  ...(fee === undefined ? {} : { fee: { factor: storedShare(fee.factor), maxQuantum: storedShare(fee.maxQuantum) } }),
  assets: [...assets.values()].map(({ symbol, id, decimals }) => ({ symbol, id, decimals })),
  parties: [...parties.values()].map(storedParty),
  policy: {
    maxFee: storedShare(policy.maxFee),
    lines: policy.lines.map(storedLine),
    groups: (policy.groups ?? []).map(storedGroup),
    digest: policy.digest,
    hash: policy.hash,
  },
})

/** The terms as a text that `decodeTerms` reads again: who pays by them later needs no other file. */
export const encodeTerms = (terms: Terms): string => JSON.stringify(stored(terms))

const groupOf = ({ of, ...group }: typeof Group.Type): ApprovalGroup => ({ ...group, of: new Map(of) })

const lineOf = ({ approval, ...line }: typeof Line.Type): PolicyLine => ({
  ...line,
  from: new Set(line.from),
  to: new Set(line.to),
  perTransfer: BigInt(line.perTransfer) as BaseUnits,
  per24h: BigInt(line.per24h) as BaseUnits,
  ...(approval === undefined
    ? {}
    : { approval: { group: groupOf(approval.group), above: BigInt(approval.above) as BaseUnits } }),
})

const policyOf = ({ policy, parties, assets }: Pick<StoredTerms, "policy" | "parties" | "assets">): Policy => {
  const { maxFee, lines, groups, digest, hash } = policy
  return {
    names: namesOf(parties, assets),
    maxFee: shareOf(maxFee),
    lines: lines.map(lineOf),
    groups: groups.map(groupOf),
    digest,
    hash,
  }
}

/** As the file named them: what people approve under stored terms names nobody otherwise than before. */
const namesOf = (parties: StoredTerms["parties"], assets: StoredTerms["assets"]): PolicyNames => ({
  parties: new Map(parties.map(({ publicKey, name }) => [publicKey, name])),
  assets: new Map(assets.map(({ id, symbol, decimals }) => [id, { symbol, decimals }])),
})

const partyOf = ({ name, publicKey, signer, floor, transfersKept }: typeof StoredParty.Type): Party => ({
  name,
  publicKey: publicKey as PublicKey,
  signer,
  floor: new Map(floor.map(([id, units]) => [id, BigInt(units) as BaseUnits])),
  transfersKept,
})

/** Terms that were stored; undefined where the text is none. */
export const decodeTerms = (text: string): Terms | undefined =>
  Option.getOrUndefined(
    Option.map(decode(text), ({ policy, parties, assets, fee, ...plain }) => ({
      ...plain,
      ...(fee === undefined ? {} : { fee: { factor: shareOf(fee.factor), maxQuantum: shareOf(fee.maxQuantum) } }),
      policy: policyOf({ policy, parties, assets }),
      parties: new Map(parties.map((party) => [party.name, partyOf(party)])),
      assets: new Map(assets.map((asset) => [asset.symbol, asset])),
    })),
  )

const byText = (rows: ReadonlyArray<ReadonlyArray<unknown>>): ReadonlyArray<string> =>
  rows.map((row) => JSON.stringify(row)).sort()

/**
 * SHA-256 over all that bounds the money, in keys and base units: what operators approve, and what waits for its time.
 * The same terms in other words, under other names of parties or in another file have the same hash.
 */
export const termsHash = (terms: Terms): string => {
  const { policy, parties, assets, ...plain } = stored(terms)
  const lines = policy.lines.map(({ line: _, approval, ...line }) => ({
    ...line,
    ...(approval === undefined ? {} : { approval: [approval.group.name, approval.above] }),
  }))
  const groups = policy.groups.map(({ name, need, withinMillis, of }) => [name, need, withinMillis, ...byText(of)])
  const keeps = parties
    .filter(({ signer, floor, transfersKept }) => signer !== undefined || floor.length > 0 || transfersKept > 0)
    .map(({ publicKey, floor, transfersKept }) => [
      publicKey,
      transfersKept,
      byText(floor.filter(([, units]) => units !== "0")),
    ])
  const facts = [
    "terms, version 1",
    plain.chainId,
    plain.mode,
    plain.maxAgeMillis,
    plain.quorum,
    plain.code,
    byText(assets.map(({ symbol, id, decimals }) => [symbol, id, decimals])),
    byText(keeps),
    policy.maxFee.numerator,
    policy.maxFee.denominator,
    lines.map((line) => JSON.stringify(Object.entries(line))),
    byText(groups),
    ...(plain.fee === undefined ? [] : [plain.fee]),
  ]
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex")
}
