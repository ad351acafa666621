import type { Line } from "./Cofferer.ts"
import { type Here, startHere } from "./CommandLine.ts"
import { fastSandbox } from "./fastSandbox.ts"

/** `fastSandbox` without blocks by themselves, whose second payment is needed from block 18 on. */
export const steppedSandbox = (): string =>
  fastSandbox()
    .replace("blockInterval: 250ms", "blockInterval: 1d")
    .replace("for: 100ms", "for: 0s")
    .replace("{ block: 31, amount", "{ block: 18, amount")
    .replace("{ block: 30, operation", "{ block: 17, operation")

/** A line with this message of which these words are part. */
export const lineWith =
  (msg: string, words = "") =>
  (line: Line): boolean =>
    line["msg"] === msg && JSON.stringify(line).includes(words)

/** The first address of a line. */
export const urlOf = ({ urls }: Line): string => String((urls as ReadonlyArray<unknown>)[0])

/** A daemon beside its network, both in one process, whose blocks come only when they are made. */
export interface SteppedDaemon extends Here {
  /** Makes blocks, and lets a second of its clock pass for each. */
  readonly blocks: (count: number) => Promise<void>
  /** Goes on to the end of the first payment, in block 13. Returns the line of its end. */
  readonly payFirst: () => Promise<Line>
  /** Goes on to the end of the second payment, whose answer is lost. Returns the line of its end. */
  readonly paySecond: () => Promise<Line>
}

/** The daemon of a `steppedSandbox`. Each step waits for what the daemon says, however long a busy machine takes. */
export const startStepped = (file: string, data: string): SteppedDaemon => {
  let ahead = 0
  const daemon = startHere(["run", file, "--sandbox", "--data", data, "--output", "json"], {
    env: { COFFERER_LISTEN: "127.0.0.1:0" },
    ahead: () => ahead,
  })
  const blocks = async (count: number) => {
    const network = urlOf(await daemon.line(lineWith("gateways configured")))
    for (let made = 0; made < count; made++) {
      ahead += 1_000
      await fetch(`${network}/sandbox/blocks`, { method: "POST" })
    }
  }
  /** Waits for the first such line, past or to come, and makes blocks. */
  const once = async (msg: string, words: string, count: number) => {
    await daemon.line(lineWith(msg, words))
    await blocks(count)
  }
  return {
    ...daemon,
    blocks,
    payFirst: async () => {
      await once("rule idle", "24,310.00", 3)
      await once("asset changed", '"proposed"', 5)
      await once("asset changed", "pending listing", 2)
      await once("rule pending", "8,790.00 is below", 1)
      await once("attempt accepted", "", 1)
      return daemon.line(lineWith("payment confirmed"))
    },
    paySecond: async () => {
      await once("payment confirmed", "16210.00", 1)
      await once("balance changed", '"25000.00"', 5)
      await once("rule pending", "7,980.00 is below", 1)
      await once("attempt unanswered", "", 1)
      return daemon.line(lineWith("payment confirmed", "17020.00"))
    },
  }
}
