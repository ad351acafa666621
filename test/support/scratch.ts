import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Memory that looks like a folder, where there is enough of it: a commit of a test needs no disk. */
const memory = "/dev/shm"
const hasMemory = () => {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > 512 * 2 ** 20
  } catch {
    return false
  }
}

/** One folder for all temporary files of a run, which goes with it: a test that fails or forgets leaves nothing. */
export default () => {
  const dir = mkdtempSync(join(hasMemory() ? memory : tmpdir(), "cofferer-"))
  // PostgreSQL runs as a user of its own.
  chmodSync(dir, 0o755)
  // The machine's own folder for tests that run a program from it: memory may forbid that.
  process.env["COFFERER_TEST_PROGRAMS"] = tmpdir()
  process.env["TMPDIR"] = dir
  return () => rmSync(dir, { recursive: true, force: true })
}
