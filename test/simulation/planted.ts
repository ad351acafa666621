import type { Oracle } from "./Docket.ts"

/** One exact piece of source, which occurs once in its file or stands at its place, and what stands there instead. */
export interface Edit {
  /** Below src/. */
  readonly file: string
  /** Offset of the piece; without it, it occurs once. */
  readonly at?: number
  readonly source: string
  readonly instead: string
}

/** A mistake that a programmer could make. */
export interface Planted {
  readonly name: string
  /** Oracles that may catch it. */
  readonly oracles: ReadonlyArray<Oracle>
  readonly edits: ReadonlyArray<Edit>
}

const confirm = "submitter/Confirm.ts"
const absent = "  if (!isOver(attempt, height) || sighting.mark === undefined) return yield* escalateIfOverdue(live)\n"

/** What sees a payment that is made twice, or is said to be made and is not. */
const twice: ReadonlyArray<Oracle> = ["once", "truth", "filled", "planned", "floor"]

/** The simulation is worth what it finds: each of these must be caught. */
export const planted: ReadonlyArray<Planted> = [
  {
    name: "signs anew when no answer came",
    oracles: twice,
    edits: [
      {
        file: confirm,
        source: absent,
        instead: '  if (attempt.state === "unknown") return yield* settleExpired(live, "no answer came")\n',
      },
    ],
  },
  {
    name: "sends before the send is on disk",
    oracles: ["disk"],
    edits: [
      {
        file: "submitter/sendAttempt.ts",
        source: "  const seq = yield* beginSend(start, height)\n  if (seq === undefined) return undefined\n",
        instead: "",
      },
      {
        file: "submitter/sendAttempt.ts",
        source: "writer.submit(tx, { gateway, turn, mayLeave }))\n",
        instead:
          "writer.submit(tx, { gateway, turn, mayLeave }))\n  const seq = yield* beginSend(start, height)\n  if (seq === undefined) return undefined\n",
      },
    ],
  },
  {
    name: "trusts a refusal",
    oracles: twice,
    edits: [
      {
        file: confirm,
        source: absent,
        instead: '  if (attempt.state === "refused") return yield* settleExpired(live, "it was refused")\n',
      },
    ],
  },
  {
    name: "takes an error of the gateway for a refusal, and that for the end",
    oracles: twice,
    edits: [
      {
        file: "payments/planSend.ts",
        source: '      return silent("ambiguous", "silent", "resend", message)\n',
        instead: '      return { ...silent("ambiguous", "silent", "resend", message), state: "refused" as const }\n',
      },
      {
        file: confirm,
        source: absent,
        instead: '  if (attempt.state === "refused") return yield* settleExpired(live, "it failed")\n',
      },
    ],
  },
  {
    name: "takes the mempool's yes for the payment",
    oracles: twice,
    edits: [
      {
        file: confirm,
        source: absent,
        instead:
          '  if (attempt.state === "accepted")\n' +
          '    return yield* settleExecuted(live, { fee: 0n, settledAt: 0n, how: "in the mempool" }, Effect.void)\n' +
          absent,
      },
    ],
  },
  {
    name: "decides again before the last payment is seen in the balance",
    oracles: ["filled"],
    edits: [
      {
        file: "rules/checks/history.ts",
        source: "settlingText(facts, unseenBy(facts))",
        instead: "undefined && settlingText(facts, unseenBy(facts))",
      },
    ],
  },
  {
    name: "forgets what was signed within the day",
    oracles: ["policy"],
    edits: [
      {
        file: "store/payments/SpendLog.ts",
        source: "endedAt === null || Math.max(spentAt, endedAt) > since",
        instead: "Math.max(spentAt, endedAt ?? 0) > since + 86395000",
      },
    ],
  },
  {
    name: "takes a payment that failed for one that was made",
    oracles: twice,
    edits: [
      {
        file: "payments/judgeAttempt.ts",
        source: '  if (found.status === "done") return',
        instead: '  if (found.status !== "pending") return',
      },
    ],
  },
  {
    name: "looks for no second execution",
    oracles: ["replay"],
    edits: [
      {
        file: "submitter/audit/recordListing.ts",
        source: "  if (executions < (isSettledUnexecuted ? 1 : 2)) return\n",
        instead: "  if (executions < 9) return\n",
      },
    ],
  },
]
