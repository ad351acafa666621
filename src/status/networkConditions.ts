import { remedyOf } from "../domain/Halt.ts"
import { plural } from "../domain/plural.ts"
import { timeText } from "../rules/Check.ts"
import type { Facts, Found } from "./Facts.ts"
import type { GatewayView } from "./View.ts"

const time = (iso: string): string => `${iso.slice(0, 16).replace("T", " ")} UTC`

const isDown = ({ state, otherChain }: GatewayView): boolean =>
  otherChain === null && (state === "down" || state === "banned" || state === "quarantined")

/** Fewer gateways are heard than must agree. */
const isQuorumLost = ({ network: { gateways, quorum } }: Facts): boolean =>
  gateways.filter(({ state }) => state === "up" || state === "lagging").length < quorum &&
  gateways.some(({ state }) => state !== "unknown")

export const wrongChain = (facts: Facts): Found | undefined => {
  const halt = facts.halts.find(({ reason }) => reason === "chain_changed")
  const { gateways, chainId } = facts.network
  const elsewhere = gateways.filter(({ otherChain }) => otherChain !== null)
  if (halt === undefined && elsewhere.length === 0) return undefined
  const words = elsewhere.map(({ name, otherChain }) => `gateway ${name} is on chain ${otherChain}`)
  const text =
    words.length === 0 ? `The chain is another: ${halt?.detail}` : `Wrong chain, not ${chainId}: ${words.join(", ")}`
  const correct = "correct the address in network.gateways, or wait until the right chain is back"
  const remedy = halt === undefined ? correct : `${correct}; ${remedyOf(halt.reason)}`
  const isBad = halt !== undefined || isQuorumLost(facts)
  return { severity: isBad ? "bad" : "warn", text, remedy }
}

const ntp = '"timedatectl" or "chronyc tracking" on this host'

export const clock = ({ wrongClock, gap }: Facts): Found | undefined => {
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

export const gatewayDown = (facts: Facts): Found | undefined => {
  const { gateways, quorum } = facts.network
  const down = gateways.filter(isDown)
  const [first] = down
  if (first === undefined) return undefined
  const words = down.map(({ name, state, detail }) =>
    state === "banned" ? `${name} is ${detail}` : `${name} is ${state}${detail === "" ? "" : ` (${detail})`}`,
  )
  const isBad = isQuorumLost(facts)
  const all = down.length === gateways.length && down.length > 1 ? "all gateways" : plural(down.length, "gateway")
  const stops = isBad ? `; ${quorum} must agree, and nothing is signed` : ""
  return {
    severity: isBad ? "bad" : "warn",
    text: `No answer counts of ${all}: ${words.join(", ")}${stops}`,
    remedy: `check the node of gateway ${first.name} and the network to it; it counts again by itself`,
  }
}

export const newestBlock = ({ doubted }: Facts): Found | undefined =>
  doubted === null
    ? undefined
    : {
        severity: doubted.isLong ? "bad" : "warn",
        text: `No newest block fits since ${time(doubted.since)}: ${doubted.detail}; nothing is signed or sent`,
        remedy: doubted.remedy,
      }

export const work = ({ work: doubt }: Facts): Found | undefined =>
  doubt === null
    ? undefined
    : {
        severity: "bad",
        text: `Nothing is signed since ${time(doubt.since)}: ${doubt.detail}`,
        remedy: doubt.remedy,
      }

export const stale = (facts: Facts): Found | undefined => {
  const { gap, blockAgeSeconds, maxAgeSeconds, height, network } = facts
  if (gap === undefined) return undefined
  // What is the cause was told, and its end ends this.
  const isAlerted = [wrongChain(facts), clock(facts), gatewayDown(facts)].some((one) => one?.severity === "bad")
  const remedy = `check gateway ${network.gateways.map(({ name }) => name).join(", ")}, its node, and the network to it`
  if (blockAgeSeconds === null) {
    return { severity: "warn", text: "No balance was read yet; nothing is signed", remedy, isAlerted }
  }
  const text =
    facts.ageSeconds === null
      ? `Balances stand still at block ${height}; nothing is signed`
      : blockAgeSeconds < 0
        ? `Balances are of a block ${timeText(-blockAgeSeconds * 1_000)} ahead of this host's clock; nothing is signed`
        : `Balances are ${timeText(blockAgeSeconds * 1_000)} old, more than ${maxAgeSeconds} s, and no newer block was read; nothing is signed`
  return { severity: "bad", text, remedy, isAlerted }
}
