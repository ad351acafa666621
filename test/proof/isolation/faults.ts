import { spawnSync } from "node:child_process"
import { copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { publicKeyOf } from "../../../src/sandbox/Keys.ts"
import type { World } from "./World.ts"

/** Breaks one treasury; the result mends it. */
type Fault = (world: World, name: string) => Promise<() => Promise<unknown>>

/** Ends a treasury, changes something of it, and starts it again. */
const restarted = async (world: World, name: string, change: () => unknown) => {
  const [file, away] = [world.fileOf(name), `${world.fileOf(name)}.away`]
  const ended = world.next(name, "daemon stopped")
  renameSync(file, away)
  world.hangUp()
  await ended
  await change()
  renameSync(away, file)
  world.hangUp()
}

const startedAgain = async (world: World, name: string, mend: () => void) => {
  mend()
  const ready = world.next(name, "daemon starting")
  world.hangUp()
  await ready
}

/** True once this is the only connection: it stays so until it is closed. */
const isLocked = (db: DatabaseSync): boolean => {
  try {
    db.exec("BEGIN EXCLUSIVE")
    return true
  } catch {
    return false
  }
}

/** The store of a treasury that ended: its log says so before the file is closed, and what is written is whole. */
const closedStore = async (file: string): Promise<DatabaseSync> => {
  const db = new DatabaseSync(file)
  while (!isLocked(db)) await sleep(50)
  return db
}

/** Sixty accounts of its own key that all are below their level. */
const flooding = (text: string): string => {
  const parties = Array.from({ length: 60 }, (_, n) => `p${n}`)
  return text
    .replace("\nrules:\n", (rules) => {
      const lines = parties.map((name) => `  ${name}: { publicKey: "${publicKeyOf("flood", name)}" }`)
      const levels = parties.map((name) => `{ party: ${name}, asset: B, below: "10", target: "20" }`)
      const rule = `{ name: flood, topUp: { from: reserve, levels: [${levels.join(", ")}] } }`
      return `\n${lines.join("\n")}${rules}  - ${rule}\n`
    })
    .replace("  allow:\n", (allow) => {
      const to = `[${parties.join(", ")}]`
      const limits = 'perTransfer: "100", per24h: "100_000", transfersPer24h: 1000'
      return `${allow}    - { from: reserve, to: ${to}, asset: B, ${limits} }\n`
    })
}

const halted: Fault = async (world, name) => {
  await world.call(name, "halt", "--reason", "isolation")
  return () => world.call(name, "resume", "--reason", "isolation")
}

export const faults: Readonly<Record<string, Fault>> = {
  "file broken and reloaded": async (world, name) => {
    writeFileSync(world.fileOf(name), "version: 1\nrules: [\n")
    world.hangUp()
    return async () => {
      writeFileSync(world.fileOf(name), world.textOf(name))
      world.hangUp()
    }
  },
  halted,
  "gateway hangs": async (world, name) => {
    world.hanging.gateway = name
    return async () => {
      world.hanging.gateway = ""
    }
  },
  "disk full": async (world, name) => {
    const ballast = join(world.dataOf(name), "ballast")
    // It takes what there is, and prints that it is no more.
    spawnSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=64k"], { stdio: "ignore", timeout: 60_000 })
    return async () => rmSync(ballast)
  },
  "database locked": async (world, name) => {
    let other: DatabaseSync | undefined
    await restarted(world, name, async () => {
      other = await closedStore(join(world.dataOf(name), "cofferer.db"))
    })
    return () => startedAgain(world, name, () => other?.close())
  },
  "database replaced": async (world, name) => {
    const starting = world.next(name, "signing halted")
    await restarted(world, name, async () => {
      const file = join(world.dataOf(name), "cofferer.db")
      const store = await closedStore(file)
      store.close()
      copyFileSync(file, `${file}.copy`)
      renameSync(`${file}.copy`, file)
    })
    await starting
    return () => world.call(name, "recover", "--reason", "isolation")
  },
  "flood of payments": async (world, name) => {
    writeFileSync(world.fileOf(name), flooding(world.textOf(name)))
    await world.call(name, "reload", "--allow-weaker", "--reason", "isolation")
    return async () => {
      writeFileSync(world.fileOf(name), world.textOf(name))
      await world.call(name, "reload", "--reason", "isolation")
    }
  },
  "receiver hangs": async (world, name) => {
    world.hanging.receiver = name
    const resume = await halted(world, name)
    return async () => {
      await resume()
      world.hanging.receiver = ""
    }
  },
  "key missing": async (world, name) => {
    const file = world.keyFileOf(name)
    await restarted(world, name, () => renameSync(file, `${file}.away`))
    return () => startedAgain(world, name, () => renameSync(`${file}.away`, file))
  },
}
