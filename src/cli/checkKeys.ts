import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { ConfigError, type Problem } from "../config/ConfigError.ts"
import { nameRemedy } from "../config/nearest.ts"
import { isEmbedded, type Treasury } from "../config/Treasury.ts"
import type { Party } from "../rules/Rule.ts"
import { publicKeyOf } from "../sandbox/Keys.ts"
import { decodeScenario, type Scenario } from "../sandbox/Scenario.ts"
import { openKeyFile } from "../signer/KeyFile.ts"
import { sandboxDir } from "./sandboxClient.ts"
import type { Setup } from "./setup.ts"

/** What is wrong with keys: `warnings` keep nothing from running. */
interface Findings {
  readonly errors: Array<Problem>
  readonly warnings: Array<Problem>
}

/** A key file is opened once and let go of: a wrong one is found before anything runs, with its line. */
const checkFile = Effect.fnUntraced(function* (treasury: Treasury, party: Party, file: string, found: Findings) {
  const path = ["parties", party.name, "signer", ...Object.keys(party.signer ?? {})]
  yield* openKeyFile(file, party.publicKey).pipe(
    Effect.catchTag("ConfigError", (error) =>
      Effect.sync(() => {
        for (const { message, remedy } of error.problems) {
          found.errors.push(treasury.document.problem(path, `${file}: ${message}`, remedy))
        }
      }),
    ),
  )
})

/** The embedded network makes its keys from its seed, so the right ones are known before it runs. */
const checkMade = (treasury: Treasury, { seed, parties }: Scenario, party: Party, found: Findings): void => {
  const { name, publicKey, signer } = party
  const isPayer = signer !== undefined && "sandbox" in signer
  const key = isPayer ? signer.sandbox : name
  if (!parties.includes(key)) {
    if (!isPayer) return
    const remedy = nameRemedy(key, parties, "add it under sandbox.parties")
    const path = ["parties", name, "signer", "sandbox"]
    found.errors.push(treasury.document.problem(path, `the sandbox has no party "${key}"`, remedy))
    return
  }
  const right = publicKeyOf(seed, key)
  if (right === publicKey) return
  const message = `parties.${name}.publicKey is not the key that the sandbox makes for ${key}`
  const problem = treasury.document.problem(["parties", name, "publicKey"], message, `write publicKey: "${right}"`)
  if (isPayer) found.errors.push(problem)
  else if (signer === undefined) found.warnings.push(problem)
}

/**
 * Looks at every key, and fails with all that is wrong. Returns what is merely missing: where nothing is signed, or
 * where the keys are not to be opened now.
 */
export const checkKeys = Effect.fnUntraced(function* ({ treasury, mode, dataDir }: Setup, opens: boolean) {
  const found: Findings = { errors: [], warnings: [] }
  const parties = [...treasury.parties.values()]
  const isMade = parties.some(({ signer }) => signer !== undefined && "sandbox" in signer)
  const scenario =
    isMade && isEmbedded(treasury) ? yield* decodeScenario(treasury.document, treasury.network.chainId) : undefined
  for (const party of parties) {
    const { name, signer } = party
    if (scenario !== undefined) checkMade(treasury, scenario, party, found)
    if (signer === undefined || (scenario !== undefined && "sandbox" in signer)) continue
    const file = "file" in signer ? signer.file : join(dataDir, sandboxDir, "keys", signer.sandbox)
    if (existsSync(file)) {
      yield* checkFile(treasury, party, file, found)
      continue
    }
    const remedy =
      "file" in signer
        ? `make it: cofferer keys new ${file}, and write the public key that it prints`
        : "add sandbox: { seed, parties, assets }, or name signer: { file }"
    const at = ["parties", name, "signer", "file" in signer ? "file" : "sandbox"]
    const missing = opens && mode === "live" ? found.errors : found.warnings
    missing.push(treasury.document.problem(at, `no such file: ${file}`, remedy))
  }
  if (found.errors.length > 0) return yield* new ConfigError({ problems: found.errors })
  return found.warnings
})
