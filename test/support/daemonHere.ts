import { Layer, Logger } from "effect"
import { type DaemonOptions, daemonLayer, realMachine } from "../../src/layers.ts"
import { ProofOfWork } from "../../src/pow/ProofOfWork.ts"
import { layerHttpHere } from "./InProcess.ts"

/**
 * The services of a daemon, without its log. Servers of this process need no socket, and work is solved at once: blocks
 * of tests pass faster than threads answer on a machine under load.
 */
export const daemonHere = (options: DaemonOptions) =>
  daemonLayer(options, { ...realMachine(options), http: layerHttpHere, work: ProofOfWork.layerInline }).pipe(
    Layer.provideMerge(Logger.layer([])),
  )
