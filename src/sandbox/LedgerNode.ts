import { Clock, Deferred, Effect, Semaphore } from "effect"
import { txHash } from "../tx/Transaction.ts"
import { produceBlock } from "./Blocks.ts"
import type { Chain } from "./Chain.ts"
import { checkTx, codes } from "./checkTx.ts"
import { arm, describeFault, disarm, type Fault, type FaultSpec, hitBy, type Operation, spend } from "./Faults.ts"
import type { LedgerFile } from "./LedgerFile.ts"
import { addPending, forget, refuses, remember } from "./Mempool.ts"
import type { SandboxError } from "./SandboxError.ts"

/** What the mempool says about submitted bytes. `known`: it would not look at them, in the network's words. */
export type Submission =
  | { readonly _tag: "Checked"; readonly hash: string; readonly code: number; readonly text: string }
  | { readonly _tag: "Turned"; readonly text: string }

/** The running network: one change at a time, each on disk before anyone can see it. */
export interface LedgerNode {
  /** Looks at the chain between two changes. */
  readonly read: <A>(look: (chain: Chain) => A) => Effect.Effect<A, SandboxError>
  /** Hands bytes to the mempool. Accepted bytes are on disk when it returns; the same bytes again are turned away. */
  readonly submit: (bytes: Uint8Array) => Effect.Effect<Submission, SandboxError>
  readonly stepBlock: Effect.Effect<void, SandboxError>
  readonly armFault: (spec: FaultSpec) => Effect.Effect<Fault, SandboxError>
  /** Without an id it takes all faults away. Returns how many went. */
  readonly disarmFault: (id: number | undefined) => Effect.Effect<number, SandboxError>
  /** The fault that hits a request of this operation, if any; it is not spent yet. */
  readonly faultFor: (operation: Operation) => Effect.Effect<Fault | undefined, SandboxError>
  /** Counts a hit. False where another request took the last one meanwhile: then the fault does not happen. */
  readonly spendFault: (fault: Fault) => Effect.Effect<boolean, SandboxError>
  /** Never succeeds; fails when the files failed. From then on every other member fails the same way. */
  readonly broken: Effect.Effect<never, SandboxError>
}

/** Puts a chain to work on its file. */
export const makeNode = (chain: Chain, file: LedgerFile): Effect.Effect<LedgerNode> =>
  Effect.gen(function* () {
    const lock = yield* Semaphore.make(1)
    const failure = yield* Deferred.make<never, SandboxError>()

    const alone = <A>(work: Effect.Effect<A, SandboxError>): Effect.Effect<A, SandboxError> =>
      lock.withPermits(1)(Effect.suspend(() => (Deferred.isDoneUnsafe(failure) ? Deferred.await(failure) : work)))
    // The memory is ahead of the disk while a change is written: a failed write must be the last thing that happens.
    const change = <A>(work: Effect.Effect<A, SandboxError>): Effect.Effect<A, SandboxError> =>
      alone(Effect.uninterruptible(Effect.tapCause(work, (cause) => Deferred.failCause(failure, cause))))

    const submit = Effect.fn("LedgerNode.submit")((bytes: Uint8Array) =>
      change(Effect.suspend(() => submitTo(chain, file, bytes))),
    )
    const stepBlock = change(
      Effect.gen(function* () {
        const delta = produceBlock(chain, yield* Clock.currentTimeMillis)
        yield* file.saveBlock(chain, delta)
        for (const fault of delta.armed) yield* Effect.logInfo("sandbox", { detail: describeFault(fault) })
      }),
    ).pipe(Effect.withSpan("LedgerNode.stepBlock"))
    return {
      read: (look) => alone(Effect.sync(() => look(chain))),
      submit,
      stepBlock,
      armFault: (spec) =>
        change(
          Effect.gen(function* () {
            const fault = arm(chain.faults, spec, yield* Clock.currentTimeMillis)
            yield* file.saveState(chain)
            yield* Effect.logInfo("sandbox", { detail: describeFault(fault) })
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
      faultFor: (operation) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
          alone(Effect.sync(() => hitBy(chain.faults, { operation, seed: chain.scenario.seed, nowMillis }))),
        ),
      spendFault: (fault) =>
        change(
          Effect.suspend(() => {
            if (!chain.faults.armed.includes(fault)) return Effect.succeed(false)
            spend(chain.faults, fault)
            return Effect.as(file.saveState(chain), true)
          }),
        ),
      broken: Deferred.await(failure),
    }
  })

const submitTo = (chain: Chain, file: LedgerFile, bytes: Uint8Array): Effect.Effect<Submission, SandboxError> => {
  const hash = txHash(bytes)
  const turned = refuses(chain.mempool, hash, bytes.length)
  if (turned !== undefined) return Effect.succeed({ _tag: "Turned", text: turned })
  remember(chain.mempool, hash)
  const verdict = checkTx(chain, bytes)
  if (verdict.code !== codes.ok) {
    forget(chain.mempool, hash)
    return Effect.succeed({ _tag: "Checked", hash, code: verdict.code, text: verdict.text })
  }
  addPending(chain.mempool, verdict.tx)
  return Effect.as(file.saveAccepted(verdict.tx), { _tag: "Checked", hash, code: codes.ok, text: "" })
}
