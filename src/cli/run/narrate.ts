import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Clock, Effect } from "effect"
import type { Treasury } from "../../config/Treasury.ts"
import { formatAmount, formatLevel } from "../../domain/Amount.ts"
import { shellWord } from "../../domain/text.ts"
import { balanceOf } from "../../engine/snapshot.ts"
import { levelsOf } from "../../rules/Rule.ts"
import type { Sandbox } from "../../sandbox/Sandbox.ts"
import { Observations } from "../../store/balances/Observations.ts"
import { Journal } from "../../store/journal/Journal.ts"
import { Outbox } from "../../store/payments/Outbox.ts"
import { say } from "../../telemetry/Logging.ts"
import { defaultDataDir, type Setup } from "../common/setup.ts"

const packageDir = resolve(fileURLToPath(new URL("../../..", import.meta.url)))

/** Commands to type next: the same demonstration again, and those that show its data. */
export const tryNow = (
  { treasury, dataDir }: { readonly treasury: Pick<Treasury, "file" | "files">; readonly dataDir: string },
  cwd: string,
): { readonly again: string; readonly status: string; readonly intents: string } => {
  const nearer = (path: string): string => {
    const near = relative(cwd, path)
    return near.startsWith("..") ? path : near
  }
  const near = nearer(dataDir)
  const data = near === defaultDataDir ? "" : ` --data ${shellWord(near)}`
  const [file, ...overlays] = treasury.files.map(nearer).map(shellWord)
  const isDemo = cwd === packageDir && treasury.files.join() === join(packageDir, "config/sandbox.yaml")
  const over = overlays.map((overlay) => ` -c ${overlay}`).join("")
  const named = overlays.length === 0 && (isDemo || file === "treasury.yaml") ? "" : ` -c ${file}${over}`
  // npm knows its script in the package's own folder alone.
  const called = cwd === packageDir ? "npm run -s cofferer --" : "cofferer"
  const command = (words: string): string => `${called} ${words}${named}${data}`
  return {
    again: isDemo && data === "" ? "npm start" : `${called} run --sandbox ${over === "" ? file : named.trim()}${data}`,
    status: command("status"),
    intents: command("intents"),
  }
}

const dayMillis = 86_400_000
const summaryMillis = 600_000
/** The first summary of the demonstration comes when its first minute is nearly over. */
const demoSummaryMillis = 45_000

/** One line with the first balances that were read, and the bands that they are held to. */
export const sayReady = Effect.fnUntraced(function* (treasury: Treasury) {
  const observations = yield* Observations
  while ((yield* observations.watermark) === undefined) yield* Effect.sleep(100)
  const watermark = yield* observations.watermark
  const balance = balanceOf(yield* observations.accounts)
  const seen = [...treasury.parties.values()].flatMap((party) =>
    [...treasury.assets.values()].flatMap((asset) => {
      const units = balance(party.publicKey, asset.id, "free")
      return units === undefined ? [] : [`${party.name} ${formatAmount(units, asset.decimals)} ${asset.symbol}`]
    }),
  )
  const levels = treasury.rules.flatMap(levelsOf)
  const bands = levels.map(({ trigger, target, asset, party }) => {
    const [low, high] = trigger < target ? [trigger, target] : [target, trigger]
    const whose = levels.length > 1 ? ` ${party.name}/${asset.symbol}` : ""
    return `band${whose} ${formatLevel(low, asset.decimals)} .. ${formatLevel(high, asset.decimals)}`
  })
  const rules = `${treasury.rules.length} rule${treasury.rules.length === 1 ? "" : "s"}`
  const block = watermark === undefined || watermark.height === 0n ? "" : `block ${watermark.height}    `
  yield* say("ready", { detail: `${block}${[...seen, ...bands, rules].join("   ")}` })
})

/** Logs a one-line summary. The ledger's own count is included if the network is embedded. */
const saySummary = Effect.fnUntraced(function* (sandbox: Sandbox["Service"] | undefined) {
  const outbox = yield* Outbox
  const now = yield* Clock.currentTimeMillis
  const counts = yield* outbox.counts
  const total = [...counts.values()].reduce((a, b) => a + b, 0)
  const open = (yield* outbox.open).length
  const { accepted, refused, lost } = yield* outbox.acceptance(now - dayMillis)
  const confirmed = counts.get("confirmed") ?? 0
  const parts = [`${total} proposed, ${confirmed} confirmed, ${open} open`]
  parts.push(`mempool accepted ${accepted} of ${accepted + refused} definite answers, ${lost} lost`)
  if (sandbox !== undefined) {
    const executed = (yield* sandbox.ledger.executed).filter((tx) => tx.code === 0)
    const twice = executed.length - new Set(executed.map((tx) => tx.transferId)).size
    parts.push(`the ledger executed ${executed.length}, ${twice} twice`)
  }
  yield* say("summary", { detail: parts.join("; ") })
})

/** The summary every ten minutes; in the demonstration also once at the end of its first minute. */
export const summaries = (found: Pick<Setup, "treasury" | "dataDir">, sandbox: Sandbox["Service"] | undefined) =>
  Effect.gen(function* () {
    if (sandbox !== undefined) {
      yield* Effect.sleep(demoSummaryMillis)
      yield* saySummary(sandbox)
      const { again, status, intents } = tryNow(found, process.cwd())
      yield* say("try now", { detail: `kill -9 ${process.pid} && ${again}     same data, still nothing paid twice` })
      yield* say("", { detail: `${status}                the page in words` })
      yield* say("", { detail: `${intents}               what was paid, and how it went` })
      yield* say("quiet", { detail: "one line a change, a summary every 10 minutes; Ctrl-C stops it" })
    }
    return yield* Effect.sleep(summaryMillis).pipe(Effect.andThen(saySummary(sandbox)), Effect.forever)
  })

/** The last line: what was left open, and where the journal stands. */
export const sayStopped = Effect.fnUntraced(function* (sinceMillis: number) {
  const outbox = yield* Outbox
  const head = yield* (yield* Journal).head
  const took = (((yield* Clock.currentTimeMillis) - sinceMillis) / 1_000).toFixed(1)
  const open = (yield* outbox.open).length
  const detail = `in ${took} s: ${open} open intents, ${head.seq} journal entries, head ${head.hash.slice(0, 8)}`
  yield* say("stopped", { detail })
})
