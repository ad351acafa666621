import { keyIn, plainBook, unit } from "./Book.ts"
import type { Docket } from "./Docket.ts"
import type { Network } from "./Network.ts"
import type { Plan } from "./Plan.ts"
import type { Standing } from "./Standing.ts"
import type { WildWorld } from "./WildWorld.ts"

interface Around {
  readonly plan: Plan
  readonly network: Network
  readonly docket: Docket
  readonly world: WildWorld
  readonly standing: Standing
  /** One more block of the calm end of the run. */
  readonly restBlock: (n: number) => void
}

const bookOf = ({ wild }: Plan) => wild?.book ?? plainBook
const keyOf = (plan: Plan, name: string): string => keyIn(bookOf(plan), name)
/** Blocks of a second within which an account that was emptied in calm is filled. */
const filledBlocksMax = 120
/** Blocks until whatever waits for a person was done. */
const attendedBlocksMax = 40
/** Below it the rule fills it. */
const filledFrom = 10_000n * unit
/** The most that filling both accounts takes, by any book. */
const bothFilled = 64_000n * unit

const isFilled = ({ plan, network }: Around): boolean =>
  [...network.chain.ledger.accounts.values()].some(
    ({ party, type, balance }) =>
      party === keyOf(plan, "hot") && type === "ACCOUNT_TYPE_GENERAL" && balance >= filledFrom,
  )

/**
 * Whether an account that is emptied now has to be filled. Not where the day's sum may be used up, by payments too that
 * never executed; nor where terms of the file wait; nor in a window of a few blocks on a slow line, where little gets
 * out; nor where no transfers are listed, so that each payment waits for the balances; nor by a clock that was wrong.
 */
const isExpected = ({ plan, world, standing }: Around): boolean => {
  const { window, latencyMillis, profile, clockSteps = [], wild } = plan
  const { per24h } = wild?.book ?? plainBook
  if (standing.signedSum() + bothFilled > BigInt(per24h) * unit || !world.isSettled()) return false
  return window >= 10 && latencyMillis <= 100 && profile !== "specification" && clockSteps.length === 0
}

/** Blocks in which a payment may wait for transfers of the next epoch, whatever they are. */
const epochBlocksMax = 1_000

/** Whether the network lets the payer send nothing more in this epoch: no payment can come of that time. */
const isUsedUp = ({ plan, network: { chain } }: Around): boolean =>
  (chain.epoch.transfers.get(keyOf(plan, "reserve") as never) ?? 0) >= chain.scenario.transfersPerEpoch

const leavesRowsOut = ({ faults }: Plan): boolean => faults.some(({ spec: { kind } }) => kind === "reorganised_pages")

/** All is at rest: an account that loses its money now is filled again, whatever was before. */
export const fillLast = (around: Around): void => {
  const { network, docket, standing, restBlock } = around
  const { chain } = network
  let n = 0
  while (n < attendedBlocksMax && standing.isHeld()) restBlock(n++)
  if (!isExpected(around)) return
  // Its fall may be the row that a page left out, which the next comparison finds, in minutes.
  if (!isFilled(around) && leavesRowsOut(around.plan)) return
  docket.chance("on")
  const spender = chain.scenario.spenders.find(({ from }) => from === `${bookOf(around.plan).who}hot`)
  const at = spender?.at as Map<number, bigint>
  at.set(chain.height + 1, 1_000_000_000_000n)
  restBlock(n++)
  const last = n + filledBlocksMax + epochBlocksMax
  for (let waited = 0; waited < filledBlocksMax && n < last && !isFilled(around); n++) {
    restBlock(n)
    if (!isUsedUp(around)) waited++
  }
  if (!isFilled(around))
    docket.wrong("on", `hot was emptied, and is not filled ${filledBlocksMax} s later: ${standing.words()}`)
}
