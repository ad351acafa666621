import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs"

/** Why a file was not read, in words that follow its name, and the code of the system where there is one. */
interface NotRead {
  readonly problem: string
  readonly code: string | undefined
}

const chunkBytes = 65_536

/**
 * The bytes of a regular file, or why not: no such file, another kind of file, more than so many bytes. A pipe or a
 * device is never waited for, and what grows while it is read is read up to the bound.
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

/** The same as text; undefined characters are a problem of their own. */
export const readUtf8 = (file: string, bytesMax: number): string | NotRead => {
  const bytes = readBytes(file, bytesMax)
  if ("problem" in bytes) return bytes
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return { problem: "is not UTF-8 text", code: undefined }
  }
}
