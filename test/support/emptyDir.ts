import { existsSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const memory = "/dev/shm"

/** A new folder in memory, where there is such: a crash loses what is not committed as on a disk, which is slower. */
export const emptyDir = (prefix: string): string =>
  mkdtempSync(join(process.env["TMPDIR"] ?? (existsSync(memory) ? memory : tmpdir()), prefix))
