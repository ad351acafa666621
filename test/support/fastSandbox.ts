import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Cofferer.ts"

/**
 * The demonstration on a free port, with four blocks a second, easy work and no rate limit. `url` is its gateway. An
 * answer that is lost ends in the middle: no other one is lost because a machine is busy.
 */
export const fastSandbox = (url = "http://127.0.0.1:1"): string =>
  readFileSync(join(root, "config/sandbox.yaml"), "utf8")
    .replaceAll('"http://127.0.0.1:3008"', `"${url}"`)
    .replace('listen: "127.0.0.1:3008"', 'listen: "127.0.0.1:0"')
    .replace("blockInterval: 1s", "blockInterval: 250ms")
    .replace("rateLimit: on", "rateLimit: off")
    .replace("poll: { busy: 1s, idle: 1s }", "poll: { busy: 200ms, idle: 200ms }")
    .replace("requestDeadline: 2s", "requestDeadline: 20s")
    .replace("for: 3s", "for: 100ms")
    .replace("cooldown: 20s", "cooldown: 500ms")
    .replace("difficulty: 15", "difficulty: 4")
    .replace("accept_drop_answer", "truncated_body")

/** The same, where money leaves the account every five blocks, and no limit keeps it from being filled again. */
export const busySandbox = (url?: string): string =>
  fastSandbox(url)
    .replace("transfersPerEpoch: 20", "transfersPerEpoch: 1000")
    .replace('per24h: "100_000", transfersPer24h: 10', 'per24h: "400_000", transfersPer24h: 1000')
    .replace('every: { blocks: 1800, amount: "1_000" }', 'every: { blocks: 5, amount: "16_000" }')
