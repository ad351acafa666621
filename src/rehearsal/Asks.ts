import type { Payment } from "../domain/Decision.ts"
import type { Asked } from "../rules/Snapshot.ts"
import type { Subject } from "../rules/Subject.ts"
import type { Told } from "./World.ts"

/** What people were asked for: one at a time for each subject. */
export interface Asks {
  readonly ask: (subject: Subject, payment: Payment, why: { readonly at: number; readonly detail: string }) => Told
  /** Ends the open one of the subject; undefined where none is open. */
  readonly end: (subject: Subject, why: { readonly at: number; readonly detail: string }) => Told | undefined
  /** Open ones, and those that ended at or after a moment. */
  readonly since: (since: number) => ReadonlyArray<Asked>
}

interface Open extends Asked {
  readonly payment: Payment
}

const isOf = ({ rule, name }: Subject, asked: Asked): boolean => asked.rule === rule.name && asked.subject === name

const told = ({ rule, name }: Subject, { from, to, asset, amount }: Payment) => ({
  rule: rule.name,
  subject: name,
  asked: { from, to, asset, amount },
})

export const makeAsks = (): Asks => {
  let asks: ReadonlyArray<Open> = []
  return {
    ask: (subject, payment, { at, detail }) => {
      const { rule, name } = subject
      const asked = { rule: rule.name, subject: name, amount: payment.amount, at, endedAt: undefined, payment }
      asks = [...asks, asked]
      return { ...told(subject, payment), at, severity: "ticket", kind: "request", detail }
    },
    end: (subject, { at, detail }) => {
      const open = asks.find((asked) => asked.endedAt === undefined && isOf(subject, asked))
      if (open === undefined) return undefined
      asks = asks.map((asked) => (asked === open ? { ...asked, endedAt: at } : asked))
      return { ...told(subject, open.payment), at, severity: "info", kind: "received", detail }
    },
    since: (since) => {
      if (asks.some(({ endedAt }) => endedAt !== undefined && endedAt < since)) {
        asks = asks.filter(({ endedAt }) => endedAt === undefined || endedAt >= since)
      }
      return asks
    },
  }
}
