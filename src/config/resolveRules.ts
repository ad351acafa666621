import type { BaseUnits } from "../domain/Amount.ts"
import type { AssetStatusWord } from "../domain/Asset.ts"
import type { PublicKey } from "../domain/Hex.ts"
import { submittedRule } from "../domain/Intent.ts"
import type { Level, Party, PinnedAsset, Rule } from "../rules/Rule.ts"
import { asArray, durationMillis } from "./Fields.ts"
import { needFile, type Reporter } from "./Reporter.ts"
import type { TreasuryFile } from "./TreasuryFile.ts"

type Path = ReadonlyArray<PropertyKey>
type RawRule = NonNullable<TreasuryFile["rules"]>[number]
type Assets = ReadonlyMap<string, PinnedAsset>
type Parties = ReadonlyMap<string, Party>

export const resolveAssets = (raw: TreasuryFile): Assets =>
  new Map(
    Object.entries(raw.assets ?? {}).map(([symbol, { id, decimals }]) => [
      symbol,
      { symbol, id, decimals: Math.min(Number(decimals), 77) },
    ]),
  )

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
      if (file !== undefined) needFile(file, [...path, "signer", "file"], report)
      return [
        name,
        {
          name,
          publicKey: party.publicKey as PublicKey,
          signer:
            file !== undefined ? { file } : signer?.sandbox === undefined ? undefined : { sandbox: signer.sandbox },
          floor: amountsByAsset(party.floor, [...path, "floor"], assets, report),
        },
      ]
    }),
  )
}

const amountsByAsset = (
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

const assetOf = (symbol: string, path: Path, assets: Assets, report: Reporter): PinnedAsset | undefined => {
  const asset = assets.get(symbol)
  if (asset === undefined) {
    report.add(path, `"${symbol}" is not pinned`, `add ${symbol}: { id, decimals } under assets`)
  }
  return asset
}

const partyOf = (name: string, path: Path, parties: Parties, report: Reporter): Party | undefined => {
  const party = parties.get(name)
  if (party === undefined) {
    report.add(
      path,
      `"${name}" is no party`,
      `known: ${[...parties.keys()].join(", ") || "none; add it under parties"}`,
    )
  }
  return party
}

const payerOf = (name: string, path: Path, parties: Parties, report: Reporter): Party | undefined => {
  const party = partyOf(name, path, parties, report)
  if (party !== undefined && party.signer === undefined) {
    report.add(path, `"${name}" has no signer, so it cannot pay`, `add signer: { file } to party ${name}`)
    return undefined
  }
  return party
}

export const resolveRules = (
  raw: TreasuryFile,
  parties: Parties,
  assets: Assets,
  report: Reporter,
): ReadonlyArray<Rule> => {
  const names = new Set<string>()
  return (raw.rules ?? []).flatMap((rule, i) => {
    if (names.has(rule.name)) {
      report.add(["rules", i, "name"], `a second rule "${rule.name}"`, "give each rule its own name")
    }
    if (rule.name === submittedRule) {
      report.add(["rules", i, "name"], `"${rule.name}" stands for payments of people`, "give the rule another name")
    }
    names.add(rule.name)
    const resolved = resolveRule(rule, ["rules", i], parties, assets, report)
    return resolved === undefined ? [] : [resolved]
  })
}

const resolveRule = (
  raw: RawRule,
  path: Path,
  parties: Parties,
  assets: Assets,
  report: Reporter,
): Rule | undefined => {
  if (raw.notify !== undefined) return resolveNotify(raw, raw.notify, path, assets, report)
  const base = {
    name: raw.name,
    forMillis: durationMillis(raw.for ?? "0s"),
    cooldownMillis: durationMillis(raw.cooldown ?? "0s"),
    maxAgeMillis: raw.maxAge === undefined ? undefined : durationMillis(raw.maxAge),
    min: amountsByAsset(raw.min, [...path, "min"], assets, report),
    priority: Number(raw.priority ?? "100"),
    onShort: raw.onShort ?? ("hold" as const),
  }
  if (raw.topUp !== undefined) {
    const at = [...path, "topUp"]
    const from = payerOf(raw.topUp.from, [...at, "from"], parties, report)
    const levels = raw.topUp.levels.flatMap((l, i) =>
      resolveLevel({ ...l, trigger: l.below, word: "below" }, [...at, "levels", i], parties, assets, report),
    )
    for (const [i, l] of levels.entries()) {
      if (l.party.name === raw.topUp.from) {
        report.add([...at, "levels", i, "party"], `${l.party.name} would pay itself`, "name another party")
      }
    }
    return from === undefined ? undefined : { ...base, kind: "topUp", from, levels }
  }
  const sweep = raw.sweep!
  const at = [...path, "sweep"]
  const to = partyOf(sweep.to, [...at, "to"], parties, report)
  const levels = asArray(sweep.from).flatMap((party) => {
    payerOf(party, [...at, "from"], parties, report)
    if (party === sweep.to) report.add([...at, "to"], `${party} would pay itself`, "name another party")
    return resolveLevel({ ...sweep, party, trigger: sweep.above, word: "above" }, at, parties, assets, report)
  })
  return to === undefined ? undefined : { ...base, kind: "sweep", to, levels }
}

const resolveNotify = (
  raw: RawRule,
  notify: NonNullable<RawRule["notify"]>,
  path: Path,
  assets: Assets,
  report: Reporter,
): Rule => {
  for (const key of ["for", "cooldown", "maxAge", "min", "priority", "onShort"] as const) {
    if (raw[key] !== undefined) report.add([...path, key], `${key} means nothing for notify`, `remove ${key}`)
  }
  const asset = notify.asset === "any" ? "any" : assetOf(notify.asset, [...path, "notify", "asset"], assets, report)
  const becomes: ReadonlyArray<AssetStatusWord> = notify.becomes
  return { kind: "notify", name: raw.name, asset: asset ?? "any", becomes }
}

const resolveLevel = (
  raw: {
    readonly party: string
    readonly asset: string
    readonly balance?: "free" | "total" | undefined
    readonly trigger: string
    readonly target: string
    readonly word: "below" | "above"
  },
  path: Path,
  parties: Parties,
  assets: Assets,
  report: Reporter,
): ReadonlyArray<Level> => {
  const party = partyOf(raw.party, [...path, raw.word === "below" ? "party" : "from"], parties, report)
  const asset = assetOf(raw.asset, [...path, "asset"], assets, report)
  const trigger = report.amount([...path, raw.word], raw.trigger, asset)
  const target = report.amount([...path, "target"], raw.target, asset)
  const sound = raw.word === "below" ? target >= trigger : target <= trigger
  if (!sound) {
    const remedy = raw.word === "below" ? "set target at or over below" : "set target at or under above"
    report.add([...path, "target"], `target ${raw.target} is on the wrong side of ${raw.word} ${raw.trigger}`, remedy)
  }
  if (party === undefined || asset === undefined) return []
  return [{ party, asset, balance: raw.balance ?? "free", trigger, target }]
}
