import { closeSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { writeHeapSnapshot } from "node:v8"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { commandLine, exitCodeOf } from "../../../src/cli/root.ts"

/**
 * The daemon as it is, but that SIGUSR2 makes it write down all that its memory holds, as files under
 * COFFERER_TEST_SHOW, and "shown" when it has. Nothing here knows the key.
 */
const folder = process.env["COFFERER_TEST_SHOW"] ?? ""
const chunkBytes = 1 << 20

/** Every part of the address space that this process may write to. */
const copyMemory = (to: string): void => {
  const maps = readFileSync("/proc/self/maps", "latin1")
  const memory = openSync("/proc/self/mem", "r")
  const copy = openSync(to, "w")
  const buffer = Buffer.alloc(chunkBytes)
  for (const [, begin = "", end = ""] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
    const last = Number.parseInt(end, 16)
    for (let at = Number.parseInt(begin, 16); at < last; at += chunkBytes) {
      try {
        writeSync(copy, buffer, 0, readSync(memory, buffer, 0, Math.min(chunkBytes, last - at), at))
      } catch {
        // Some parts, of the kernel's own, cannot be read.
      }
    }
  }
  closeSync(copy)
  closeSync(memory)
}

process.on("SIGUSR2", () => {
  writeFileSync(join(folder, "pool"), Buffer.from(Buffer.from("x").buffer))
  writeFileSync(join(folder, "report"), JSON.stringify(process.report.getReport()))
  writeHeapSnapshot(join(folder, "heap"))
  copyMemory(join(folder, "memory"))
  process.stdout.write('{"msg":"shown"}\n')
})

commandLine(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, onExit) => onExit(exitCodeOf(exit)) }),
)
