import type { Mutant } from "./Mutant.ts"

/** Mistakes in the money path that were planted by hand, most of which no seed and no test showed at that time. */
export const classics: ReadonlyArray<Mutant> = [
  {
    name: "one gateway's listing taken as proof of absence",
    tests: ["payments/judgeAttempt.test.ts"],
    by: "test",
    edits: [
      {
        file: "payments/judgeAttempt.ts",
        source: "[listing.height] : [])),\n    quorum,\n",
        instead: "[listing.height] : [])),\n    1,\n",
      },
    ],
  },
  {
    name: "executed but unseen not subtracted from what is spendable",
    tests: ["submitter/fee.test.ts"],
    by: "test",
    edits: [
      {
        file: "store/payments/Outbox.ts",
        source: 'state === "confirmed" || !isFinalIntent(state)',
        instead: "!isFinalIntent(state)",
      },
    ],
  },
  {
    name: "a payment of an account in mismatch signed",
    tests: ["submitter/mismatch.test.ts"],
    by: "test",
    edits: [
      {
        file: "payments/planAttempt.ts",
        source: "  if (context.drifting.some(isOf(intent))) return wait(frozenWords)\n",
        instead: "",
      },
    ],
  },
  {
    name: "what was decided before a mismatch signed after it, unasked",
    tests: ["submitter/mismatch.test.ts"],
    by: "test",
    edits: [
      {
        file: "payments/planAttempt.ts",
        source: '!isCompared || noted.has("mismatch") || ',
        instead: "!isCompared || ",
      },
    ],
  },
  {
    name: "what was decided before a clearance signed after it, unasked",
    tests: ["submitter/mismatch.test.ts"],
    by: "test",
    edits: [
      {
        file: "submitter/SigningFacts.ts",
        source: "cleared !== undefined && decided > cleared",
        instead: "cleared !== undefined",
      },
    ],
  },
  {
    name: "an account that begins anew with a payment of it under way",
    tests: ["http/rebase.test.ts"],
    by: "test",
    edits: [{ file: "http/rebaseBalances.ts", source: "if (busy !== undefined) {", instead: 'if (busy === "") {' }],
  },
  {
    name: "an account that begins anew, held by nothing until a later block",
    tests: ["http/rebase.test.ts"],
    by: "test",
    edits: [
      {
        file: "http/rebaseBalances.ts",
        source: "yield* drifts.note({ differing, agreeing: new Set(), listed: end, until })",
        instead: "",
      },
    ],
  },
  {
    name: "a send begun for an attempt that has ended",
    oracles: ["ended"],
    tests: ["submitter/cleared.test.ts"],
    edits: [
      {
        file: "submitter/beginSend.ts",
        source: "if (stored === undefined || isFinalAttempt(stored.state)) return undefined",
        instead: "if (stored === undefined) return undefined",
      },
    ],
  },
  {
    name: "a key cleared by an unfinished listing",
    tests: ["submitter/cleared.test.ts"],
    by: "test",
    edits: [
      {
        file: "gateway/agreedListing.ts",
        source: "      whole.flatMap(({ value }) => value.reached ?? []),\n",
        instead: "      answers.flatMap(({ value }) => value.reached ?? []),\n",
      },
    ],
  },
  {
    name: "the end of the window taken for the proof of death",
    tests: ["submitter/trouble.test.ts"],
    by: "test",
    edits: [
      {
        file: "submitter/Confirm.ts",
        source:
          "  if (!isOver(attempt, height) || sighting.mark === undefined) return yield* escalateIfOverdue(live)\n",
        instead: '  if (isOver(attempt, height)) return yield* settleExpired(live, "its window is over")\n',
      },
    ],
  },
  {
    name: "a look during an awaited answer",
    tests: ["submitter/awaited.test.ts"],
    by: "test",
    edits: [
      {
        file: "submitter/Confirm.ts",
        source: "    if (yield* draining.isSending(attempt)) continue\n",
        instead: "",
      },
    ],
  },
  {
    name: "one more place per block",
    oracles: ["places"],
    tests: [],
    by: "simulation",
    edits: [
      {
        file: "payments/planAttempt.ts",
        source: "?? 0) < pow.txPerBlock)",
        instead: "?? 0) <= pow.txPerBlock)",
      },
    ],
  },
  {
    name: "death at the deadline without margin",
    tests: ["payments/judgeAttempt.test.ts"],
    by: "test",
    edits: [
      {
        file: "payments/judgeAttempt.ts",
        source: "deadlineHeight(attempt) + marginBlocks(longestWindow(attempt))",
        instead: "deadlineHeight(attempt)",
      },
    ],
  },
  {
    name: "fee dropped at the floor",
    tests: ["signer/signer.test.ts"],
    by: "test",
    edits: [
      {
        file: "payments/planAttempt.ts",
        source: "const need = amount + fee",
        instead: "const need = amount",
      },
    ],
  },
  {
    name: "the same nonce for every attempt",
    tests: ["signer/signer.test.ts"],
    edits: [{ file: "signer/Signer.ts", source: ".nonceKey, intentId, k)", instead: ".nonceKey, intentId, 1)" }],
  },
  {
    name: "a new attempt after manual",
    oracles: ["left", "once", "on"],
    tests: ["payments/judgeAttempt.test.ts"],
    edits: [{ file: "payments/judgeAttempt.ts", source: 'intent === "manual" || ', instead: "" }],
  },
  {
    name: "listings that need not be blocks apart",
    tests: ["payments/judgeAttempt.test.ts"],
    by: "test",
    edits: [
      {
        file: "payments/judgeAttempt.ts",
        source: "listing.height < first + rebroadcastBlocks(attempt.windowBlocks)",
        instead: "listing.height < first",
      },
    ],
  },
  {
    name: "one gateway's sighting ending a payment",
    tests: ["gateway/agreed.test.ts"],
    edits: [
      {
        file: "gateway/quorumGateway.ts",
        source: "find((s) => s.length >= quorum)",
        instead: "find((s) => s.length >= 1)",
      },
    ],
  },
  {
    name: "the smaller window for what is open",
    tests: ["rules/workParameters.test.ts"],
    by: "test",
    edits: [
      {
        file: "rules/workParameters.ts",
        source: "Math.max(window, larger.window)",
        instead: "Math.min(window, larger.window)",
      },
    ],
  },
  {
    name: "an end by a height that the clock does not bear out",
    tests: ["payments/judgeAttempt.test.ts"],
    by: "test",
    edits: [
      {
        file: "payments/judgeAttempt.ts",
        source: "SureHeight(reported < reach ? reported : reach)",
        instead: "SureHeight(reported)",
      },
    ],
  },
  {
    name: "no clearance needed",
    oracles: ["once", "planned"],
    tests: ["submitter/cleared.test.ts"],
    edits: [
      {
        file: "store/payments/Clearance.ts",
        source: "if (quarantine !== undefined || granted.has(party)) return quarantine",
        instead: "return quarantine",
      },
    ],
  },
  {
    name: "no quarantine after recover",
    oracles: ["once", "planned", "filled"],
    tests: ["submitter/restored.test.ts"],
    edits: [{ file: "submitter/audit/adopt.ts", source: "      yield* beginQuarantine()\n", instead: "" }],
  },
  {
    name: "a watermark that is gone counts as none yet",
    tests: ["submitter/restored.test.ts"],
    by: "test",
    edits: [
      {
        file: "store/journal/watermarkFile.ts",
        source: "!journal.isShared && (yield* settings.get(writtenKey)) === file\n",
        instead: "false\n",
      },
    ],
  },
  {
    name: "no quarantine after adopt",
    by: "test",
    tests: ["submitter/halts.test.ts", "submitter/lostStore.test.ts"],
    edits: [
      {
        file: "submitter/audit/adopt.ts",
        source: "      if (isHalted || ids.length > 0) yield* beginQuarantine()\n",
        instead: "",
      },
    ],
  },
  {
    name: "nothing is looked up before a signature",
    by: "test",
    tests: ["submitter/handOver.test.ts"],
    edits: [{ file: "payments/planAttempt.ts", source: "  if (listed !== undefined) return listed\n", instead: "" }],
  },
  {
    name: "a reload that ignores weakening",
    oracles: ["terms"],
    tests: ["config", "http"],
    edits: [
      {
        file: "http/reload.ts",
        source: "const isAsking = weaker.length > 0 &&",
        instead: "const isAsking = weaker.length < 0 &&",
      },
      {
        file: "http/reload.ts",
        source: "if (weaker.length > 0 && approval === undefined",
        instead: "if (weaker.length < 0 && approval === undefined",
      },
    ],
  },
]
