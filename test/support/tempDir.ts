import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"

/** A new folder, which goes after the last test of the file or of the `describe` that asks for it. */
export const tempDir = (name: string): string => {
  const dir = mkdtempSync(join(tmpdir(), `cofferer-${name}-`))
  afterAll(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}
