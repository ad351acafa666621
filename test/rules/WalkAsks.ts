import type { Asked } from "../../src/rules/Snapshot.ts"
import type { Outcome } from "../../src/rules/step.ts"

/** What people were asked for: kept until the need is gone. */
export class WalkAsks {
  all: ReadonlyArray<Asked> = []

  keep({ look: { subject }, judgement: { decision } }: Outcome, now: number): void {
    const { name } = subject.rule
    const isOwn = (asked: Asked) => asked.rule === name && asked.subject === subject.name
    if (decision._tag === "Ask") {
      const amount = decision.payments[0]?.amount ?? 0n
      this.all = [...this.all, { rule: name, subject: subject.name, amount, at: now, endedAt: undefined }]
    } else if (subject.kind === "request" && decision._tag === "Hold" && decision.reason === "in_band") {
      this.all = this.all.map((asked) =>
        isOwn(asked) && asked.endedAt === undefined ? { ...asked, endedAt: now } : asked,
      )
    }
  }
}
