import type { BaseUnits } from "../../domain/Amount.ts"
import type { ExternalAddress, PublicKey } from "../../domain/Hex.ts"
import { shellWord } from "../../domain/text.ts"
import type { External, Party, PinnedAsset, RuleAccount } from "../../rules/Account.ts"
import { addressOf } from "../../tx/Address.ts"
import type { TreasuryFile } from "../schema/TreasuryFile.ts"
import { nameRemedy, nearest } from "../yaml/decodeAll.ts"
import { needFile, type Reporter } from "../yaml/Reporter.ts"

export type Path = ReadonlyArray<PropertyKey>
export type Assets = ReadonlyMap<string, PinnedAsset>
export type Parties = ReadonlyMap<string, Party>
export type Addresses = ReadonlyMap<string, External>

export const resolveAssets = (raw: TreasuryFile, report: Reporter): Assets => {
  const ids = new Map<string, string>()
  return new Map(
    Object.entries(raw.assets ?? {}).map(([symbol, { id, decimals }]) => {
      const twin = ids.get(id)
      if (twin !== undefined) {
        report.add(["assets", symbol, "id"], `the same id as asset "${twin}"`, "give each asset one name")
      }
      ids.set(id, symbol)
      return [symbol, { symbol, id, decimals: Math.min(Number(decimals), 77) }]
    }),
  )
}

export const resolveParties = (raw: TreasuryFile, assets: Assets, report: Reporter): Parties => {
  const keys = new Map<string, string>()
  return new Map(
    Object.entries(raw.parties ?? {}).map(([name, party]) => {
      const path = ["parties", name]
      const twin = keys.get(party.publicKey)
      if (twin !== undefined) {
        report.add([...path, "publicKey"], `the same key as party "${twin}"`, "give each key one name")
      }
      keys.set(party.publicKey, name)
      const signer = party.signer
      const file = signer?.file === undefined ? undefined : report.path(signer.file, [...path, "signer", "file"])
      if (file !== undefined && raw.mode === "live") {
        const remedy = `put the key there, or make one: cofferer keys new ${shellWord(file)}`
        needFile(file, [...path, "signer", "file"], report, remedy)
      }
      return [
        name,
        {
          name,
          publicKey: party.publicKey as PublicKey,
          signer:
            file !== undefined ? { file } : signer?.sandbox === undefined ? undefined : { sandbox: signer.sandbox },
          floor: amountsByAsset(party.floor, [...path, "floor"], assets, report),
          transfersKept: Number(party.transfersKept ?? "0"),
        },
      ]
    }),
  )
}

/** Addresses outside of the network. A mistyped one is empty, so that its uses are not reported too. */
export const addressesOf = (raw: TreasuryFile): Addresses =>
  new Map(
    Object.entries(raw.addresses ?? {}).map(([name, text]) => [
      name,
      { name, address: addressOf(text) ?? ("" as ExternalAddress) },
    ]),
  )

/** Policy lines name addresses beside parties, so no two of them may share a name. */
export const checkAddresses = (raw: TreasuryFile, report: Reporter): void => {
  const addresses = addressesOf(raw)
  for (const [name, text] of Object.entries(raw.addresses ?? {})) {
    const path = ["addresses", name]
    if (raw.parties?.[name] !== undefined) {
      report.add(path, `"${name}" is a party already`, "an address is never a party: give it another name")
    }
    const own = addressOf(text)
    if (own === undefined) {
      report.add(
        path,
        `${text} is mistyped: its checksum, the capital letters, is wrong`,
        "copy it again from its wallet",
      )
      continue
    }
    const twin = [...addresses.values()].find(({ address }) => address === own)
    if (twin !== undefined && twin.name !== name) {
      report.add(path, `the same address as "${twin.name}"`, "give each address one name")
    }
  }
}

export const externalOf = (
  name: string,
  path: Path,
  { addresses, parties }: { readonly addresses: Addresses; readonly parties: Parties },
  report: Reporter,
): External | undefined => {
  const external = addresses.get(name)
  if (external !== undefined) return external
  const isParty = parties.has(name)
  const message = isParty
    ? `"${name}" is a party, not an address outside of the network`
    : `"${name}" is not an address`
  const add = 'add it under addresses, such as { coldvault: "0x…" }'
  report.add(path, message, isParty ? "use sweep, or name an address" : nameRemedy(name, [...addresses.keys()], add))
  return undefined
}

export const amountsByAsset = (
  raw: Readonly<Record<string, string>> | undefined,
  path: Path,
  assets: Assets,
  report: Reporter,
): ReadonlyMap<string, BaseUnits> =>
  new Map(
    Object.entries(raw ?? {}).flatMap(([symbol, text]) => {
      const asset = assetOf(symbol, [...path, symbol], assets, report)
      return asset === undefined ? [] : [[asset.id, report.amount([...path, symbol], text, asset)] as const]
    }),
  )

export const assetOf = (symbol: string, path: Path, assets: Assets, report: Reporter): PinnedAsset | undefined => {
  const asset = assets.get(symbol)
  if (asset === undefined) {
    const add = `add ${symbol}: { id, decimals } under assets`
    const near = nearest(symbol, [...assets.keys()])
    report.add(path, `"${symbol}" is not pinned`, near === undefined ? add : `did you mean "${near}"? Otherwise ${add}`)
  }
  return asset
}

export const partyOf = (
  name: string,
  path: Path,
  parties: Parties,
  report: Reporter,
  addresses?: Addresses,
): Party | undefined => {
  const party = parties.get(name)
  if (party === undefined && addresses?.has(name) === true) {
    report.add(path, `"${name}" is an address outside of the network, not a party`, "use withdraw, which pays there")
  } else if (party === undefined) {
    report.add(path, `"${name}" is not a party`, nameRemedy(name, [...parties.keys()], "add it under parties"))
  }
  return party
}

/** The account that is written; undefined where a name of it is not known. */
export const accountOf = (
  raw: { readonly party: string; readonly asset: string; readonly balance?: "free" | "total" | undefined },
  path: Path,
  { parties, assets, report }: { readonly parties: Parties; readonly assets: Assets; readonly report: Reporter },
): RuleAccount | undefined => {
  const party = partyOf(raw.party, [...path, "party"], parties, report)
  const asset = assetOf(raw.asset, [...path, "asset"], assets, report)
  return party === undefined || asset === undefined ? undefined : { party, asset, balance: raw.balance ?? "free" }
}

export const payerOf = (name: string, path: Path, parties: Parties, report: Reporter): Party | undefined => {
  const party = partyOf(name, path, parties, report)
  if (party !== undefined && party.signer === undefined) {
    report.add(path, `"${name}" has no signer, so it cannot pay`, `add signer: { file } to party ${name}`)
    return undefined
  }
  return party
}

export const refuseSelf = (name: string, path: Path, report: Reporter): void =>
  report.add(path, `${name} would pay itself`, "name another party")
