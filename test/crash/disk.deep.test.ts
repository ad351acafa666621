import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, assert, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { makeDice } from "../support/Dice.ts"
import {
  afterPowerCut,
  compilePowerCut,
  type Files,
  type Note,
  powerCutNeeds,
  readNotes,
  watched,
  writeDisk,
} from "./disk.ts"

const text = (files: Files, name: string) => files.get(name)?.toString()
const write = (name: string, offset: number, data: string): Note => ({
  kind: "write",
  name,
  offset,
  data: Buffer.from(data),
})
const dice = () => makeDice("disk")

describe("a disk after a power cut", () => {
  it("holds all that was synced", () => {
    const notes: ReadonlyArray<Note> = [write("a", 0, "hello"), write("a", 5, " you"), { kind: "sync", name: "a" }]
    const cut = afterPowerCut(new Map([["b", Buffer.from("old")]]), notes, dice())
    assert.strictEqual(text(cut.files, "a"), "hello you")
    assert.strictEqual(text(cut.files, "b"), "old")
    assert.strictEqual(cut.synced, 2)
  })

  it("holds of the rest what chance lets through, and each outcome comes by", () => {
    const seen = new Set<string | undefined>()
    const old = "-".repeat(1_024)
    const fresh = "x".repeat(1_024)
    for (let seed = 0; seed < 200; seed++) {
      const cut = afterPowerCut(
        new Map([["a", Buffer.from(old)]]),
        [write("a", 0, fresh), { kind: "truncate", name: "a", offset: 512 }],
        makeDice(`disk ${seed}`),
      )
      seen.add(text(cut.files, "a"))
    }
    const halves = [fresh.slice(512) + old.slice(512), old.slice(512) + fresh.slice(512)]
    const all = [old, fresh, ...halves, fresh.slice(512), old.slice(512)]
    assert.sameMembers([...seen], all)
  })
})

/** Commits rows, says each number once its commit has returned, and kills itself. */
const committer = `
const { DatabaseSync } = require("node:sqlite")
const db = new DatabaseSync(process.argv[1])
for (const pragma of ["locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = " + process.argv[2]])
  db.exec("PRAGMA " + pragma)
db.exec("CREATE TABLE rows (n INTEGER PRIMARY KEY, filler TEXT)")
for (let n = 1; n <= 40; n++) {
  db.exec("INSERT INTO rows VALUES (" + n + ", hex(randomblob(2000)))")
  require("node:fs").writeSync(1, n + "\\n")
}
process.kill(process.pid, "SIGKILL")
`

describe("SQLite under powercut.c", () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "cofferer-disk-")))
  afterAll(() => rmSync(dir, { recursive: true, force: true }))
  const library = compilePowerCut(dir)

  const commit = (synchronous: "FULL" | "NORMAL") => {
    const file = join(dir, `${synchronous}.db`)
    const log = join(dir, `${synchronous}.log`)
    const node = join(root, "node_modules/.bin/node")
    const { stdout } = spawnSync(node, ["-e", committer, file, synchronous], {
      env: { PATH: process.env["PATH"] ?? "", ...watched(library ?? "", file, log) },
      timeout: 120_000,
    })
    const said = stdout.toString().trim().split("\n").length
    return { file, said, notes: readNotes(readFileSync(log)) }
  }

  const rowsAfterCut = (file: string, notes: ReadonlyArray<Note>, seed: number) => {
    writeDisk(file, afterPowerCut(new Map(), notes, makeDice(`sqlite ${seed}`)).files)
    const db = new DatabaseSync(file)
    try {
      assert.deepStrictEqual(db.prepare("PRAGMA integrity_check").all(), [{ integrity_check: "ok" }])
      const hasRows = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'rows'").get() !== undefined
      return hasRows ? Number(db.prepare("SELECT count(*) AS n FROM rows").get()?.["n"]) : 0
    } finally {
      db.close()
    }
  }

  it("keeps what was committed where each commit is synced, and only there", (context) => {
    if (library === undefined) return context.skip(powerCutNeeds)
    const full = commit("FULL")
    const normal = commit("NORMAL")
    assert.deepStrictEqual([full.said, normal.said], [40, 40])
    let lost = 0
    for (let seed = 0; seed < 20; seed++) {
      assert.strictEqual(rowsAfterCut(full.file, full.notes, seed), 40)
      if (rowsAfterCut(normal.file, normal.notes, seed) < 40) lost++
    }
    assert.isAbove(lost, 5)
  })
})
