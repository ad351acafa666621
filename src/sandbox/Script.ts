import { type Chain, keyOfParty } from "./Chain.ts"
import { arm, type Fault } from "./Faults.ts"
import { assetAccountTypes, deposit, move, network, openAccount } from "./Ledger.ts"
import type { Spender } from "./Scenario.ts"

/** The economy: what the scenario does by itself at the beginning of a block. Returns the faults that it armed. */
export const playScript = (chain: Chain, nowMillis: number): ReadonlyArray<Fault> => {
  const { deposits, spenders, faults } = chain.scenario
  moveAssets(chain)
  for (const { party, assetId, amount, height } of deposits) {
    if (height === chain.height) deposit(chain.ledger, generalOf(chain, party, assetId), amount)
  }
  for (const spender of spenders) spend(chain, spender)
  return faults
    .filter(({ height }) => height === chain.height)
    .map(({ fault }) => arm(chain.faults, fault, { millis: nowMillis, height: chain.height }))
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
