import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Clock, Effect } from "effect"
import type { Treasury } from "../../config/Treasury.ts"
import { plainAmount, plainLevel } from "../../domain/Amount.ts"
import { dayMillis } from "../../domain/Time.ts"
import { balanceOf } from "../../engine/snapshot.ts"
import { levelsOf } from "../../rules/Rule.ts"
import type { Sandbox } from "../../sandbox/Sandbox.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { Journal } from "../../store/journal/Journal.ts"
import { Outbox } from "../../store/payments/Outbox.ts"
import { logEvent } from "../../telemetry/Logging.ts"
import { defaultDataDir, flagsOf, type Setup } from "../common/setup.ts"

const packageDir = resolve(fileURLToPath(new URL("../../..", import.meta.url)))
const demo = [join(packageDir, "config/sandbox.yaml"), join(packageDir, defaultDataDir)]

/** Commands to type next: the one that runs this again, and those that show its data. */
export const suggestedCommands = (
  found: Parameters<typeof flagsOf>[0],
  cwd: string,
): { readonly again: string; readonly status: string; readonly intents: string } => {
  // "npm run" works in the package's folder alone, and "npm start" for the demonstration's files alone.
  const isHere = cwd === packageDir
  const isDemo = isHere && [...found.treasury.files, found.dataDir].join() === demo.join()
  const command = (words: string) =>
    `${isHere ? "npm run -s cofferer --" : "cofferer"} ${words}${isDemo ? "" : ` ${flagsOf(found)}`}`
  return {
    again: isDemo ? "npm start" : command("run --sandbox"),
    status: command("status"),
    intents: command("intents"),
  }
}

const summaryMillis = 600_000
/** The first summary of the demonstration comes when its first minute is nearly over. */
const demoSummaryMillis = 45_000

/** Logs the first balances, and the bands in which rules keep them. */
export const logReady = Effect.fnUntraced(function* (treasury: Treasury) {
  const observations = yield* Observations
  while ((yield* observations.watermark) === undefined) yield* Effect.sleep(100)
  const watermark = yield* observations.watermark
  const balance = balanceOf(yield* observations.accounts)
  const seen = [...treasury.parties.values()].flatMap((party) =>
    [...treasury.assets.values()].flatMap((asset) => {
      const units = balance(party.publicKey, asset.id, "free")
      return units === undefined
        ? []
        : [{ party: party.name, balance: plainAmount(units, asset.decimals), asset: asset.symbol }]
    }),
  )
  const bands = treasury.rules.flatMap(levelsOf).map(({ trigger, target, asset, party }) => {
    const [low, high] = trigger < target ? [trigger, target] : [target, trigger]
    const units = (n: bigint) => plainLevel(n, asset.decimals)
    return { account: `${party.name}/${asset.symbol}`, low: units(low), high: units(high) }
  })
  yield* logEvent("daemon ready", {
    rules: treasury.rules.length,
    block: watermark === undefined || watermark.height === 0n ? undefined : String(watermark.height),
    accounts: seen.length === 0 ? undefined : seen,
    levels: bands.length === 0 ? undefined : bands,
  })
})

/** Logs a one-line summary. The ledger's own count is included if the network is embedded. */
const logSummary = Effect.fnUntraced(function* (sandbox: Sandbox["Service"] | undefined) {
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const counts = yield* outbox.counts
  const total = [...counts.values()].reduce((a, b) => a + b, 0)
  const open = (yield* outbox.open).length
  const { accepted, refused, lost } = yield* outbox.acceptance(now - dayMillis)
  const confirmed = counts.get("confirmed") ?? 0
  const executed = sandbox && (yield* sandbox.ledger.executed).filter((tx) => tx.code === 0)
  yield* logEvent("status summary", {
    proposed: total,
    confirmed,
    open,
    accepted,
    answered: accepted + refused,
    unanswered: lost,
    executed: executed?.length,
    duplicates: executed && executed.length - new Set(executed.map((tx) => tx.transferId)).size,
  })
})

/** Logs a summary every ten minutes, in the demonstration also once in its first minute. */
export const summaries = (found: Pick<Setup, "treasury" | "dataDir">, sandbox: Sandbox["Service"] | undefined) =>
  Effect.gen(function* () {
    if (sandbox !== undefined) {
      yield* Effect.sleep(demoSummaryMillis)
      yield* logSummary(sandbox)
      const { again, status, intents } = suggestedCommands(found, process.cwd())
      yield* logEvent("command suggested", {
        command: `kill -9 ${process.pid} && ${again}`,
        purpose: "continues from its data, and pays nothing twice",
      })
      yield* logEvent("command suggested", { command: status, purpose: "prints the treasury's status" })
      yield* logEvent("command suggested", { command: intents, purpose: "lists the payments" })
      yield* logEvent("demonstration complete", {})
    }
    return yield* Effect.sleep(summaryMillis).pipe(Effect.andThen(logSummary(sandbox)), Effect.forever)
  })

/** The number of open payments and the head of the journal. */
export const lastState = Effect.gen(function* () {
  return { open: (yield* (yield* Outbox).open).length, head: yield* (yield* Journal).head }
})

/** Logs the stop, with the state that the process left. */
export const logStopped = Effect.fnUntraced(function* (
  { open, head }: Effect.Success<typeof lastState>,
  sinceMillis: number,
) {
  const seconds = Number((((yield* Clock.currentTimeMillis) - sinceMillis) / 1_000).toFixed(1))
  yield* logEvent("daemon stopped", { seconds, open, journalSeq: head.seq, journalHead: head.hash })
})
