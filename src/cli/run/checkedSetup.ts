import { Effect } from "effect"
import { needCertificates, ProcessContext } from "../../config/Environment.ts"
import { refuseMarkFolder, secureDataDir } from "../../config/ownFiles.ts"
import { formatProblem } from "../../config/yaml/ConfigError.ts"
import { checkKeys, checkNetwork, looseSecrets } from "../checks.ts"
import { missingSandboxKeys } from "../common/sandboxClient.ts"
import { type Chosen, filesOf, setup, typedFiles } from "../common/setup.ts"

/** Reads the files and secures the data directory. Warnings are of settings, keys and file modes, a line each. */
export const checkedSetup = Effect.fnUntraced(function* (chosen: Chosen & { readonly sandbox: boolean }) {
  const written = yield* setup(chosen)
  const { treasury, mode } = written
  yield* needCertificates((yield* ProcessContext).env, mode)
  const { warnings } = yield* checkKeys(written, true)
  const problems = [...(yield* checkNetwork(treasury)), ...warnings, ...looseSecrets(written)]
  const lacking = chosen.sandbox
    ? undefined
    : missingSandboxKeys(written, `cofferer run --sandbox ${typedFiles(filesOf(chosen))}`)
  if (lacking !== undefined) return yield* lacking
  const { dir: dataDir, mended } = yield* secureDataDir(written.dataDir)
  yield* refuseMarkFolder(treasury.watermarkFile)
  return { found: { ...written, dataDir }, warnings: [...problems.map(formatProblem), ...mended] }
})

/** The message of a store that cannot be opened; if its disk is full, with the remedy. */
export const storeText = (message: string, dataDir: string): string =>
  /disk is full/.test(message) ? `${message}; free space under ${dataDir}` : message
