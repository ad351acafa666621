import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { GatewayError } from "../../src/gateway/GatewayError.ts"
import { GatewayReader } from "../../src/gateway/GatewayReader.ts"
import { watchChain } from "../../src/poller/watchChain.ts"
import { Controls, haltSigning } from "../../src/store/controls/Controls.ts"
import { Database } from "../../src/store/database/Database.ts"
import { ChainState } from "../../src/store/network/ChainState.ts"
import { testStore } from "../support/TestStore.ts"
import { twice } from "../support/twice.ts"

const chainId = "c"
const stray = { kind: "changed", since: 1, kindSince: 1, height: 5n, why: "it begins again", isTold: true } as const
const before = { accepted: { height: 900n, at: 1 }, stray }
const reason = { _tag: "BegunAgain", detail: "begins again", chainId } as const
const gateway = Layer.mock(GatewayReader, {
  head: Effect.fail(new GatewayError({ gateway: "a", operation: "height", reason })),
})

describe("a chain that operators accept again", () => {
  it.effect("is stored though the transaction that accepts it ran twice", () => {
    const store = testStore()
    const headNow = Effect.flatMap(ChainState, (chain) => chain.acceptedHead(chainId))
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        yield* (yield* ChainState).keepHead(chainId, before)
        yield* Effect.provideServiceEffect(watchChain(), Database, twice)
        assert.strictEqual((yield* headNow).accepted?.height, 5n)
      }).pipe(Effect.provide(Layer.merge(store.layer(), gateway)))
      const again = yield* Effect.provide(headNow, store.layer())
      assert.strictEqual(again.accepted?.height, 5n, "by the next process too")
    }).pipe(Effect.ensuring(Effect.sync(store.remove)))
  })

  it.effect("is not accepted by the resume of a halt that named another cause", () => {
    const store = testStore()
    return Effect.gen(function* () {
      const chain = yield* ChainState
      const controls = yield* Controls
      const accepted = Effect.map(chain.acceptedHead(chainId), (head) => head.accepted?.height)
      yield* chain.keepHead(chainId, { ...before, stray: { ...stray, isTold: false } })
      yield* haltSigning("chain_changed", "the gateway is on chain d")
      yield* watchChain()
      yield* controls.release("chain_changed", "ana: the address is right again")
      yield* watchChain()
      assert.strictEqual(yield* accepted, 900n)
      assert.match((yield* controls.halts)[0]?.detail ?? "", /begins again/)
      yield* controls.release("chain_changed", "ana: it was reset")
      yield* watchChain()
      assert.strictEqual(yield* accepted, 5n)
    }).pipe(Effect.provide(Layer.merge(store.layer(), gateway)), Effect.ensuring(Effect.sync(store.remove)))
  })
})
