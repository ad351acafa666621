import type { Mode, Treasury } from "../config/Treasury.ts"
import { version } from "../config/version.ts"
import { Metrics } from "../telemetry/Metrics.ts"

/** Metrics for the time of one command: nobody reads them. */
export const layerMetrics = ({ name, network }: Treasury, mode: Mode = "observe") =>
  Metrics.layer({
    treasury: name,
    mode,
    gateways: network.gateways.map((gateway) => gateway.name),
    rules: [],
    receivers: [],
    version,
    revision: "",
  })
