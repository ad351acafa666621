import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { prepare } from "../../src/daemon.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { pollAssets } from "../../src/poller/AssetPoller.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { daemonHere } from "./daemonHere.ts"
import { emptyDir } from "./emptyDir.ts"
import { type FlowBody, type FlowServices, type FlowSetup, flow } from "./Flow.ts"
import { type Body, effectOf, type Work } from "./it.ts"
import { knowsChain } from "./knowsChain.ts"

const files = [databaseFile, `${databaseFile}-wal`]

export const folder = () => emptyDir("cofferer-restored-")

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

/** One life of a daemon on a data directory. Its end is abrupt: nothing is told to stop. */
export const life = <A>(options: DaemonOptions, use: Work<FlowServices, A>) =>
  prepare(options).pipe(
    Effect.andThen(knowsChain(options.treasury.network.chainId)),
    Effect.andThen(pollAssets()),
    Effect.andThen(effectOf(use)),
    Effect.provide(daemonHere(options), { local: true }),
  )

/** The same treasury with another data directory, which is empty but for the keys and goes afterwards. */
export const elsewhere = <R, A>(outer: DaemonOptions, use: Body<[options: DaemonOptions], R, A>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const dataDir = folder()
      cpSync(join(outer.dataDir, "sandbox"), join(dataDir, "sandbox"), { recursive: true })
      return dataDir
    }),
    (dataDir) => effectOf(use({ ...outer, dataDir })),
    (dataDir) => Effect.sync(() => rmSync(dataDir, { recursive: true, force: true })),
  )

/** A flow with a data directory that several lives may use, one after the other. */
export const reborn = (use: FlowBody, setup?: FlowSetup) =>
  flow((outer, ...more) => elsewhere(outer, (options) => use(options, ...more)), setup)
