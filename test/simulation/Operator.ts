import { Effect } from "effect"
import type { Treasury } from "../../src/config/Treasury.ts"
import { haltEnds } from "../../src/domain/Halt.ts"
import { type EndVerb, endPayment, resumeScope } from "../../src/http/controlVerbs.ts"
import { ledgerVerb, reconcileNow } from "../../src/http/ledgerVerbs.ts"
import { rebaseBalances } from "../../src/http/rebaseBalances.ts"
import { Drifts } from "../../src/store/balances/Drifts.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { Signals } from "../../src/store/database/Signals.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { agreed } from "./agreed.ts"
import { agreeTerms } from "./agreeTerms.ts"
import type { Services } from "./Replica.ts"

/** One verb of the command line, as its socket does it. */
export interface OperatorVerb {
  /** Such as "resume (chain_changed)". */
  readonly name: string
  readonly perform: Effect.Effect<unknown, unknown, Services>
}

/** What an operator sees of the ledger besides the daemon: whether a transfer of this id executed. */
export type Ledger = (transferId: string) => boolean

interface Asked {
  readonly treasury: Treasury
  readonly dataDir: string
  readonly ledger: Ledger
  /** Whether a balance that nobody can check is known to be false by who owns it. */
  readonly deceived: boolean
}

const words = { author: "operator", reason: "the gateway lied" }

const signed = (signature: string | undefined) => (signature === undefined ? {} : { signature })

const resuming = (place: { readonly treasury: Treasury; readonly dataDir: string }, scope: string) =>
  agreed((signature) => resumeScope(place, { scope, ...words, ...signed(signature) }))

const rebasing = (treasury: Treasury, party: string, asset: string) =>
  agreed((signature) => rebaseBalances(treasury, { party, asset, ...words, ...signed(signature) }))

/** Begins anew what a comparison did not end, by the names that the alert says. */
export const rebaseMismatches = Effect.fnUntraced(function* (treasury: Treasury) {
  const nameOf = (key: string) => [...treasury.parties.values()].find(({ publicKey }) => publicKey === key)?.name ?? key
  const seen = (yield* (yield* Drifts).all).map(({ party, asset }) => [nameOf(party), asset] as const)
  const accounts = new Map(seen.map((one) => [one.join(" "), one]))
  return yield* Effect.forEach(accounts.values(), ([party, asset]) => rebasing(treasury, party, asset))
})

/** The same with every account, where nothing but their rows tells what they hold. */
const rebaseAll = (treasury: Treasury) =>
  Effect.forEach(treasury.parties.keys(), (party) =>
    Effect.forEach(treasury.assets.keys(), (asset) => rebasing(treasury, party, asset)),
  )

/** Ends the payments that a refusal of `balances rebase` names with the verb for it: they wait for it themselves. */
const endNamed = (treasury: Treasury, answers: ReadonlyArray<object>) =>
  Effect.forEach(answers, (answer) => {
    const remedy = "remedy" in answer ? String(answer.remedy) : ""
    const [, verb, id] = /"cofferer intents (cancel|abandon) (\w+) /.exec(remedy) ?? []
    return id === undefined ? Effect.void : endPayment(treasury, id, verb as EndVerb, words)
  })

/** Verbs that end what stands in the way of payments now, each the one that the halt, the pause or the alert names. */
export const documentedVerbs = Effect.fnUntraced(function* ({ treasury, dataDir, ledger, deceived }: Asked) {
  const controls = yield* Controls
  const place = { treasury, dataDir }
  const verbs: Array<OperatorVerb> = []
  const halts = yield* controls.halts
  for (const { reason } of halts) {
    const end = Object.hasOwn(haltEnds, reason) ? haltEnds[reason as keyof typeof haltEnds] : "resume"
    if (end === "adopt" || end === "recover")
      verbs.push({
        name: `${end} (${reason})`,
        perform: agreed((signature) => ledgerVerb(end, place, { ...words, signature })),
      })
    else if (end === "terms") verbs.push({ name: "approve or accept terms", perform: agreeTerms })
    else if (end === "resume") verbs.push({ name: `resume (${reason})`, perform: resuming(place, "all") })
  }
  for (const { scope } of yield* controls.pauses)
    verbs.push({ name: `resume ${scope}`, perform: resuming(place, scope) })
  const advance = Effect.flatMap(Signals, (signals) => Effect.andThen(signals.wake("balances"), Effect.sleep(200)))
  if ((yield* (yield* Drifts).all).length > 0)
    verbs.push({
      name: "reconcile, balances rebase",
      perform: reconcileNow({ treasury, mode: "live" }, advance).pipe(
        Effect.andThen(rebaseMismatches(treasury)),
        Effect.andThen((answers) => endNamed(treasury, answers)),
      ),
    })
  if (deceived) verbs.push({ name: "balances rebase", perform: rebaseAll(treasury) })
  const outbox = yield* Outbox
  for (const { id, state } of yield* outbox.open) {
    if (state !== "manual" && state !== "unknown") continue
    const attempts = yield* outbox.attempts(id)
    const done = attempts.find(({ transferId }) => ledger(transferId))
    const outcome = done === undefined ? { neverExecuted: true as const } : { executed: done.transferId }
    verbs.push({
      name: `intents resolve (${state})`,
      perform: agreed((signature) =>
        endPayment(treasury, id, "resolve", { ...words, ...outcome, ...signed(signature) }),
      ),
    })
  }
  return verbs as ReadonlyArray<OperatorVerb>
})
