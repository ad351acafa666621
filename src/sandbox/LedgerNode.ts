import { hexToBytes } from "@noble/hashes/utils.js"
import { Clock, Deferred, Effect, Semaphore } from "effect"
import { txHash } from "../tx/Transaction.ts"
import { produceBlock } from "./Blocks.ts"
import type { Chain, Fault } from "./Chain.ts"
import { checkTx, codes } from "./checkTx.ts"
import { describeFault, type FaultSpec, isMeantFor, type Operation } from "./Faults.ts"
import { rememberMoment, settle } from "./faults/asOf.ts"
import { arm, disarm, hitsOf, spend } from "./faults/registry.ts"
import type { LedgerFile, SandboxError } from "./LedgerFile.ts"
import { addPending, forget, mempoolRefusal, remember, removePending, type Tx } from "./Mempool.ts"
import { hashesMax } from "./ScenarioText.ts"

/** Mempool's result for submitted bytes. `Turned`: turned away unchecked, in the network's words. */
type Submission =
  | { readonly _tag: "Checked"; readonly hash: string; readonly code: number; readonly text: string }
  | { readonly _tag: "Turned"; readonly text: string }

/** The running network: one change at a time, each on disk before it is reported. */
export interface LedgerNode {
  /** Reads the chain between two changes. */
  readonly read: <A>(query: (chain: Chain) => A) => Effect.Effect<A, SandboxError>
  /**
   * Hands bytes to the mempool. Accepted bytes are on disk when it returns; the same bytes again are turned away. A
   * fault may let another view of the chain decide.
   */
  readonly submit: (bytes: Uint8Array, view?: (chain: Chain) => Chain) => Effect.Effect<Submission, SandboxError>
  readonly stepBlock: Effect.Effect<void, SandboxError>
  readonly armFault: (spec: FaultSpec) => Effect.Effect<Fault, SandboxError>
  /** Without an id it takes all faults away. Returns how many went. */
  readonly disarmFault: (id: number | undefined) => Effect.Effect<number, SandboxError>
  /** The faults that hit a request of this operation; none is spent yet. */
  readonly faultsFor: (operation: Operation) => Effect.Effect<ReadonlyArray<Fault>, SandboxError>
  /** Counts a hit. False where another request took the last one meanwhile: then the fault does not happen. */
  readonly spendFault: (fault: Fault) => Effect.Effect<boolean, SandboxError>
  /** Changes what faults left behind for later blocks. */
  readonly alterFaults: (work: (chain: Chain) => void) => Effect.Effect<void, SandboxError>
  /** Completes `stopped`, so that requests which a fault holds back end. */
  readonly stop: Effect.Effect<unknown>
  readonly stopped: Effect.Effect<void>
  /** Never succeeds; fails when the files failed. From then on every other member fails the same way. */
  readonly broken: Effect.Effect<never, SandboxError>
}

/** Runs a chain; each change is saved to its file. */
export const makeNode = Effect.fnUntraced(function* (chain: Chain, file: LedgerFile): Effect.fn.Return<LedgerNode> {
  const lock = yield* Semaphore.make(1)
  const failure = yield* Deferred.make<never, SandboxError>()
  const stopped = yield* Deferred.make<void>()

  const alone = <A>(work: Effect.Effect<A, SandboxError>): Effect.Effect<A, SandboxError> =>
    lock.withPermits(1)(Effect.suspend(() => (Deferred.isDoneUnsafe(failure) ? Deferred.await(failure) : work)))
  // The memory is ahead of the disk while a change is written: a failed write must be the last thing that happens.
  const change = <A>(work: Effect.Effect<A, SandboxError>): Effect.Effect<A, SandboxError> =>
    alone(Effect.uninterruptible(Effect.tapCause(work, (cause) => Deferred.failCause(failure, cause))))

  rememberMoment(chain, hashesMax)
  const unsaved: Array<Tx> = []
  const saveAccepted = Effect.suspend(() => (unsaved.length === 0 ? Effect.void : file.saveAccepted(unsaved.splice(0))))
  // Requests of one turn of the event loop share a commit: the disk's answer costs more than all the rest.
  const submit = Effect.fn("LedgerNode.submit")(function* (bytes: Uint8Array, view?: (chain: Chain) => Chain) {
    const said = yield* alone(Effect.sync(() => submitTo(view === undefined ? chain : view(chain), unsaved, bytes)))
    if (said._tag === "Turned" || said.code !== codes.ok) return said
    yield* Effect.yieldNow
    yield* change(saveAccepted)
    return said
  })
  const stepBlock = change(
    Effect.gen(function* () {
      for (const bytes of takeLate(chain)) submitTo(chain, unsaved, bytes)
      yield* saveAccepted
      const lost = loseMempool(chain)
      const delta = produceBlock(chain, yield* Clock.currentTimeMillis)
      yield* file.saveBlock(chain, { ...delta, gone: [...lost, ...delta.gone] })
      rememberMoment(chain, hashesMax)
      for (const fault of delta.armed) yield* Effect.logInfo("sandbox fault armed", { fault: describeFault(fault) })
    }),
  ).pipe(Effect.withSpan("LedgerNode.stepBlock"))
  return {
    read: (query) => alone(Effect.sync(() => query(chain))),
    submit,
    stepBlock,
    armFault: (spec) =>
      change(
        Effect.gen(function* () {
          const millis = yield* Clock.currentTimeMillis
          const fault = arm(chain.faults, spec, { millis, height: chain.height })
          settle(chain)
          yield* file.saveState(chain)
          yield* Effect.logInfo("sandbox fault armed", { fault: describeFault(fault) })
          return fault
        }),
      ),
    disarmFault: (id) =>
      change(
        Effect.suspend(() => {
          const gone = disarm(chain.faults, id)
          return Effect.as(file.saveState(chain), gone)
        }),
      ),
    faultsFor: (operation) =>
      Effect.suspend(() =>
        chain.faults.armed.length === 0
          ? Effect.succeed([])
          : Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
              const at = { isMeant: isMeantFor(operation), seed: chain.scenario.seed, nowMillis }
              return alone(Effect.sync(() => hitsOf(chain.faults, at)))
            }),
      ),
    spendFault: (fault) =>
      change(
        Effect.suspend(() => {
          if (!chain.faults.armed.includes(fault)) return Effect.succeed(false)
          spend(chain.faults, fault)
          return Effect.as(file.saveState(chain), true)
        }),
      ),
    alterFaults: (work) =>
      change(
        Effect.suspend(() => {
          work(chain)
          return file.saveState(chain)
        }),
      ),
    stop: Deferred.succeed(stopped, undefined),
    stopped: Deferred.await(stopped),
    broken: Deferred.await(failure),
  }
})

/** Checks bytes. Accepted ones go into the mempool and into `unsaved`. */
const submitTo = (chain: Chain, unsaved: Array<Tx>, bytes: Uint8Array): Submission => {
  const hash = txHash(bytes)
  const turned = mempoolRefusal(chain.mempool, hash, bytes.length)
  if (turned !== undefined) return { _tag: "Turned", text: turned }
  remember(chain.mempool, hash)
  const verdict = checkTx(chain, bytes)
  if (verdict.code !== codes.ok) {
    forget(chain.mempool, hash)
    return { _tag: "Checked", hash, code: verdict.code, text: verdict.text }
  }
  addPending(chain.mempool, verdict.tx)
  unsaved.push(verdict.tx)
  return { _tag: "Checked", hash, code: codes.ok, text: "" }
}

/** Empties the mempool where a fault requires it: a node that restarts has lost what waited. */
const loseMempool = (chain: Chain): ReadonlyArray<string> => {
  if (!chain.faults.mempoolLost) return []
  chain.faults.mempoolLost = false
  const waiting = [...chain.mempool.pending.values()]
  for (const tx of waiting) {
    removePending(chain.mempool, tx)
    forget(chain.mempool, tx.hash)
  }
  return waiting.map(({ hash }) => hash)
}

/** Takes out the bytes that are to be broadcast before the next block. */
const takeLate = (chain: Chain): ReadonlyArray<Uint8Array> => {
  const { faults } = chain
  const due = faults.late.filter(({ height }) => height <= chain.height)
  if (due.length > 0) faults.late = faults.late.filter(({ height }) => height > chain.height)
  return due.map(({ hex }) => hexToBytes(hex))
}
