import type { HoldReason } from "../domain/Decision.ts"
import { timeText } from "./Check.ts"
import { type Look, leastOf, sayAmount, sayLevel } from "./Look.ts"
import { accountName } from "./Rule.ts"
import { lockScope, pausesOf } from "./stops.ts"

const fixed = (words: string) => () => words

/** What would bring the subject out of its band. */
const needBegins = (look: Look): string => {
  const { subject } = look
  const { forMillis } = subject.rule
  const stays = forMillis === 0 ? "is seen so twice" : `stays so for ${timeText(forMillis)}, seen twice`
  switch (subject.kind) {
    case "topUp":
      return `${subject.name} falls below ${sayLevel(look, subject.level.trigger)} and ${stays}`
    case "sweep":
      return `${subject.name} rises above ${sayLevel(look, subject.level.trigger)} and ${stays}`
    case "split":
    case "withdraw":
      return `${subject.name} rises above ${sayLevel(look, subject.rule.level.trigger)} and ${stays}`
    case "request":
      return `${subject.name} falls below ${sayLevel(look, subject.rule.level.trigger)} and ${stays}`
    case "rebalance":
      return `an account is further from its share than the tolerance and ${stays}`
    case "code":
      return `its code asks for a payment and ${stays}`
    case "payout":
      return "its planned time comes"
  }
}

/** What has to happen where time alone does not end a reason; `needs` are what people do. */
export const endedBy: Readonly<Record<HoldReason, (look: Look) => string>> = {
  halted: fixed("a person ends the halt: cofferer resume --scope all --reason …"),
  paused: (look) => {
    const scopes = [...new Set(pausesOf(look).map(({ scope }) => scope))]
    const commands = scopes.map((scope) => `cofferer resume --scope ${scope} --reason …`)
    return `a person ends ${scopes.length === 1 ? "the pause" : "each pause"}: ${commands.join(", ")}`
  },
  maintenance: fixed("the window ends"),
  outside_hours: fixed("the hours open"),
  not_due: fixed("the planned time comes"),
  locked: ({ subject }) => `a person unlocks it: cofferer resume --scope ${lockScope(subject.rule.name)} --reason …`,
  code: ({ need }) =>
    need?._tag === "Broken"
      ? "its code answers soundly: mend it, then cofferer reload --reason …"
      : "its code answers in time",
  inhibited: ({ subject, snapshot }) =>
    `${subject.rule.inhibitedBy.filter((name) => snapshot.firing.has(name)).join(" and ")} no longer fires`,
  no_data: ({ subject }) => `a balance of ${subject.accounts.map(accountName).join(", ") || subject.name} is seen`,
  stale: fixed("a newer block is read"),
  catching_up: fixed("all is read and compared"),
  disagreement: fixed("enough gateways agree"),
  drift: fixed("rows and balances agree: see reconcile"),
  chain_unsettled: fixed("the network asks for legal work"),
  in_band: needBegins,
  pending: fixed("it is seen once more in a newer block"),
  in_flight: fixed("what is under way ends"),
  settling: fixed("balances of a newer block are read"),
  cooldown: fixed("the cooldown ends"),
  unresolved: fixed("the earlier payment is resolved: cofferer intents resolve …"),
  awaiting_approval: fixed("people approve or reject it"),
  too_small: (look) => `the need grows to ${sayAmount(look, leastOf(look))}`,
  asset_status: ({ subject }) => `${subject.asset.symbol} is listed as pinned, and no pause of its pin is in force`,
  policy: fixed("a policy line permits it"),
  limit: fixed("earlier payments leave the window of 24 h"),
  quota: fixed("the network's next epoch begins"),
  fee: fixed("the network takes less, or maxFee allows more"),
  short: ({ sized }) => `${[...new Set(sized.map(({ transfer }) => transfer.from.name))].join(", ")} is funded`,
  yielded: fixed("what rules of a higher priority took is paid and free again"),
}
