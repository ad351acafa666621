import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import { socketOf } from "../../src/cli/common/client.ts"
import { refuseMarkFolder, secureDataDir, writableByOthers } from "../../src/config/ownFiles.ts"
import { socketFile } from "../../src/http/ControlServer.ts"

const dir = realpathSync(mkdtempSync(join(tmpdir(), "cofferer-own-")))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

// To give a file to another user takes root.
const isRoot = process.getuid?.() === 0
const needsRoot = "needs root"

const modeOf = (path: string): number => statSync(path).mode & 0o777
const secured = (path: string) => Effect.runPromise(Effect.result(secureDataDir(path)))

/** [owner, group, mode], seen by user 10001 of the groups 10001 and 2000. */
const seen: ReadonlyArray<readonly [string, readonly [number, number, number], RegExp | undefined]> = [
  ["its own", [10001, 10001, 0o700], undefined],
  ["its own, which others may read", [10001, 10001, 0o755], undefined],
  ["root's", [0, 0, 0o755], undefined],
  ["root's, of a group of this process, as a volume of Kubernetes", [0, 2000, 0o2775], undefined],
  ["root's, of another group", [0, 3000, 0o775], /group 3000/],
  ["root's, of everybody", [0, 0, 0o777], /everybody/],
  ["root's, of everybody, with a sticky bit", [0, 0, 0o1777], /everybody/],
  ["its own, of a group", [10001, 2000, 0o770], /group 2000/],
  ["another user's", [1002, 1002, 0o700], /belongs to user 1002/],
  ["another user's, which cannot be written", [1002, 1002, 0o500], /belongs to user 1002/],
]

describe("what another user could write", () => {
  it.each([...seen])("%s", (_, [uid, gid, mode], says) => {
    const why = writableByOthers({ uid, gid, mode } as Stats, { uid: 10001, groups: [10001, 2000] })
    if (says === undefined) assert.isUndefined(why)
    else assert.match(why ?? "nothing", says)
  })
})

describe("a data directory", () => {
  it("is made for this user alone", async () => {
    const data = join(dir, "new/data")
    assert.deepInclude(await secured(data), { success: { dir: data, mended: [] } })
    assert.strictEqual(modeOf(data), 0o700)
  })

  it("has what is ours in it mended, each with a line, and nothing else", async () => {
    const data = join(dir, "loose")
    mkdirSync(data)
    chmodSync(data, 0o777)
    for (const name of ["cofferer.db", "read-token", "notes.txt", "HALT"]) writeFileSync(join(data, name), "")
    chmodSync(join(data, "cofferer.db"), 0o666)
    chmodSync(join(data, "read-token"), 0o640)
    chmodSync(join(data, "notes.txt"), 0o644)
    const done = await secured(data)
    const mended = done._tag === "Success" ? done.success.mended : []
    assert.deepStrictEqual(mended, [
      `${data}  had mode 0777, and has 0700 now: nobody else reads or writes it`,
      `${data}/cofferer.db  had mode 0666, and has 0600 now: nobody else reads or writes it`,
      `${data}/read-token  had mode 0640, and has 0600 now: nobody else reads or writes it`,
    ])
    assert.deepStrictEqual(
      ["", "cofferer.db", "read-token", "notes.txt"].map((name) => modeOf(join(data, name))),
      [0o700, 0o600, 0o600, 0o644],
    )
    assert.deepInclude(await secured(data), { success: { dir: data, mended: [] } })
  })

  it("may be a link, which is followed once", async () => {
    const real = join(dir, "real")
    mkdirSync(real, { mode: 0o700 })
    const link = join(dir, "link")
    symlinkSync(real, link)
    assert.deepInclude(await secured(link), { success: { dir: real, mended: [] } })
  })

  it("that is a file is refused with a remedy", async () => {
    const file = join(dir, "file")
    writeFileSync(file, "")
    const done = await secured(file)
    assert.match(done._tag === "Failure" ? done.failure.message : "", /file {2}the data directory cannot be used \(E/)
  })

  it("that is another user's link is refused: it may lead to another treasury", async ({ skip }) => {
    skip(!isRoot, needsRoot)
    const real = join(dir, "other-treasury")
    mkdirSync(real, { mode: 0o700 })
    const link = join(dir, "foreign-link")
    symlinkSync(real, link)
    lchownSync(link, 1002, 1002)
    const done = await secured(link)
    assert.match(done._tag === "Failure" ? done.failure.message : "", /foreign-link {2}is a link of user 1002/)
    const trusted = socketOf(link)
    assert.match("problem" in trusted ? trusted.problem : "", /foreign-link is a link of user 1002/)
  })

  it("whose socket cannot be looked at is refused with its reason, and not taken for one without a daemon", () => {
    const data = join(dir, "unreadable")
    mkdirSync(data, { mode: 0o700 })
    // As a directory that this user may not enter, and for root too: a link to itself.
    symlinkSync(socketFile, join(data, socketFile))
    assert.deepStrictEqual(socketOf(data), { problem: `${data} cannot be read (ELOOP)` })
  })

  const foreign = ["cofferer.db", "cofferer.db-journal", "read-token", ""]
  it.for(foreign)("is refused where another user's %s lies in it", async (name, { skip }) => {
    skip(!isRoot, needsRoot)
    const data = join(dir, `foreign-${name}`)
    mkdirSync(data, { mode: 0o700 })
    const path = join(data, name)
    if (!existsSync(path)) writeFileSync(path, "")
    chownSync(path, 1002, 1002)
    const done = await secured(data)
    assert.match(done._tag === "Failure" ? done.failure.message : "", /belongs to user 1002: .*; run this as that user/)
  })
})

describe("a data directory that others can write", () => {
  it("is refused where they left something in it, and then is not shut either", async ({ skip }) => {
    skip(!isRoot, needsRoot)
    const data = join(dir, "left")
    mkdirSync(data)
    chmodSync(data, 0o777)
    for (const name of ["HALT", "own.txt", "left.txt"]) writeFileSync(join(data, name), "")
    for (const name of ["HALT", "left.txt"]) chownSync(join(data, name), 1002, 1002)
    const refused = async () => {
      const done = await secured(data)
      return done._tag === "Failure" ? done.failure.message : ""
    }
    assert.match(await refused(), /left\/left\.txt {2}user 1002 left it in a dir.*; look at it, remove it or give/)
    assert.match(await refused(), /left\/left\.txt {2}user 1002 left it/, "again")
    rmSync(join(data, "left.txt"))
    assert.strictEqual(await refused(), "")
    assert.strictEqual(modeOf(data), 0o700)
  })

  it("is accepted if only its own user can write it", async ({ skip }) => {
    skip(!isRoot, needsRoot)
    const data = join(dir, "given")
    mkdirSync(data, { mode: 0o700 })
    writeFileSync(join(data, "note.txt"), "")
    chownSync(join(data, "note.txt"), 1002, 1002)
    assert.deepInclude(await secured(data), { success: { dir: data, mended: [] } })
  })
})

describe("the folder of a watermark", () => {
  it("is refused if others may write it, and if it takes no file", async () => {
    const folder = join(dir, "marks")
    mkdirSync(folder, { mode: 0o700 })
    const refused = async (file: string | undefined) => {
      const done = await Effect.runPromise(Effect.result(refuseMarkFolder(file)))
      return done._tag === "Failure" ? done.failure.message : undefined
    }
    assert.isUndefined(await refused(join(folder, "mark")))
    assert.isUndefined(await refused(undefined))
    assert.match(
      (await refused(join(folder, "missing/mark"))) ?? "",
      /marks\/missing {2}the watermark cannot be written there \(ENOENT\), and nothing is sent without it; make the folder/,
    )
    writeFileSync(join(folder, "note.txt"), "")
    assert.match((await refused(join(folder, "note.txt/mark"))) ?? "", /cannot be written there \(ENOTDIR\)/)
    chmodSync(folder, 0o777)
    assert.match((await refused(join(folder, "mark"))) ?? "", /the folder of the watermark may be written by every/)
  })
})
