import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Dice } from "../support/Dice.ts"

/** Files by name. */
export type Files = ReadonlyMap<string, Buffer>

/** One change of a file, or a sync of all that were made to it before. */
export type Note =
  | { readonly kind: "write"; readonly name: string; readonly offset: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly name: string; readonly offset: number }
  | { readonly kind: "sync" | "unlink"; readonly name: string }

const kinds = ["", "write", "truncate", "sync", "unlink"] as const
const headBytes = 24

/** What powercut.c noted. A last note without its end is of a change that had not begun. */
export const readNotes = (log: Buffer): ReadonlyArray<Note> => {
  const notes: Array<Note> = []
  for (let at = 0; at + headBytes <= log.length; ) {
    const nameLength = log.readUInt32LE(at + 4)
    const dataLength = Number(log.readBigUInt64LE(at + 8))
    const offset = Number(log.readBigUInt64LE(at + 16))
    const kind = kinds[log.readUInt32LE(at)]
    const dataAt = at + headBytes + nameLength
    if (dataAt + dataLength > log.length) break
    const name = basename(log.toString("utf8", at + headBytes, dataAt))
    at = dataAt + dataLength
    if (kind === "write") notes.push({ kind, name, offset, data: log.subarray(dataAt, at) })
    else if (kind === "truncate") notes.push({ kind, name, offset })
    else if (kind === "sync" || kind === "unlink") notes.push({ kind, name })
    else throw new Error(`${name} was changed in a way that powercut.c does not know`)
  }
  return notes
}

/** A disk writes sectors whole, pages of several not. */
const sectorBytes = 512

const writeAt = (file: Buffer, offset: number, data: Buffer): Buffer => {
  const grown = offset + data.length > file.length ? Buffer.concat([file], offset + data.length) : Buffer.from(file)
  data.copy(grown, offset)
  return grown
}

type Change = Exclude<Note, { kind: "sync" | "unlink" }>

const applied = (file: Buffer, change: Change): Buffer => {
  if (change.kind === "write") return writeAt(file, change.offset, change.data)
  return change.offset <= file.length
    ? Buffer.from(file.subarray(0, change.offset))
    : Buffer.concat([file], change.offset)
}

/** Some of its sectors, in the worst case not the first. */
const torn = (file: Buffer, change: Change, dice: Dice): Buffer => {
  if (change.kind === "truncate") return file
  let result = file
  for (let at = 0; at < change.data.length; at += sectorBytes) {
    if (dice.next() < 0.5) continue
    result = writeAt(result, change.offset + at, change.data.subarray(at, at + sectorBytes))
  }
  return result
}

export interface PowerCut {
  readonly files: Files
  readonly synced: number
  /** Changes that were not synced: how many reached the disk all the same, in part, or not at all. */
  readonly kept: number
  readonly torn: number
  readonly dropped: number
}

/** What a disk holds after a power cut: all that was synced, and of the rest what chance let through, in any order. */
export const afterPowerCut = (before: Files, notes: ReadonlyArray<Note>, dice: Dice): PowerCut => {
  const files = new Map(before)
  const waiting = new Map<string, Array<Change>>()
  const fate = { synced: 0, kept: 0, torn: 0, dropped: 0 }
  const lastSync = notes.findLastIndex(({ kind }) => kind === "sync")
  for (const [i, note] of notes.entries()) {
    const changes = waiting.get(note.name) ?? []
    if (note.kind === "write" || note.kind === "truncate") waiting.set(note.name, [...changes, note])
    else {
      waiting.delete(note.name)
      if (note.kind === "sync") {
        fate.synced += changes.length
        files.set(note.name, changes.reduce(applied, files.get(note.name) ?? Buffer.alloc(0)))
      } else if (i < lastSync || dice.next() < 0.5) files.delete(note.name)
    }
  }
  const share = dice.pick([0, 0.3, 0.9, 1]) ?? 0
  for (const [name, changes] of waiting) {
    let file = files.get(name) ?? Buffer.alloc(0)
    for (const change of changes) {
      if (dice.next() < share) {
        fate.kept++
        file = applied(file, change)
      } else if (dice.next() < 0.3) {
        fate.torn++
        file = torn(file, change, dice)
      } else fate.dropped++
    }
    files.set(name, file)
  }
  return { files, ...fate }
}

/** The files whose path begins so. */
export const readDisk = (prefix: string): Files =>
  new Map(
    readdirSync(dirname(prefix))
      .filter((name) => name.startsWith(basename(prefix)))
      .map((name) => [name, readFileSync(join(dirname(prefix), name))]),
  )

/** Puts these files, and no others, in their place. A file keeps its inode. */
export const writeDisk = (prefix: string, files: Files): void => {
  for (const name of readDisk(prefix).keys()) if (!files.has(name)) rmSync(join(dirname(prefix), name))
  for (const [name, bytes] of files) writeFileSync(join(dirname(prefix), name), bytes)
}

const compilers = ["cc", "gcc", "clang"]

/** What powercut.c cannot do without. */
export const powerCutNeeds = "power cuts need Linux and a C compiler (cc, gcc or clang)"

/** Builds powercut.c as a library in the directory; undefined where it cannot be. */
export const compilePowerCut = (dir: string): string | undefined => {
  const found = (process.env["PATH"] ?? "").split(":").flatMap((folder) => compilers.map((name) => join(folder, name)))
  const compiler = found.find((path) => existsSync(path))
  if (compiler === undefined || process.platform !== "linux") return undefined
  const library = join(dir, "powercut.so")
  const source = fileURLToPath(new URL("powercut.c", import.meta.url))
  execFileSync(compiler, ["-shared", "-fPIC", "-O1", "-Wall", "-o", library, source, "-ldl"], { timeout: 120_000 })
  return library
}

/** The environment of a process whose disk is watched. */
export const watched = (library: string, prefix: string, log: string): Readonly<Record<string, string>> => ({
  LD_PRELOAD: library,
  COFFERER_TEST_DISK: prefix,
  COFFERER_TEST_DISK_LOG: log,
})
