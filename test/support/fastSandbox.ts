import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { root } from "./Cofferer.ts"

/** On a busy machine too the first payment is there half a minute earlier. */
const secondNeed = 300

/** The demonstration on a free port, with ten blocks a second, easy work and no rate limit. `url` is its gateway. */
export const fastSandbox = (url = "http://127.0.0.1:1"): string =>
  readFileSync(join(root, "config/sandbox.yaml"), "utf8")
    .replaceAll('"http://127.0.0.1:3008"', `"${url}"`)
    .replace('listen: "127.0.0.1:3008"', 'listen: "127.0.0.1:0"')
    .replace("blockInterval: 1s", "blockInterval: 100ms")
    .replace("rateLimit: on", "rateLimit: off")
    .replace("poll: { busy: 1s, idle: 1s }", "poll: { busy: 50ms, idle: 50ms }")
    .replace("requestDeadline: 2s", "requestDeadline: 500ms")
    .replace("for: 3s", "for: 100ms")
    .replace("cooldown: 20s", "cooldown: 500ms")
    .replace("difficulty: 15", "difficulty: 4")
    .replace("{ block: 31, amount", `{ block: ${secondNeed}, amount`)
    .replace("{ block: 30, operation", `{ block: ${secondNeed - 1}, operation`)

/** Blocks that a head may be ahead of the last one. */
const stride = 10
/** A daemon has asked for the head meanwhile. */
const strideMillis = 100

/** Makes blocks until the account needs its second payment, whose answer is lost. No faster than a head is sane. */
export const skipToSecondNeed = async (network: string): Promise<void> => {
  for (let made = 0; made < secondNeed; made += stride) {
    await fetch(`${network}/sandbox/blocks`, { method: "POST", body: JSON.stringify({ count: stride }) })
    await setTimeout(strideMillis)
  }
}

/** The same where money leaves the account every five blocks, and no limit keeps it from being filled again. */
export const busySandbox = (url?: string): string =>
  fastSandbox(url)
    .replace("transfersPerEpoch: 20", "transfersPerEpoch: 1000")
    .replace('per24h: "100_000", transfersPer24h: 10', 'per24h: "400_000", transfersPer24h: 1000')
    .replace('every: { blocks: 1800, amount: "1_000" }', 'every: { blocks: 5, amount: "16_000" }')
