import { type IntentState, isFinalIntent } from "../../src/domain/Intent.ts"

/** What the store, the ledger and those who listened say of a run that has come to rest. */
export interface Testimony {
  readonly intents: ReadonlyArray<{ readonly id: string; readonly state: IntentState; readonly detail: string }>
  readonly attempts: ReadonlyArray<{ readonly intentId: string; readonly transferId: string }>
  /** Intents that the journal holds a decision of. */
  readonly decided: ReadonlySet<string>
  /** Intents that a daemon told of, after they were durable. */
  readonly told: ReadonlySet<string>
  /** Transfers of the treasury's keys that the ledger executed, each as often as it did. */
  readonly executed: ReadonlyArray<string>
  /** What keeps the treasury from signing, in words. */
  readonly halts: ReadonlyArray<string>
  /** How many alerts were raised, and which of them were lost or came in a wrong order, in words. */
  readonly alerts: { readonly raised: number; readonly wrong: ReadonlyArray<string> }
  /** What is wrong with the journal, in words. */
  readonly broken: string | undefined
}

export interface Verdict {
  /** Without an end, vanished, or said to be paid and not paid: one sentence each. */
  readonly lost: ReadonlyArray<string>
  /** Paid more than once, or paid though it is said not to be. */
  readonly duplicate: ReadonlyArray<string>
}

/** What the journal says against what the ledger did. */
export const judge = (testimony: Testimony): Verdict => {
  const { intents, attempts, decided, told, executed, halts, alerts, broken } = testimony
  const lost: Array<string> = []
  const duplicate: Array<string> = []
  const intentOf = new Map(attempts.map(({ intentId, transferId }) => [transferId, intentId]))
  const times = new Map<string, number>()
  for (const transfer of executed) {
    const intent = intentOf.get(transfer)
    if (intent === undefined) lost.push(`transfer ${transfer} executed, and the store does not know it`)
    else times.set(intent, (times.get(intent) ?? 0) + 1)
  }
  const stored = new Set(intents.map(({ id }) => id))
  for (const id of new Set([...decided, ...told]))
    if (!stored.has(id)) lost.push(`intent ${id} was decided and is gone`)
  for (const { id, state, detail } of intents) {
    const paid = times.get(id) ?? 0
    const name = `intent ${id} (${state}: ${detail})`
    if (!decided.has(id)) lost.push(`${name} stands in no journal`)
    if (!isFinalIntent(state)) lost.push(`${name} has no end`)
    if (state === "confirmed" && paid === 0) lost.push(`${name} was never executed`)
    if (paid > 1) duplicate.push(`${name} was executed ${paid} times`)
    if (paid === 1 && isFinalIntent(state) && state !== "confirmed") duplicate.push(`${name} was executed all the same`)
  }
  // Nothing that happened to it is a reason to stop: such a halt keeps payments from their end.
  for (const halt of halts) lost.push(`halted: ${halt}`)
  lost.push(...alerts.wrong)
  if (broken !== undefined) lost.push(`the journal is broken: ${broken}`)
  return { lost, duplicate }
}
