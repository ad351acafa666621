import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { join } from "node:path"
import { Effect, Layer, type Redacted } from "effect"
import { ConfigInForce, CycleConfig, type InForce } from "./config/ConfigInForce.ts"
import { readSecret, readSecrets, version } from "./config/files.ts"
import type { Mode, Treasury } from "./config/Treasury.ts"
import type { ConfigError } from "./config/yaml/ConfigError.ts"
import { DirtySubjects } from "./engine/DirtySubjects.ts"
import { isWanted } from "./engine/isWanted.ts"
import { GatewayPool } from "./gateway/GatewayPool.ts"
import { layerGateways } from "./gateway/quorumGateway.ts"
import { gatewayOptions } from "./gateway/Transport.ts"
import { withFormerReceivers } from "./http/putInForce.ts"
import { Notifier } from "./notify/Notifier.ts"
import { Reconciliation } from "./poller/Reconciliation.ts"
import type { Pool } from "./pow/Pool.ts"
import { ProofOfWork } from "./pow/ProofOfWork.ts"
import type { Party } from "./rules/Account.ts"
import { Signer } from "./signer/Signer.ts"
import { layerHttp } from "./sockets/client.ts"
import { AlertQueue } from "./store/alerts/AlertQueue.ts"
import { Drifts } from "./store/balances/Drifts.ts"
import { Observations } from "./store/balances/Observations.ts"
import { Approvals } from "./store/controls/Approvals.ts"
import { Controls } from "./store/controls/Controls.ts"
import type { LeaseHolder, StoreAccess } from "./store/database/Connections.ts"
import * as Database from "./store/database/Database.ts"
import { DiskSpace } from "./store/database/DiskSpace.ts"
import { Settings } from "./store/database/Settings.ts"
import { Signals } from "./store/database/Signals.ts"
import { StoreError } from "./store/database/StoreError.ts"
import { Journal } from "./store/journal/Journal.ts"
import { ChainState } from "./store/network/ChainState.ts"
import { Listings } from "./store/network/Listings.ts"
import { Clearance } from "./store/payments/Clearance.ts"
import { LedgerAudit, Tags } from "./store/payments/LedgerAudit.ts"
import { Outbox } from "./store/payments/Outbox.ts"
import { SpendLog } from "./store/payments/SpendLog.ts"
import { RuleStates } from "./store/rules/RuleStates.ts"
import { AuditMemory } from "./submitter/AuditMemory.ts"
import { ChainHeadCache } from "./submitter/ChainHeadCache.ts"
import { InFlight } from "./submitter/InFlight.ts"
import { SigningFacts } from "./submitter/SigningFacts.ts"
import { Metrics } from "./telemetry/Metrics.ts"

/** One treasury, ready to run. */
export interface DaemonOptions {
  readonly treasury: Treasury
  /** Mode in force: the file's, or a lower one. */
  readonly mode: Mode
  readonly dataDir: string
  /** The file that holds the address of the PostgreSQL with its store; undefined: a file in the data directory. */
  readonly postgresUrlFile?: string | undefined
  /** Told who runs the treasury, whose end is waited for; undefined: nobody else does. Absent: it is not waited for. */
  readonly onStandby?: ((current: LeaseHolder | undefined) => Effect.Effect<void>) | undefined
  /** Where every gateway really is, if not where the file says: the embedded network has one address for all. */
  readonly gatewayUrl?: string | undefined
  /** Requests a second to each gateway at most; default that of `gatewayOptions`. */
  readonly requestsPerSecond?: number
}

/** Alerts go where the configuration in force says when they are raised. */
const alertQueueLayer = Layer.unwrap(
  Effect.map(ConfigInForce, ({ now }) =>
    AlertQueue.layer(
      (severity) =>
        now()
          .treasury.routes.filter((route) => route.severities.has(severity))
          .flatMap((route) => route.receivers),
      () => now().treasury.alerting.grouping,
    ),
  ),
)

/** This process among those that share a PostgreSQL. */
const holder = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`

type StorePlace = Pick<DaemonOptions, "treasury" | "dataDir" | "postgresUrlFile" | "onStandby">

/** The database of a treasury. */
export const databaseLayer = (
  { treasury, dataDir, postgresUrlFile: urlFile, onStandby }: StorePlace,
  access: StoreAccess = "holder",
) =>
  urlFile === undefined
    ? Database.layer({ filename: join(dataDir, Database.databaseFile), access })
    : Layer.unwrap(
        readSecret(urlFile).pipe(
          Effect.map((url) =>
            Database.layer({
              treasury: treasury.name,
              postgres: { url, urlFile, holder, onWait: onStandby, access },
            }),
          ),
          Effect.mapError((cause) => new StoreError({ operation: "open", cause })),
        ),
      )

/** Every table of the treasury, behind its ports. The command line uses the same when no daemon holds the store. */
export const storeLayer = (options: StorePlace & Partial<Pick<DaemonOptions, "mode">>, access?: StoreAccess) => {
  const { treasury, mode = treasury.mode } = options
  const tables = Layer.mergeAll(
    Drifts.layerNoDeps,
    DirtySubjects.layer,
    alertQueueLayer,
    Signals.layer,
    Clearance.layerNoDeps,
    DiskSpace.layer(options.dataDir),
    Outbox.layerNoDeps,
    Listings.layerNoDeps,
    SpendLog.layerNoDeps,
    Controls.layerNoDeps,
    LedgerAudit.layerNoDeps,
    Observations.layerNoDeps,
    RuleStates.layerNoDeps,
  )
  return ChainState.layerNoDeps.pipe(
    Layer.provideMerge(tables),
    Layer.provideMerge(inForceLayer({ treasury, mode })),
    Layer.provideMerge(Approvals.layerNoDeps),
    Layer.provideMerge(Journal.layer(treasury.name, treasury.watermarkFile)),
    Layer.provideMerge(Settings.layer),
    Layer.provideMerge(databaseLayer(options, access)),
  )
}

/** The configuration of the files. Earlier receivers that it no longer pages are alerted as well. */
const inForceLayer = (file: InForce) => Layer.unwrap(Effect.map(withFormerReceivers(file), ConfigInForce.layer))

const metricsLayer = ({ treasury, mode }: DaemonOptions, isOneOfMany = false) =>
  Metrics.layer({
    isOneOfMany,
    treasury: treasury.name,
    mode,
    gateways: treasury.network.gateways.map(({ name }) => name),
    rules: treasury.rules.map((rule) => rule.name),
    payers: [...treasury.parties.values()].filter((party) => party.signer !== undefined).map((party) => party.name),
    assets: [...treasury.assets.values()].map(({ symbol }) => symbol),
    receivers: treasury.receivers.map((receiver) => receiver.name),
    version,
    revision: "",
  })

/** Values of headers from their files. */
export const readHeaders = (files: ReadonlyMap<string, string>) =>
  Effect.map(
    Effect.forEach(files, ([header, file]) => Effect.map(readSecret(file), (secret) => [header, secret] as const)),
    (entries): Readonly<Record<string, Redacted.Redacted>> => Object.fromEntries(entries),
  )

/** Everything that speaks to the gateways. */
export const gatewayLayer = (
  { treasury, gatewayUrl, requestsPerSecond }: Pick<DaemonOptions, "treasury" | "gatewayUrl" | "requestsPerSecond">,
  http: typeof layerHttp = layerHttp,
) => {
  const { network } = treasury
  const options = Effect.forEach(network.gateways, ({ name, url, headerFiles }) =>
    Effect.map(readHeaders(headerFiles), (headers) =>
      gatewayOptions({
        name,
        url: gatewayUrl ?? url,
        headers,
        requestDeadlineMillis: network.requestDeadlineMillis,
        ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
      }),
    ),
  )
  const { chainId, quorum } = network
  return Layer.unwrap(
    Effect.map(options, (gateways) => layerGateways({ chainId, gateways, quorum, isOwn: gatewayUrl !== undefined })),
  ).pipe(Layer.provide(http))
}

/** The file that holds a party's key: as configured, or the one that the embedded network made for it. */
export const keyFileOf = (party: Party, dataDir: string): string | undefined => {
  if (party.signer === undefined) return undefined
  return "file" in party.signer ? party.signer.file : join(dataDir, "sandbox", "keys", party.signer.sandbox)
}

const signerLayer = ({ treasury, mode, dataDir }: DaemonOptions) =>
  Signer.layerNoDeps(
    [...treasury.parties.values()].flatMap((party) => {
      const file = keyFileOf(party, dataDir)
      return mode !== "live" || file === undefined ? [] : [{ party, file }]
    }),
  )

const notifierLayer = ({ treasury }: DaemonOptions) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const receivers = yield* Effect.forEach(treasury.receivers, readSecrets)
      const { heartbeat } = treasury.alerting
      return Notifier.layerReceivers(receivers, { heartbeat: heartbeat && (yield* readSecrets(heartbeat)) })
    }),
  )

/** The engine asks which payments the ledger knows by their tags, and never holds the keys that these come from. */
const tagsLayer = Layer.effect(
  Tags,
  Effect.map(Signer, (signer) => Tags.of({ of: signer.tag })),
)

/** Parts of the machine that the daemon uses, so that a simulation can replace them. */
export interface Machine {
  readonly http: typeof layerHttp
  readonly work: Layer.Layer<ProofOfWork, never, Metrics>
  readonly metrics: Layer.Layer<Metrics>
  readonly notifier: Layer.Layer<Notifier, ConfigError>
  /** Shared with other treasuries; absent: each gateway is this treasury's alone. */
  readonly gateways?: Layer.Layer<GatewayPool>
}

export const realMachine = (options: DaemonOptions): Machine => ({
  http: layerHttp,
  work: ProofOfWork.layer,
  metrics: metricsLayer(options),
  notifier: notifierLayer(options),
})

/** Parts that the treasuries of a process share. */
export interface SharedParts {
  readonly http: Machine["http"]
  readonly gateways: GatewayPool["Service"]
  readonly work: Pool
}

/** The machine of one of several treasuries: connections, requests and searches are those of all. */
export const sharedMachine =
  ({ http, gateways, work }: SharedParts) =>
  (options: DaemonOptions): Machine => ({
    ...realMachine(options),
    http,
    gateways: Layer.succeed(GatewayPool, gateways),
    work: ProofOfWork.layerShared(work, options.treasury.name),
    metrics: metricsLayer(options, true),
  })

/** All services of the daemon. */
export const daemonLayer = (options: DaemonOptions, machine?: Machine) =>
  Layer.unwrap(
    Effect.map(ConfigInForce, ({ now }) => {
      const { treasury, mode } = now()
      return servicesOf({ ...options, treasury, mode }, machine)
    }),
  ).pipe(Layer.provideMerge(storeLayer(options)))

/** Everything above the store, by the configuration in force. */
const servicesOf = (options: DaemonOptions, machine: Machine = realMachine(options)) => {
  const { treasury, mode } = options
  const parts = Layer.mergeAll(
    InFlight.layer,
    AuditMemory.layer,
    Reconciliation.layer,
    ChainHeadCache.layer.pipe(
      Layer.provideMerge(gatewayLayer(options, machine.http).pipe(Layer.provide(machine.gateways ?? Layer.empty))),
    ),
    tagsLayer.pipe(Layer.provideMerge(signerLayer(options))),
    machine.notifier,
    machine.work,
  )
  return SigningFacts.layer(isWanted).pipe(
    Layer.provideMerge(parts),
    Layer.provideMerge(Layer.merge(machine.metrics, Layer.succeed(CycleConfig, { treasury, mode }))),
  )
}
