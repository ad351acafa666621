import { html } from "htm/preact"
import { render } from "preact"
import { ageText, ruleWord, visibleLines } from "../../domain/text.ts"
import type { Explanation } from "../../rules/explain/explain.ts"
import type { SeenCondition } from "../../rules/explain/explainAlert.ts"
import type { AlertAnswer, NotifyAnswer, RuleAnswer } from "../explanationOf.ts"
import type { AlertView, GatewayView, IntentView, View } from "../View.ts"
import type { RuleView } from "../views.ts"

/** The browser's own names that the page uses; the program's type libraries are Node's. */
declare const document: {
  getElementById(id: string): (Parameters<typeof render>[1] & { textContent: string | null }) | null
  title: string
}
declare const location: { reload(): void }
declare const navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } }

const signs = { ok: "✓", warn: "!", bad: "✕" } as const
const pollMillis = 1_000

/** An age that grows while no answer comes. */
const agedBy = (seconds: number | null) => (seconds === null ? null : seconds + (Date.now() - lastAt) / 1_000)

/** A browser breaks lines behind any hyphen: a flag of a command stays whole, and a time with its unit. */
const unbroken = (text: string) =>
  text
    .split(/((?<= )--?[a-z][a-z-]*|\b\d[\d.,]* (?:s|min|h|d)\b)/)
    .map((part, i) => (i % 2 === 0 ? part : html`<span class="figure">${part}</span>`))

const Bar = (a: View["accounts"][number]) => html`
  <svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label=${`${a.party} ${a.balance}`}>
    <rect class="track" x="0" y="4" width="100" height="4" />
    <rect class="soon" x="0" y="4" width=${a.shareSoon * 100} height="4" />
    <rect class="now" x="0" y="4" width=${a.share * 100} height="4" />
    ${a.levels.map((l) => html`<rect class=${`tick ${l.name}${l.trial ? " trial" : ""}`} x=${l.share * 100 - 0.2} y="0" width="0.5" height="12" />`)}
  </svg>`

const Account = (a: View["accounts"][number]) => html`
  <div class=${a.inBand === false ? "account out" : "account"}>
    <div class="name">${a.party} <small>${a.asset}</small>${a.inBand === false ? html`<b> out of band</b>` : ""}</div>
    <div class="figure">${a.balance}</div>
    ${a.levels.length === 0 ? "" : Bar(a)}
    <div class="levels">
      ${a.levels.map((l) => html`<span>${l.name} ${l.value}${l.trial ? " (on trial)" : ""}</span>`)}
      ${/[1-9]/.test(a.incoming) ? html`<span>+ ${a.incoming} under way</span>` : ""}
      ${/[1-9]/.test(a.reserved) ? html`<span>${a.reserved} reserved</span>` : ""}
      <span>${a.observation === null ? "never seen" : `${ageText(agedBy(a.observation.ageSeconds))}, from ${a.observation.source}`}</span>
    </div>
  </div>`

type WhyAnswer = RuleAnswer | AlertAnswer | NotifyAnswer

/** Answers to "why", by the query; undefined while one is awaited. */
const opened = new Map<string, WhyAnswer | undefined>()

const whyOf = ({ name, kind, subject }: RuleView) =>
  String(new URLSearchParams(kind === "notify" || subject === "" ? { name } : { name, subject }))

const askWhy = async (query: string) => {
  try {
    const answer = await fetch(`api/v1/explain?${query}`)
    if (answer.ok && opened.has(query)) opened.set(query, seen(await answer.text()) as WhyAnswer)
  } catch {
    // The page keeps its content until an answer comes.
  }
}

const toggle = (query: string) => () => {
  if (opened.delete(query)) return show()
  opened.set(query, undefined)
  show()
  void askWhy(query).then(show)
}

const marks = { passed: "✓", holds: "✕", also_holds: "✕", not_reached: "·" } as const
const utc = (millis: number) => new Date(millis).toISOString().slice(5, 19).replace("T", " ")

const Check = (c: Explanation["checks"][number]) => html`
  <tr class=${c.sign}><td title=${c.sign.replaceAll("_", " ")}>${marks[c.sign]}</td><td>${c.reason.replaceAll("_", " ")}</td>
    <td class="detail">${c.sign === "also_holds" ? html`<small>also holds: </small>` : ""}${c.detail}</td></tr>`

const Tree = (e: Explanation, trial: boolean) => html`
  <div class="why">
    <p>${e.sentence}</p>
    ${trial ? html`<p>on trial: it decides, but nothing is paid or requested</p>` : ""}
    <table>${e.checks.map(Check)}</table>
    <ul>
      ${e.lines.map((l) => html`<li>${l.from} -> ${l.to}: ${l.line === null ? "no policy line allows it" : `line ${l.line}, ${l.used} of ${l.per24h} and ${l.transfers} of ${l.transfersPer24h} transfers used in 24 h`}</li>`)}
      ${e.underWay.map((p) => html`<li>${p.short} ${p.state.replaceAll("_", " ")}: ${p.amount} ${p.from} -> ${p.to}</li>`)}
      <li><b>next</b> ${unbroken([...(e.next.notBefore === null ? [] : [`not before ${utc(e.next.notBefore)}`]), ...e.next.after.map((a) => `once ${a}`)].join("; ") || "now")}</li>
    </ul>
  </div>`

const conditionRows = (c: SeenCondition, depth: number): ReadonlyArray<unknown> => {
  const sign = c.holds === null ? "not_reached" : c.holds ? "holds" : "passed"
  const age = c.ageSeconds === null ? "" : `, ${c.ageSeconds.toFixed(1)} s old`
  const seen = c.join !== null ? "" : c.observed === null ? c.detail : `${c.observed}${age}`
  return [
    html`<tr class=${sign}><td title=${String(c.holds ?? "not known")}>${c.holds === null ? "·" : c.holds ? "●" : "○"}</td>
      <td style=${{ paddingLeft: `${depth}em` }}>${c.join === null ? c.text : c.join}</td>
      <td class="detail">${seen}${c.holds === null && c.observed !== null ? `; ${c.detail}` : ""}</td></tr>`,
    ...c.of.flatMap((part) => conditionRows(part, depth + 1)),
  ]
}

const Alert = ({ alert: { sentence, when, clear, firingSince, timers }, last }: AlertAnswer) => html`
  <div class="why">
    <p>${sentence}</p>
    <table>${conditionRows(when, 0)}</table>
    ${clear === null ? "" : html`<p>over when</p><table>${conditionRows(clear, 0)}</table>`}
    <ul>
      ${firingSince === null ? "" : html`<li>true since ${utc(firingSince)}</li>`}
      ${timers.firesAt === null ? "" : html`<li>fires at ${utc(timers.firesAt)} if it holds until then</li>`}
      ${timers.overAt === null ? "" : html`<li>over at ${utc(timers.overAt)} if it stays so until then</li>`}
      ${timers.cooldownEndsAt === null ? "" : html`<li>cooldown until ${utc(timers.cooldownEndsAt)}</li>`}
      ${timers.opensAt === null ? "" : html`<li>alerts are sent from ${utc(timers.opensAt)}</li>`}
      <li>${lastText(last)}</li>
    </ul>
  </div>`

const lastText = (last: AlertAnswer["last"]) =>
  last === null ? "no alert of it is stored" : `last alert ${utc(last.at)}: ${last.subject} ${last.detail}`

const Why = ({ answer }: { readonly answer: WhyAnswer | undefined }) => {
  if (answer === undefined) return html`<div class="why"><p>asking …</p></div>`
  if (answer.about === "rule") return answer.subjects.map((subject) => Tree(subject, answer.trial))
  if (answer.about === "alert") return Alert(answer)
  return html`<div class="why"><p>${lastText(answer.last)}</p></div>`
}

/** How grave an alert is, readable without colour. */
const alertSigns = { page: "✕", ticket: "!", info: "●" } as const

const Rule = (r: RuleView) => {
  const query = whyOf(r)
  return html`
  <li><b>${r.name}</b> <small>${r.kind}${r.subject === "" ? "" : ` ${r.subject}`}</small> <em class=${`word ${r.fires ?? (r.trial ? "trial" : r.state)}`}>${r.fires !== null ? `${alertSigns[r.fires]} ${r.fires}` : r.trial ? "on trial" : ruleWord(r)}</em>
    <div><button class="sentence" aria-expanded=${opened.has(query)} title="show every check" onClick=${toggle(query)}>${r.sentence}</button></div>
    ${opened.has(query) ? html`<${Why} answer=${opened.get(query)} />` : ""}</li>`
}

const rail = ["proposed", "signed", "accepted", "confirmed"] as const

/** How far along the rail an intent has come. */
const reached = (i: IntentView): number => {
  if (i.state === "confirmed") return 4
  const last = i.attempts.at(-1)
  if (last === undefined) return 1
  return last.state === "accepted" ? 3 : 2
}

const copy = (text: string) => () => void navigator.clipboard?.writeText(text)

const Intent = (i: IntentView) => html`
  <tr class=${i.open ? "open" : ""}>
    <td><button title=${`copy ${i.id}`} onClick=${copy(i.id)}>${i.short}</button></td>
    <td class=${`rail ${i.state}`}>${rail.map((step, n) => html`<i class=${n < reached(i) ? "on" : ""} title=${step}></i>`)} ${i.state.replaceAll("_", " ")}</td>
    <td class="figure">${i.amount}</td>
    <td>${i.from} -> ${i.to}</td>
    <td class="detail">${i.rule}: ${i.detail.replace(`${i.amount} ${i.from} -> ${i.to}, `, "")}${i.note === null || i.detail.includes(i.note) ? "" : html` <small>${i.note}</small>`}
      ${i.setAside === null ? "" : html` <small>${i.setAside};</small>`}
      ${i.wait === null ? "" : html` <small title=${`alerts: ${i.wait.called}; ended by: ${i.wait.endedBy}`}>waits for ${i.wait.waitsFor}</small>`}
      ${i.attempts.map((a) => (a.txHash === null ? "" : html` <button title=${`copy ${a.txHash}`} onClick=${copy(a.txHash)}>tx ${a.txHash.slice(0, 8)}</button>`))}</td>
    <td class="time">${i.createdAt.slice(5, 19).replace("T", " ")}</td>
  </tr>`

const stateText = ({ state, ackedBy }: AlertView) => (state === "acknowledged" ? `taken over by ${ackedBy}` : state)

const RecentAlert = (a: AlertView) => html`
  <tr>
    <td class="time">${a.at.slice(5, 19).replace("T", " ")}</td>
    <td><em class=${`word ${a.severity}`}>${alertSigns[a.severity]} ${a.severity}</em></td>
    <td class=${`state ${a.state}`}>${stateText(a)}</td>
    <td class="detail"><b>${a.subject}</b> ${unbroken(a.detail)}${a.waiting === 0 ? "" : html` <small>${a.waiting} ${a.waiting === 1 ? "receiver has" : "receivers have"} not taken it</small>`}</td>
  </tr>`

const Policy = (p: View["policy"][number]) => html`
  <li>${p.text}
    <div class="meter"><i class=${p.share >= 1 ? "full" : ""} style=${{ width: `${Math.min(100, p.share * 100)}%` }}></i></div>
    <small>${p.used} of ${p.limit} and ${p.transfers} transfers in 24 h${p.free === "" ? "" : `; ${p.free}`}</small></li>`

const Gateway = (g: GatewayView) => html`
  <li><b>${g.name}</b> <span class=${g.state === "up" ? "" : "bad"}>${g.state}</span>${g.height === null ? "" : ` at block ${g.height}`} <small>${g.detail}</small></li>`

const minute = (iso: string) => iso.slice(0, 16).replace("T", " ")

/** "3 h 20 min", for the eye. */
const span = (since: string, until: string) => {
  const minutes = Math.max(1, Math.round((Date.parse(until) - Date.parse(since)) / 60_000))
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)]
  if (days > 0) return `${days} d ${hours} h`
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`
}

const Lost = (g: View["gaps"][number]) => html`
  <tr><td class="time">${minute(g.since)}</td><td class="time">${minute(g.until)}</td><td class="figure">${span(g.since, g.until)}</td>
    <td class="detail"><b class="bad">lost</b> ${g.cause}; noticed ${minute(g.seenAt)}</td></tr>`

const Reading = (b: View["backfills"][number]) => html`
  <tr><td class="time">${minute(b.since)}</td><td class="time">${minute(b.until)}</td><td class="figure">${span(b.since, b.until)}</td>
    <td class="detail">being read, ${Math.floor(b.share * 100)} %<div class="meter"><i style=${{ width: `${b.share * 100}%` }}></i></div></td></tr>`

const Past = ({ gaps, backfills }: View) =>
  gaps.length + backfills.length === 0
    ? ""
    : html`
      <section class="past"><h2>Missing history</h2>
        <p>Balance changes of all watched accounts in these times (UTC) are not known. Balances now are.</p>
        <div class="scroll"><table><tr><th>from</th><th>to</th><th>for</th><th></th></tr>${gaps.map(Lost)}${backfills.map(Reading)}</table></div></section>`

/** Everything that is wrong, where the headline names more than one. */
const Conditions = (conditions: View["conditions"]) =>
  conditions.length < 2
    ? ""
    : html`
      <section class="conditions"><h2>Not healthy</h2>
        <ul>${conditions.map(
          (c) =>
            html`<li><em class=${`word ${c.severity}`}>${signs[c.severity]} ${c.name}</em> ${unbroken(`${c.text}; ${c.remedy}`)}</li>`,
        )}</ul></section>`

const App = ({ view, staleSeconds }: { readonly view: View; readonly staleSeconds: number }) => {
  const { accepted, refused, lost } = view.acceptance
  const gone = staleSeconds > 3
  const sentence = gone
    ? `This page is ${Math.round(staleSeconds)} s old: the daemon does not answer.`
    : view.sentence.text
  const severity = gone ? "bad" : view.sentence.severity
  return html`
  <div class=${gone ? "gone" : ""}>
    <header class=${severity}><span class="sign">${signs[severity]}</span><p>${unbroken(sentence)}</p><strong>${view.mode.toUpperCase()}</strong></header>
    <main>
      ${Conditions(view.conditions)}
      <section class="accounts"><h2>Accounts</h2>
        ${view.accounts.length === 0 ? html`<p>No account is watched: name parties and assets in the treasury file.</p>` : view.accounts.map(Account)}</section>
      <section class="rules"><h2>Rules</h2>
        ${view.rules.length === 0 ? html`<p>No rule is written yet.</p>` : html`<ul>${view.rules.map(Rule)}</ul>`}</section>
      <section class="intents"><h2>Payments${view.intents.length === 0 ? "" : ", decided at (UTC)"}</h2>
        ${view.intents.length === 0 ? html`<p>No rule has acted yet.</p>` : html`<div class="scroll"><table>${view.intents.map(Intent)}</table></div>`}</section>
      <section class="alerts"><h2>Alerts${view.alerts.length === 0 ? "" : ", raised at (UTC)"}</h2>
        ${view.alerts.length === 0 ? html`<p>No alert is stored.</p>` : html`<div class="scroll"><table>${view.alerts.map(RecentAlert)}</table></div>`}</section>
      ${Past(view)}
      <section class="limits"><h2>Limits</h2>
        <ul>${view.policy.map(Policy)}</ul>
        <p>Submissions in 24 h: ${accepted} accepted, ${refused} refused, ${lost} without an answer. Alerts that wait for delivery: ${view.alertsPending}.</p>
        <h2>Gateways</h2>
        <ul>${view.network.gateways.map(Gateway)}</ul>
        ${view.network.gateways.length === 1 ? "" : html`<p>${view.network.quorum} of them must agree before money moves.</p>`}
</section>
    </main>
    <footer>${view.treasury} · block ${view.height}, chain ${view.network.chainId} · journal ${view.journal.seq} ${view.journal.head.slice(0, 8)} · cofferer ${view.version} · ${view.at.slice(0, 19).replace("T", " ")} UTC</footer>
  </div>`
}

/** Answer with invisible characters made visible: it has texts of gateways and of people. */
const seen = (text: string): unknown =>
  JSON.parse(text, (_, value: unknown) => (typeof value === "string" ? visibleLines(value) : value))

let last: View | undefined
let lastAt = 0
let shown = false

const show = () => {
  const root = document.getElementById("app")
  if (root === null || last === undefined) return
  if (!shown) root.textContent = ""
  shown = true
  document.title = `${signs[last.sentence.severity]} ${last.treasury}`
  render(html`<${App} view=${last} staleSeconds=${(Date.now() - lastAt) / 1_000} />`, root)
}

const poll = async () => {
  try {
    const answer = await fetch("api/v1/status")
    // The session is over: the server shows the form.
    if (answer.status === 401) location.reload()
    if (answer.ok) {
      last = seen(await answer.text()) as View
      lastAt = Date.now()
    }
  } catch {
    // The age of what is shown tells that nothing came.
  }
  await Promise.all([...opened.keys()].map(askWhy))
  show()
  setTimeout(poll, pollMillis)
}

void poll()
