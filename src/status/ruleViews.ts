import { Effect } from "effect"
import type { Treasury } from "../config/Treasury.ts"
import { formatLevel } from "../domain/Amount.ts"
import type { AlertRule } from "../rules/Condition.ts"
import { conditionText } from "../rules/conditionText.ts"
import { isAlert, isPaying, receiverKey } from "../rules/Rule.ts"
import type { RuleMemory } from "../store/RuleStates.ts"
import { SpendLog } from "../store/SpendLog.ts"
import type { PolicyView, RuleView } from "./View.ts"

/** What each rule does, or why it does not. */
export const ruleViews = (treasury: Treasury, memories: ReadonlyArray<RuleMemory>): ReadonlyArray<RuleView> =>
  treasury.rules.flatMap((rule): ReadonlyArray<RuleView> => {
    if (isAlert(rule)) return alertViews(rule, memories)
    if (!isPaying(rule)) {
      const asset = rule.asset === "any" ? "any asset" : rule.asset.symbol
      const sentence = `tells when ${asset} becomes ${rule.becomes.join(" or ")}`
      return [{ name: rule.name, kind: rule.kind, subject: asset, state: "watching", reason: null, sentence }]
    }
    const own = memories.filter((m) => m.rule === rule.name)
    if (own.length === 0) {
      return [
        {
          name: rule.name,
          kind: rule.kind,
          subject: "",
          state: "inactive",
          reason: null,
          sentence: "not yet evaluated",
        },
      ]
    }
    return own.map((m) => ({
      name: rule.name,
      kind: rule.kind,
      subject: m.subject,
      state: m.state,
      reason: m.reason ?? null,
      sentence:
        m.reason === undefined ? `acting: ${m.detail}` : `silent: ${m.reason.replaceAll("_", " ")}; ${m.detail}`,
    }))
  })

/** What an alert's rule waits for, and whether people have heard of it. */
const alertViews = (rule: AlertRule, memories: ReadonlyArray<RuleMemory>): ReadonlyArray<RuleView> => {
  const { name } = rule
  const memory = memories.find((m) => m.rule === name)
  const waits = `tells when ${conditionText(rule.when)}`
  const view = { name, kind: "notify", subject: "" }
  if (memory === undefined) return [{ ...view, state: "inactive", reason: null, sentence: waits }]
  const { state, reason, detail } = memory
  const words =
    state === "acting" ? "fires" : reason === undefined ? "silent" : `silent: ${reason.replaceAll("_", " ")}`
  return [{ ...view, state, reason: reason ?? null, sentence: `${words}; ${detail} (${waits})` }]
}

/** A line of the policy, and how much of it was used since a time (Unix milliseconds). */
export const policyView = Effect.fnUntraced(function* (
  treasury: Treasury,
  line: Treasury["policy"]["lines"][number],
  since: number,
) {
  const spends = yield* SpendLog
  const used = yield* spends.used({ ...line, since, except: new Set() })
  const asset = [...treasury.assets.values()].find((a) => a.id === line.assetId)
  const named = [...treasury.parties.values(), ...treasury.addresses.values()]
  const names = (keys: ReadonlySet<string>) =>
    named
      .filter((one) => keys.has(receiverKey(one)))
      .map(({ name }) => name)
      .join(", ")
  const say = (units: bigint) => formatLevel(units, asset?.decimals ?? 0)
  const symbol = asset?.symbol ?? line.assetId
  return {
    line: line.line,
    text: `${names(line.from)} -> ${names(line.to)}, ${symbol}: ${say(line.perTransfer)} each`,
    used: `${say(used.amount)} ${symbol}`,
    limit: `${say(line.per24h)} ${symbol}`,
    share: line.per24h === 0n ? 1 : Number((used.amount * 1_000n) / line.per24h) / 1_000,
    transfers: `${used.count} of ${line.transfersPer24h}`,
  } satisfies PolicyView
})
