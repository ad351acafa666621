import type { TransferId } from "../../src/domain/Hex.ts"
import type { Party } from "../../src/rules/Rule.ts"
import type { StandingOrder } from "../../src/rules/Snapshot.ts"
import { pick, type Random } from "./dice.ts"
import { assets, orderId } from "./RandomRule.ts"

interface Known extends StandingOrder {
  readonly party: string
  readonly since: number
  endedAt: number | undefined
}

/** Standing orders on the ledger, oldest first. Times are Unix milliseconds. */
export class WalkOrders {
  readonly all: Array<Known> = []
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  begin(at: number, payers: ReadonlyArray<Party>): void {
    const [party, { id: assetId }] = [pick(this.#random, payers).publicKey, pick(this.#random, assets)]
    this.all.push({ id: orderId(this.all.length), assetId, party, since: at, endedAt: undefined })
  }

  /** Whether it was alive, so that this ended it. */
  end(at: number, id: string): boolean {
    const order = this.all.find((each) => each.id === id && each.endedAt === undefined)
    if (order !== undefined) order.endedAt = at
    return order !== undefined
  }

  /** Complete strictly below a block's time. */
  active(party: string, asOf: number): ReadonlyArray<StandingOrder> {
    return this.all
      .filter((order) => order.party === party && order.since < asOf && (order.endedAt ?? asOf) >= asOf)
      .map(({ id, assetId }) => ({ id, assetId }))
  }

  /** Others end one of them, whoever is about to. */
  lose(at: number): void {
    const ids: ReadonlyArray<TransferId> = this.all.map(({ id }) => id)
    if (ids.length > 0) this.end(at, pick(this.#random, ids))
  }
}
