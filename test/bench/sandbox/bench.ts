import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { type Benchmark, figure } from "../Benchmark.ts"
import { quiet, startProgram } from "../programs.ts"
import { partiesCount, treasuryText } from "./scenario.ts"

const rounds = 7
const millis = 3_000

/** A program on one core; where the machine cannot bind it, on any. */
const startOn = (core: number, command: string, ...args: ReadonlyArray<string>) =>
  process.platform === "linux" && cpus().length > 1
    ? startProgram("taskset", ["-c", String(core), command, ...args])
    : startProgram(command, args)

const run: Benchmark["run"] = async (say) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-bench-"))
  const file = join(dir, "bench.yaml")
  writeFileSync(file, treasuryText)
  const network = startOn(0, "sh", "src/cofferer.sh", "sandbox", file, "--data", dir, "--output", "json")
  try {
    const { urls } = await network.line((line) => "urls" in line)
    say(`${partiesCount} parties, ${rounds} rounds of ${millis / 1000} s writes and ${millis / 1000} s reads`)
    const { port } = new URL(String(urls))
    const load = startOn(1, process.execPath, quiet, "test/bench/sandbox/load.ts", port, `${rounds}`, `${millis}`)
    for (let round = 0; round < rounds; round++) {
      const { refused, example } = await load.line((line) => line["round"] === round)
      if (Number(refused) > 0) say(`${refused} answers were no good, such as: ${example}`)
    }
    const each = (key: string) => load.lines.map((line) => Number(line[key]))
    return [
      figure("sandbox accepted transactions", each("writes"), { unit: "per second", better: "higher" }),
      figure("sandbox reads", each("reads"), { unit: "per second", better: "higher" }),
    ]
  } finally {
    await network.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The play-money network as operators run it: one process on one core, its ledger on disk, a block each second. */
export const sandbox: Benchmark = {
  name: "sandbox",
  about: "accepted transactions and reads of the play-money network, on one core, the generator beside it",
  limits:
    "One core: each transaction is decoded, its signature and proof of work are verified, and it is on disk " +
    "before the answer; requests in one turn of the event loop share a commit. A read writes JSON.",
  run,
}
