import { sha3_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { type Chain, type Deposit, keyOfParty } from "./Chain.ts"
import { arm, type Fault } from "./Faults.ts"
import { assetAccountTypes, deposit, move, network, openAccount } from "./Ledger.ts"
import type { Spender } from "./Scenario.ts"

/** What a block's script did that the store must know. */
interface Played {
  readonly deposits: ReadonlyArray<Deposit>
  readonly armed: ReadonlyArray<Fault>
}

/** The economy: what the scenario does by itself at the beginning of a block. */
export const playScript = (chain: Chain, nowMillis: number): Played => {
  moveAssets(chain)
  const deposits = payDeposits(chain)
  for (const spender of chain.scenario.spenders) spend(chain, spender)
  const armed = chain.scenario.faults
    .filter(({ height }) => height === chain.height)
    .map(({ fault }) => arm(chain.faults, fault, { millis: nowMillis, height: chain.height }))
  return { deposits, armed }
}

/** Puts each asset into the status that its height asks for; an enabled asset gets the network's own accounts. */
const moveAssets = (chain: Chain): void => {
  for (const listed of chain.scenario.assets) {
    const status = listed.statuses.findLast(({ height }) => height <= chain.height)?.status
    if (status === undefined || chain.assets.get(listed.id)?.status === status) continue
    const asset = { ...listed, status }
    chain.assets.set(listed.id, asset)
    if (status !== "STATUS_ENABLED") continue
    for (const type of assetAccountTypes)
      openAccount(chain.ledger, { party: network, asset: listed.id, market: "", type })
  }
}

const generalOf = (chain: Chain, party: string, asset: string) =>
  openAccount(chain.ledger, { party: keyOfParty(chain, party), asset, market: "", type: "ACCOUNT_TYPE_GENERAL" })

/** Pays what the scenario brings into the network at this height. */
const payDeposits = (chain: Chain): ReadonlyArray<Deposit> =>
  chain.scenario.deposits.flatMap(({ party, assetId, amount, height }, n): ReadonlyArray<Deposit> => {
    if (height !== chain.height) return []
    const account = generalOf(chain, party, assetId)
    deposit(chain.ledger, account, amount)
    const id = bytesToHex(sha3_256(utf8ToBytes(`deposit\0${chain.scenario.seed}\0${n}`)))
    const made = { id, party: account.party, asset: assetId, amount, created: chain.time, credited: chain.time }
    chain.deposits.set(id, made)
    return [made]
  })

/** Takes what the plan says, or what is left: a script never fails. */
const spend = (chain: Chain, spender: Spender): void => {
  const { every } = spender
  const blocks = every === undefined ? 0 : chain.height - every.since
  const regular = every !== undefined && blocks > 0 && blocks % every.blocks === 0 ? every.amount : 0n
  const wanted = (spender.at.get(chain.height) ?? 0n) + regular
  if (wanted === 0n) return
  const from = generalOf(chain, spender.from, spender.assetId)
  const amount = wanted < from.balance ? wanted : from.balance
  const to = generalOf(chain, spender.to, spender.assetId)
  if (amount > 0n) move(chain.ledger, { from, to, amount, type: "TRANSFER_TYPE_LOSS" })
}
