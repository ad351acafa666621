import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import type { Treasury } from "../../src/config/Treasury.ts"
import type { BaseUnits } from "../../src/domain/Amount.ts"
import type { PublicKey } from "../../src/domain/Hex.ts"
import type { Policy } from "../../src/rules/policy/Policy.ts"
import { keyOf } from "../../src/signer/KeyFile.ts"
import { Signer } from "../../src/signer/Signer.ts"
import { Database } from "../../src/store/database/Database.ts"
import { Clearance } from "../../src/store/payments/Clearance.ts"
import { type Body, effectOf } from "./it.ts"
import { testStore } from "./TestStore.ts"
import { tempDir } from "./tempDir.ts"

/** A key in a file of a folder of its own; the words make another key. */
export const keyInFile = (words: string) => {
  const dir = tempDir("signer")
  const seed = createHash("sha256").update(words).digest()
  const file = join(dir, "key")
  writeFileSync(file, `${seed.toString("hex")}\n`, { mode: 0o600 })
  return { dir, seed, file, publicKey: (keyOf(Buffer.from(seed))?.publicKey ?? "") as PublicKey }
}

/** Policy of a signer of tests, but for its lines. */
export const plainPolicy = {
  maxFee: { numerator: 1n, denominator: 100n },
  digest: "d".repeat(64),
  hash: "d".repeat(8),
}

interface SignerSetup {
  readonly key: Pick<ReturnType<typeof keyInFile>, "file" | "publicKey">
  readonly policy: Policy
  /** Symbols by the ids of assets. */
  readonly assets: ReadonlyMap<string, string>
  /** Unix milliseconds at which the clock stands. */
  readonly at: number
  readonly maxAgeMillis?: number
  readonly floor?: ReadonlyMap<string, BaseUnits>
  /** False where another process moves the money; true by default. */
  readonly isLeaseHeld?: boolean
}

/** The signer of a cleared key in live mode, by a configuration that says only what it reads, on a store of its own. */
const signerLayer = ({
  key,
  policy,
  assets,
  maxAgeMillis = 30_000,
  floor = new Map(),
  isLeaseHeld = true,
}: SignerSetup) => {
  const party = { name: "p", publicKey: key.publicKey, signer: { file: key.file }, floor, transfersKept: 0 }
  const treasury = {
    name: "test",
    policy,
    assets: new Map([...assets].map(([id, symbol]) => [symbol, { id, symbol }])),
    parties: new Map([[party.name, party]]),
    network: { chainId: "chain", maxAgeMillis },
  } as unknown as Treasury
  const store = testStore()
  const layer = Signer.layerNoDeps([{ party, file: key.file }]).pipe(
    Layer.provideMerge(ConfigInForce.layer({ treasury, mode: "live" })),
    Layer.updateService(Database, (one) => ({ ...one, isLeaseHeld: Effect.succeed(isLeaseHeld) })),
    Layer.provideMerge(store.layer()),
  )
  return { store, layer }
}

export const withSigner = (
  setup: SignerSetup,
  use: Body<[signer: Signer["Service"]], Layer.Success<ReturnType<typeof signerLayer>["layer"]>>,
) =>
  Effect.gen(function* () {
    const { store, layer } = signerLayer(setup)
    yield* TestClock.setTime(setup.at)
    const cleared = Effect.flatMap(Clearance, (clearance) =>
      Effect.andThen(clearance.quarantine(undefined), clearance.grant(setup.key.publicKey, true)),
    )
    yield* cleared.pipe(
      Effect.andThen(Effect.flatMap(Signer, (signer) => effectOf(use(signer)))),
      Effect.provide(layer),
      Effect.ensuring(Effect.sync(store.remove)),
    )
  })
