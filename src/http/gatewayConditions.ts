import { remedyOf } from "../domain/Halt.ts"
import { timeText } from "../domain/Time.ts"
import { plural } from "../domain/text.ts"
import type { HealthFacts } from "./readFacts.ts"
import type { Found, GatewayView } from "./View.ts"

const isDown = ({ state, otherChain }: GatewayView): boolean =>
  otherChain === null && (state === "down" || state === "banned" || state === "quarantined")

/** Fewer gateways are heard than must agree. */
export const isQuorumLost = ({ network: { gateways, quorum } }: Pick<HealthFacts, "network">): boolean =>
  gateways.filter(({ state }) => state === "up" || state === "lagging").length < quorum &&
  gateways.some(({ state }) => state !== "unknown")

/** True if too few gateways are on our chain: `wrong_chain` pages for that, and `gateway_down` does not. */
const isLostElsewhere = ({ gateways, quorum }: HealthFacts["network"]): boolean =>
  gateways.filter(({ otherChain }) => otherChain === null).length < quorum

/** One alert for each failing gateway, and one page once too few are left. */
const partsOf = (gateways: ReadonlyArray<GatewayView>, isBad: boolean) => ({
  parts: gateways.map(({ name }) => name),
  pages: isBad ? ["too few that agree"] : [],
})

export const wrongChain = (facts: Pick<HealthFacts, "network" | "halts">): Found | undefined => {
  const halt = facts.halts.find(({ reason }) => reason === "chain_changed")
  const { gateways, chainId } = facts.network
  const elsewhere = gateways.filter(({ otherChain }) => otherChain !== null)
  if (halt === undefined && elsewhere.length === 0) return undefined
  const words = elsewhere.map(({ name, otherChain }) => `gateway ${name} is on chain ${otherChain}`)
  const text = words.length === 0 ? `Wrong chain: ${halt?.detail}` : `Wrong chain, not ${chainId}: ${words.join(", ")}`
  const correct = "correct the address in network.gateways, or wait until the right chain is back"
  const end = halt && remedyOf(halt.reason, halt.detail)
  // The halt's own text says what to correct.
  const remedy = [...(words.length === 0 ? [] : [correct]), ...(end === undefined ? [] : [end])].join("; ")
  const isBad = halt !== undefined || isLostElsewhere(facts.network)
  return { severity: isBad ? "bad" : "warn", text, remedy, isAlerted: halt !== undefined, ...partsOf(elsewhere, isBad) }
}

const ntp = '"timedatectl" or "chronyc tracking" on this host'

export const clock = ({ wrongClock, gap }: Pick<HealthFacts, "wrongClock" | "gap">): Found | undefined => {
  if (wrongClock === undefined) return undefined
  const { whose, aheadMillis, gateways } = wrongClock
  const by = timeText(Math.abs(aheadMillis))
  const names = gateways.join(", ")
  const [own, theirs] = aheadMillis > 0 ? ["behind", "ahead of"] : ["ahead of", "behind"]
  const stops = gap === undefined ? "" : "; nothing is signed"
  const severity = gap === undefined ? "warn" : "bad"
  if (whose === "ours") {
    const text = `This host's clock is ${by} ${own} the blocks of ${plural(gateways.length, "gateway")} (${names})${stops}`
    return { severity, text, remedy: `set this host's clock: check NTP with ${ntp}` }
  }
  if (whose === "either") {
    const text = `This host's clock is ${by} ${own} the blocks of gateway ${names}; one of the two clocks is wrong${stops}`
    return { severity, text, remedy: `check NTP with ${ntp}; where that is right, gateway ${names} is wrong` }
  }
  const text = `The blocks of gateway ${names} are ${by} ${theirs} this host's clock, and other gateways differ${stops}`
  return { severity, text, remedy: `check the node of gateway ${names}, and NTP with ${ntp}` }
}

/** Reasons of rules that wait for newer balances. */
const unseen: ReadonlySet<string | null> = new Set(["stale", "disagreement"])
const unsigned: ReadonlySet<string> = new Set(["proposed", "awaiting_approval", "reserved"])

/** Waiting rules and payments, as text: they have no alerts of their own. */
const waitingText = ({ rules: all = [], intents = [] }: Partial<Pick<HealthFacts, "rules" | "intents">>): string => {
  const rules = all.filter(({ trial, reason }) => !trial && unseen.has(reason)).length
  const payments = intents.filter(({ state }) => unsigned.has(state)).length
  const words = [
    ...(rules === 0 ? [] : [plural(rules, "rule")]),
    ...(payments === 0 ? [] : [plural(payments, "payment")]),
  ]
  return words.length === 0 ? "" : `; waiting for it: ${words.join(" and ")}`
}

export const gatewayDown = (
  facts: Pick<HealthFacts, "network"> & Partial<Pick<HealthFacts, "rules" | "intents">>,
): Found | undefined => {
  const { gateways, quorum } = facts.network
  const down = gateways.filter(isDown)
  const [first] = down
  if (first === undefined) return undefined
  const words = down.map(({ name, state, detail }) =>
    state === "banned" ? `${name} is ${detail}` : `${name} is ${state}${detail === "" ? "" : ` (${detail})`}`,
  )
  const isLost = isQuorumLost(facts)
  const isBad = isLost && !isLostElsewhere(facts.network)
  const all = down.length === gateways.length && down.length > 1 ? "all gateways" : plural(down.length, "gateway")
  const stops = isLost ? `; ${quorum} must agree, and nothing is signed${waitingText(facts)}` : ""
  return {
    severity: isBad ? "bad" : "warn",
    text: `No usable answer from ${all}: ${words.join(", ")}${stops}`,
    remedy: `check the node of gateway ${first.name} and the network to it; it counts again once it answers`,
    ...partsOf(down, isBad),
  }
}
