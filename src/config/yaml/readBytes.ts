import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs"

/** Reason why a file was not read, as text that follows its name, and the system's error code, if there is one. */
interface NotRead {
  readonly problem: string
  readonly code: string | undefined
}

const chunkBytes = 65_536

/**
 * Reads a regular file of at most `bytesMax` bytes, also if it grows meanwhile. Never waits for a pipe or a device.
 */
export const readBytes = (file: string, bytesMax: number): Buffer | NotRead => {
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(fd)
      if (!stat.isFile()) return { problem: "is not a file", code: stat.isDirectory() ? "EISDIR" : undefined }
      if (stat.size > bytesMax) return tooLarge(bytesMax)
      return readUpTo(fd, bytesMax)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A socket, or a device that is not there.
    if (code === "ENXIO" || code === "ENODEV") return { problem: "is not a file", code }
    return { problem: code === "ENOENT" ? "no such file" : `cannot be read (${code})`, code }
  }
}

const tooLarge = (bytesMax: number): NotRead => ({ problem: `has more than ${megabytes(bytesMax)}`, code: undefined })

const megabytes = (bytes: number): string => (bytes < 1_000_000 ? `${bytes / 1_000} kB` : `${bytes / 1_000_000} MB`)

const readUpTo = (fd: number, bytesMax: number): Buffer | NotRead => {
  const chunks: Array<Buffer> = []
  let length = 0
  for (;;) {
    const chunk = Buffer.alloc(chunkBytes)
    const read = readSync(fd, chunk, 0, chunkBytes, null)
    if (read === 0) return Buffer.concat(chunks, length)
    chunks.push(chunk.subarray(0, read))
    length += read
    if (length > bytesMax) return tooLarge(bytesMax)
  }
}

/** The text of a configuration file; "" where it cannot be read. */
export const textIn = (file: string): string => {
  const text = readUtf8(file, 4_000_000)
  return typeof text === "string" ? text : ""
}

/** The same as text. Bytes that are not UTF-8 are a problem. */
export const readUtf8 = (file: string, bytesMax: number): string | NotRead => {
  const bytes = readBytes(file, bytesMax)
  if ("problem" in bytes) return bytes
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return { problem: "is not UTF-8 text", code: undefined }
  }
}
