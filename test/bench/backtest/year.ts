import type { WorldEvent, WorldSettings } from "../../../src/backtest/World.ts"
import { baseUnits } from "../../../src/domain/Amount.ts"
import type { PublicKey } from "../../../src/domain/Hex.ts"
import type { Party } from "../../../src/rules/Account.ts"
import type { Rule } from "../../../src/rules/Rule.ts"
import { accountKey } from "../../../src/rules/Snapshot.ts"
import { plainRule } from "../../support/Rules.ts"

const minute = 60_000
const day = 86_400_000
export const yearMillis = 365 * day
const unit = 10n ** 6n
const start = Date.parse("2026-01-01T00:00:00Z")
const asset = { symbol: "TOK", id: "ab".repeat(32), decimals: 6 }

const partyOf = (name: string): Party => ({
  name,
  publicKey: name.padEnd(64, "0") as PublicKey,
  signer: { sandbox: name },
  floor: new Map(),
  transfersKept: 0,
})
const units = (n: number) => baseUnits(BigInt(n) * unit)

/** 40 accounts to fund and 10 to sweep, each by a rule of its own, from one reserve. */
export const settings = (): WorldSettings & { readonly reserve: Party; readonly accounts: ReadonlyArray<Party> } => {
  const reserve = partyOf("reserve")
  const accounts = Array.from({ length: 50 }, (_, i) => partyOf(`account-${i}`))
  const base = { ...plainRule, forMillis: 30_000, cooldownMillis: 600_000, min: new Map([[asset.id, units(500)]]) }
  const rules = accounts.map((party, i): Rule => {
    const level = { party, asset, balance: "free" as const }
    if (i < 40) {
      const levels = [{ ...level, trigger: units(10_000), target: units(25_000) }]
      return { ...base, kind: "topUp", name: `fund-${i}`, from: reserve, onShort: "partial", levels }
    }
    const levels = [{ ...level, trigger: units(60_000), target: units(30_000) }]
    return { ...base, kind: "sweep", name: `skim-${i}`, to: reserve, levels }
  })
  const keys = new Set(accounts.map(({ publicKey }) => publicKey as string))
  const line = { assetId: asset.id, perTransfer: units(100_000), per24h: units(2_000_000), transfersPer24h: 400 }
  return {
    reserve,
    accounts,
    rules,
    policy: {
      hash: "",
      digest: "",
      maxFee: { numerator: 2n, denominator: 1_000n },
      lines: [
        { ...line, line: 1, from: new Set([reserve.publicKey]), to: keys },
        { ...line, line: 2, from: keys, to: new Set([reserve.publicKey]) },
      ],
    },
    maxAgeMillis: 30_000,
    start,
    assets: new Map([[asset.id, { decimals: 6, quantum: unit }]]),
    parameters: {
      feeFactor: { numerator: 1n, denominator: 1_000n },
      feeMaxQuantum: { numerator: 1n, denominator: 1n },
      minQuantum: { numerator: 1n, denominator: 10n },
    },
    settlesMillis: 2_000,
    quota: undefined,
  }
}

/** In every minute of a year `perMinute` of the accounts change, the next ones each time. */
export const events = function* (perMinute: number): Iterable<WorldEvent> {
  const { reserve, accounts } = settings()
  const key = (party: Party) => accountKey(party.publicKey, asset.id)
  const keys = accounts.map(key)
  yield { kind: "set", at: start, account: key(reserve), free: 10n ** 15n }
  for (const account of keys) yield { kind: "set", at: start, account, free: 20_000n * unit }
  let state = 1
  let next = 0
  for (let at = start + minute; at < start + yearMillis; at += minute) {
    for (let n = 0; n < perMinute; n++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      // Each account loses or gains 7,500 a day, whatever the number of its changes: a payment in two days or four.
      const drift = ((next < 40 ? -7_500 : 7_500) * 1_000_000 * 50) / (1_440 * perMinute)
      const free = BigInt(Math.floor(drift * (1 + (((state >>> 8) % 2_001) - 1_000) / 500)))
      yield { kind: "move", at, account: keys[next]!, free, beside: 0n }
      next = (next + 1) % keys.length
    }
  }
}
