import { Context } from "effect"
import { type ChainReader, makeChainReader } from "./readChain.ts"
import { type LedgerReader, makeLedgerReader } from "./readLedger.ts"
import { makeRowReader, type RowReader } from "./readRows.ts"
import { makeTransferReader, type TransferReader } from "./readTransfers.ts"
import type { Transport } from "./Transport.ts"

/** Every reading of a network, by one gateway or by several that agree. */
interface Readings extends RowReader, TransferReader, LedgerReader, ChainReader {}

/**
 * Reads from the network. A gateway ignores parameters that it does not know: callers that filter check the rows again.
 * A row shows nothing about accounts that were not touched.
 */
export class GatewayReader extends Context.Service<GatewayReader, Readings>()("cofferer/gateway/GatewayReader") {
  /** Readings of one gateway. With a `chainId`, heads of another chain do not count as its height. */
  static readonly make = (transport: Transport, chainId?: string): GatewayReader["Service"] =>
    GatewayReader.of({
      ...makeRowReader(transport),
      ...makeTransferReader(transport),
      ...makeLedgerReader(transport),
      ...makeChainReader(transport, chainId),
    })
}
