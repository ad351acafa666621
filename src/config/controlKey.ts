import { randomBytes } from "node:crypto"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readUtf8 } from "./readBytes.ts"

export const controlKeyFile = "control-key"
const keyBytesMax = 200
const form = /^[0-9a-f]{64}$/

/** The secret by which a daemon shows that it is the one of its data directory; undefined where none can be read. */
export const readControlKey = (dataDir: string): string | undefined => {
  const text = readUtf8(join(dataDir, controlKeyFile), keyBytesMax)
  return typeof text === "string" && form.test(text.trim()) ? text.trim() : undefined
}

/**
 * The same for the daemon itself, which makes it where there is none: 256 bits in hex, mode 0600. Undefined where it
 * cannot be written, as on a full disk.
 */
export const makeControlKey = (dataDir: string): string | undefined => {
  const known = readControlKey(dataDir)
  if (known !== undefined) return known
  const file = join(dataDir, controlKeyFile)
  const key = randomBytes(32).toString("hex")
  try {
    rmSync(file, { force: true })
    writeFileSync(file, `${key}\n`, { mode: 0o600, flag: "wx" })
    return key
  } catch {
    return undefined
  }
}
