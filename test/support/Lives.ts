import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Logger } from "effect"
import { prepare } from "../../src/daemon.ts"
import { type DaemonOptions, daemonLayer, realMachine } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { ProofOfWork } from "../../src/pow/ProofOfWork.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { layerHttpHere } from "./InProcess.ts"
import { knowsChain } from "./knowsChain.ts"

const files = [databaseFile, `${databaseFile}-wal`]

export const folder = () => mkdtempSync(join(tmpdir(), "cofferer-restored-"))

/** The store's files as they lie there, while their process writes to them. */
export const copyTo = (from: string, to: string) => {
  cpSync(join(from, "sandbox"), join(to, "sandbox"), { recursive: true })
  for (const file of files) if (existsSync(join(from, file))) cpSync(join(from, file), join(to, file))
}

/** Writes a copy into the very files: their inodes and births stay. */
export const overwrite = (from: string, to: string) => {
  for (const file of files) {
    if (existsSync(join(from, file))) writeFileSync(join(to, file), readFileSync(join(from, file)))
    else rmSync(join(to, file), { force: true })
  }
}

/**
 * One life of a daemon on a data directory. Its end is abrupt: nothing is told to stop. Work is solved at once, since
 * blocks here pass faster than threads answer on a machine under load.
 */
export const life = <A, E>(
  options: DaemonOptions,
  use: Effect.Effect<A, E, Layer.Success<ReturnType<typeof daemonLayer>>>,
) =>
  prepare(options).pipe(
    Effect.andThen(knowsChain(options.treasury.network.chainId)),
    Effect.andThen(pollAssets()),
    Effect.andThen(use),
    Effect.provide(
      daemonLayer(options, { ...realMachine(options), http: layerHttpHere, work: ProofOfWork.layerInline }).pipe(
        Layer.provideMerge(Logger.layer([])),
      ),
      { local: true },
    ),
  )
