import type { Mutant } from "./Mutant.ts"

/** Mistakes by which oracles of the simulation are known to see: each of these is caught by the one that it names. */
export const worlds: ReadonlyArray<Mutant> = [
  {
    name: "an attempt stored under another id than the network gives it",
    tests: ["submitter"],
    by: "simulation",
    oracles: ["known"],
    edits: [
      {
        file: "submitter/signAttempt.ts",
        source: "transferId: transferId(signature),",
        instead: "transferId: transferId(signature.slice(2)),",
      },
    ],
  },
  {
    name: "no second attempt after a proven death",
    tests: ["submitter"],
    by: "simulation",
    oracles: ["end"],
    edits: [
      {
        file: "signer/Signer.ts",
        source: "          if (another !== undefined) return yield* refuse(",
        instead: "          if (another !== undefined || request.k > 1) return yield* refuse(",
      },
    ],
  },
  {
    name: "a payment made elsewhere that halts nothing",
    tests: ["submitter"],
    by: "simulation",
    oracles: ["foreign"],
    edits: [
      {
        file: "submitter/audit/recordListing.ts",
        source: "  const last = foreign.at(-1)\n  if (last !== undefined) {",
        instead: "  const last = foreign.at(-1)\n  if (last !== undefined && foreign.length > 9) {",
      },
    ],
  },
  {
    name: "an end of a payment that nobody hears of",
    tests: ["submitter"],
    by: "simulation",
    oracles: ["alert"],
    edits: [
      {
        file: "submitter/settleAndAlert.ts",
        source: "  yield* (yield* Database).write(Effect.andThen(change, alert))\n  if (state !==",
        instead: "  yield* (yield* Database).write(change)\n  if (state !==",
      },
    ],
  },
  {
    name: "an entry of the journal that leaves out the one before it",
    tests: ["store"],
    by: "simulation",
    oracles: ["journal"],
    edits: [{ file: "store/journal/Journal.ts", source: ", prev: last.hash }", instead: ', prev: "" }' }],
  },
  {
    name: "a planned time that is dropped without a word",
    tests: ["engine", "rules"],
    by: "simulation",
    oracles: ["planned"],
    edits: [
      {
        file: "rules/kinds/payoutNotices.ts",
        source: "  if (missed !== undefined) {",
        instead: "  if (missed !== undefined && missed.last < 0) {",
      },
    ],
  },
  {
    name: "a payout that is paid twenty seconds ahead of its time",
    tests: ["rules"],
    by: "simulation",
    oracles: ["planned"],
    edits: [
      {
        file: "rules/Schedule.ts",
        source: "  const newest = plannedUntil(schedule, now)",
        instead: "  const newest = plannedUntil(schedule, now + 20_000)",
      },
      {
        file: "rules/kinds/payout.ts",
        source: "  plannedUntil(schedule, now) > Math.min(episode",
        instead: "  plannedUntil(schedule, now + 20_000) > Math.min(episode",
      },
    ],
  },
  {
    name: "one signature too few for a payment that people must approve",
    tests: ["submitter", "signer"],
    by: "simulation",
    oracles: ["approved"],
    edits: [
      {
        file: "submitter/awaitApproval.ts",
        source: "    isEnough: by.length >= group.need,",
        instead: "    isEnough: by.length >= group.need - 1,",
      },
      {
        file: "signer/Signer.ts",
        source: '  if ("lacking" in approved) return yield* refuse("approval", approved.lacking)\n',
        instead: '  if ("lacking" in approved) return { group: group.name, need: group.need, by: [] }\n',
      },
    ],
  },
  {
    name: "a send that minds no halt",
    tests: ["submitter"],
    by: "simulation",
    oracles: ["stop"],
    edits: [
      {
        file: "submitter/beginSend.ts",
        source: "  if ((yield* blockedBy(intent)) !== undefined) return undefined\n",
        instead: "",
      },
    ],
  },
  {
    name: "a payment of a person that is taken and not recorded",
    tests: ["engine"],
    by: "simulation",
    oracles: ["taken"],
    edits: [
      {
        file: "engine/submitPayment.ts",
        source: "  yield* outbox.record(intent, decisionEntry(intent, treasury.policy))\n",
        instead:
          "  if (payment.amount % 3n !== 0n) yield* outbox.record(intent, decisionEntry(intent, treasury.policy))\n",
      },
    ],
  },
  {
    name: "nobody is called to a payment without an end",
    tests: ["submitter"],
    by: "simulation",
    oracles: ["called"],
    edits: [
      {
        file: "domain/Intent.ts",
        source: "    if (now < unsettledFrom(live)) return undefined\n",
        instead: "    if (now < unsettledFrom(live) + 7_200_000) return undefined\n",
      },
    ],
  },
  {
    name: "an alert given up where its receiver does not answer",
    tests: ["notify"],
    by: "simulation",
    oracles: ["told"],
    edits: [
      {
        file: "alerts/AlertLoop.ts",
        source: "  const known = notifier.receivers.includes(receiver)\n",
        instead: "  const known = !notifier.receivers.includes(receiver)\n",
      },
    ],
  },
  {
    name: "a halt that a restart brings back",
    tests: ["store"],
    by: "simulation",
    oracles: ["on", "end", "replay"],
    edits: [
      {
        file: "store/controls/Controls.ts",
        source: "      sql`SELECT seq, reason, detail, at FROM halts WHERE ended_at IS NULL ORDER BY seq`",
        instead: "      sql`SELECT seq, reason, detail, at FROM halts ORDER BY seq`",
      },
    ],
  },
  {
    name: "a cooldown of half an hour, whatever is written",
    tests: ["rules"],
    by: "simulation",
    oracles: ["on"],
    edits: [
      {
        file: "rules/checks/history.ts",
        source: "    const wait = executed.has(intent.state) ? rule.cooldownMillis :",
        instead: "    const wait = executed.has(intent.state) ? 1_800_000 :",
      },
    ],
  },
]
