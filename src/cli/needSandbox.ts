import { existsSync } from "node:fs"
import { join } from "node:path"
import { ConfigError, type Problem } from "../config/ConfigError.ts"
import { isEmbedded } from "../config/Treasury.ts"
import { sandboxDir } from "./sandboxClient.ts"
import type { Setup } from "./setup.ts"

/** Keys that the file's own network makes when it runs, and has not made yet: undefined where nothing lacks them. */
export const needSandbox = ({ treasury, mode, dataDir }: Setup, command: string): ConfigError | undefined => {
  if (mode !== "live" || !isEmbedded(treasury)) return undefined
  const problems = [...treasury.parties.values()].flatMap(({ name, signer }): ReadonlyArray<Problem> => {
    if (signer === undefined || !("sandbox" in signer)) return []
    if (existsSync(join(dataDir, sandboxDir, "keys", signer.sandbox))) return []
    const message = `the key ${signer.sandbox} is made by the file's own network, which does not run here`
    return [treasury.document.problem(["parties", name, "signer", "sandbox"], message, `add --sandbox: ${command}`)]
  })
  return problems.length === 0 ? undefined : new ConfigError({ problems })
}
