import { spawnSync } from "node:child_process"
import { symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { tempDir } from "../support/tempDir.ts"
import { type Manifest, manifestTexts, readManifests } from "./manifests.ts"

/** Each manifest as a literal of its type, which may have no key that the type does not have. */
const programOf = (manifests: ReadonlyArray<Manifest>): string =>
  manifests
    .map((manifest, n) => {
      const { apiVersion, kind } = manifest
      const own = kind === "ServiceMonitor" ? "@kubernetes-models/prometheus-operator" : "kubernetes-models"
      return `import type { I${kind} } from "${own}/${apiVersion}/${kind}"
export const a${n}: I${kind} = ${JSON.stringify(manifest)}`
    })
    .join("\n")

describe("the manifests for Kubernetes", () => {
  const dir = tempDir("manifests")
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"))
  const complaints = (texts: ReadonlyArray<string>): string => {
    writeFileSync(join(dir, "package.json"), '{ "type": "module" }')
    writeFileSync(join(dir, "manifests.ts"), programOf(readManifests(texts)))
    const compiler = join(root, "node_modules/typescript/bin/tsc")
    const args = [compiler, "--ignoreConfig", "--noEmit", "--skipLibCheck", "--module", "nodenext", "manifests.ts"]
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: dir, encoding: "utf8", timeout: 120_000 })
    return stdout + stderr
  }

  it("have no key that Kubernetes does not know: it would drop it", () => {
    assert.strictEqual(complaints(manifestTexts), "")
    const misspelled = manifestTexts.map((text) => text.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem"))
    assert.match(complaints(misspelled), /readOnlyRootFileSystem"' does not exist/)
  })
})
