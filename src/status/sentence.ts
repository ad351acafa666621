import { remedyOf } from "../domain/Halt.ts"
import type { RuleView, View } from "./View.ts"

/** How long a part of the past that was just found lost is the news. */
const gapMillis = 86_400_000

/** The sentence across the top: the worst thing that is true, else that all is in band. */
export const sentenceOf = (
  view: Omit<View, "sentence">,
  more: { readonly today: number; readonly maxAgeSeconds: number },
): View["sentence"] => {
  const bad = (text: string) => ({ severity: "bad" as const, text })
  const warn = (text: string) => ({ severity: "warn" as const, text })
  const halt = view.halts[0]
  if (halt !== undefined) {
    return bad(
      `Halted since ${halt.at.slice(11, 16)} UTC: ${halt.reason.replaceAll("_", " ")}. ${halt.detail}. Nothing is signed; ${remedyOf(halt.reason)}.`,
    )
  }
  const manual = view.intents.filter((i) => i.state === "manual").length
  if (manual > 0) return bad(`A person must resolve ${count(manual, "payment")}: nothing proves what became of it.`)
  const page = view.rules.find(({ fires }) => fires === "page")
  if (page !== undefined) return bad(firing(page))
  const pause = view.pauses[0]
  if (pause !== undefined) return warn(`Paused (${pause.scope}) by ${pause.author}: ${pause.reason}.`)
  if (view.ageSeconds === null) return warn("No balance was read yet: no money moves.")
  const age = `${view.ageSeconds.toFixed(1)} s`
  if (view.ageSeconds > more.maxAgeSeconds) return warn(`Knowledge is ${age} old: no money moves.`)
  if (view.uncompared !== null)
    return warn(
      `Not compared with the gateway's own balances since ${minute(view.uncompared.since)}: ${view.uncompared.detail}.`,
    )
  const unknown = view.intents.filter((i) => i.state === "unknown").length
  if (unknown > 0)
    return warn(`${count(unknown, "payment")} may or may not be in the network; the same bytes are sent again.`)
  const gap = view.gaps.find((g) => Date.parse(view.at) - Date.parse(g.seenAt) < gapMillis)
  if (gap !== undefined)
    return warn(`Balance changes from ${minute(gap.since)} to ${minute(gap.until)} are lost: ${gap.cause}.`)
  const ticket = view.rules.find(({ fires }) => fires === "ticket")
  if (ticket !== undefined) return warn(firing(ticket))
  const open = view.intents.filter((i) => i.open).length
  const activity = `${count(more.today, "payment")} in 24 h, ${open} open. Knowledge ${age} old.`
  const out = view.accounts.filter((a) => !a.inBand)
  if (out.length > 0)
    return warn(`Out of band: ${out.map((a) => `${a.party} ${a.balance} ${a.asset}`).join(", ")}. ${activity}`)
  return { severity: "ok", text: `All in band. ${activity}` }
}

const firing = ({ name, fires, detail }: RuleView): string => `${name} fires (${fires}): ${detail}.`

const minute = (iso: string): string => `${iso.slice(0, 16).replace("T", " ")} UTC`

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`
