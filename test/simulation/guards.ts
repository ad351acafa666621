import type { Planted } from "./planted.ts"

/** A mistake that other guards keep from the ledger, or that takes other people than the simulation has. */
export interface PlantedGuard extends Omit<Planted, "oracles"> {
  /** The test file that must fail with it. */
  readonly test: string
  /** Part of the title of the tests that are run: one of them must fail. */
  readonly title: string
}

/** The tests are worth what they notice: each of these must make its test fail. */
export const guards: ReadonlyArray<PlantedGuard> = [
  {
    name: "signs as many attempts of an intent as it is asked for",
    test: "test/signer/signer.test.ts",
    title: "attempt",
    edits: [
      {
        file: "signer/Signer.ts",
        source: '          if (another !== undefined) return yield* refuse("attempts", another)\n',
        instead: "",
      },
    ],
  },
  {
    name: "records a spend at the earlier of clock and newest block",
    test: "test/signer/windows.test.ts",
    title: "holds over a clock",
    edits: [
      {
        file: "signer/Signer.ts",
        source: "const spentAt = Math.max(request.blockTimeMillis, yield* Clock.currentTimeMillis)",
        instead: "const spentAt = Math.min(request.blockTimeMillis, yield* Clock.currentTimeMillis)",
      },
    ],
  },
  {
    name: "counts from the later of clock and newest block",
    test: "test/signer/windows.test.ts",
    title: "holds over a clock",
    edits: [
      {
        file: "signer/Signer.ts",
        source: "const since = Math.min(request.blockTimeMillis, clock) - dayMillis",
        instead: "const since = Math.max(request.blockTimeMillis, clock) - dayMillis",
      },
    ],
  },
  {
    name: "forgets what is open after 24 hours",
    test: "test/signer/windows.test.ts",
    title: "counts what is open",
    edits: [
      {
        file: "store/payments/SpendLog.ts",
        source: "    endedAt === null || Math.max(spentAt, endedAt) > since\n",
        instead: "    Math.max(spentAt, endedAt ?? 0) > since\n",
      },
    ],
  },
  {
    name: "signs however far apart clock and newest block are",
    test: "test/signer/windows.test.ts",
    title: "are apart, in either direction",
    edits: [
      {
        file: "signer/Signer.ts",
        source: '          if (gap !== undefined) return yield* refuse("stale", gap.detail)\n',
        instead: "",
      },
    ],
  },
  {
    name: "signs what is not permitted in the journal",
    test: "test/signer/permit.test.ts",
    title: "",
    edits: [
      {
        file: "signer/Signer.ts",
        source: '            if (foreign !== undefined) return yield* refuse("permit", foreign)\n',
        instead: "",
      },
    ],
  },
  {
    name: "keeps a signature that the second implementation does not verify",
    test: "test/signer/twoSigners.test.ts",
    title: "",
    edits: [
      {
        file: "signer/KeyFile.ts",
        source: "  return isVerified(signature, message, publicKey) ? signature : undefined\n",
        instead: "  return isVerified(signature, message, publicKey) || true ? signature : undefined\n",
      },
    ],
  },
  {
    name: "believes what a receipt shows before its permit",
    test: "test/walls/receipts.test.ts",
    title: "",
    edits: [
      {
        file: "store/journal/proven.ts",
        source: "return body.before === hashOfHashes(before)",
        instead: 'return body.before !== "" || hashOfHashes(before) === ""',
      },
    ],
  },
  {
    name: "keeps a signature whose attempt the disk did not take",
    test: "test/submitter/signing.test.ts",
    title: "",
    edits: [
      {
        file: "submitter/signAttempt.ts",
        source: '    Effect.map((attempt): Outcome => ({ _tag: "Signed", attempt })),\n',
        instead:
          '    Effect.map((attempt): Outcome => ({ _tag: "Signed", attempt })),\n' +
          '    Effect.catchTag("StoreError", () => Effect.succeed<Outcome>(nextRound)),\n',
      },
    ],
  },
  {
    name: "lets the approval of terms hold after they came into force",
    test: "test/http/termsApproval.test.ts",
    title: "use their approvals up",
    edits: [
      { file: "http/termsApproval.ts", source: "    replaces: known?.seq ?? 0,\n", instead: "    replaces: 1,\n" },
    ],
  },
  {
    name: "lets the approval of terms hold for ever",
    test: "test/http/termsApproval.test.ts",
    title: "are approved for a day at most",
    edits: [
      {
        file: "tx/Approval.ts",
        source: "Array.from({ length: slotsAhead }, ",
        instead: "Array.from({ length: slotsAhead * 2 }, ",
      },
    ],
  },
  {
    name: "sends until the last block of the window",
    test: "test/submitter/schedule.test.ts",
    title: "never in its last",
    edits: [
      {
        file: "domain/Attempt.ts",
        source: "BigInt(shortest) - marginBlocks(shortest)",
        instead: "BigInt(shortest)",
      },
    ],
  },
  {
    name: "begins a send under a halt that came while the work was solved",
    test: "test/submitter/lastMoment.test.ts",
    title: "",
    edits: [
      {
        file: "submitter/beginSend.ts",
        source: "  if ((yield* blockedBy(intent)) !== undefined) return undefined\n",
        instead: "",
      },
    ],
  },
  {
    name: "begins a send whose window ended while the work was solved",
    test: "test/submitter/lastMoment.test.ts",
    title: "",
    edits: [
      {
        file: "submitter/beginSend.ts",
        source: "  return [height, observed, ...named].every((known) => maySend(stored, known)) ? stored : undefined\n",
        instead: "  return stored\n",
      },
    ],
  },
  {
    name: "takes the file of a start at once, whatever it permits",
    test: "test/http/terms.test.ts",
    title: "a start with weaker terms",
    edits: [
      {
        file: "http/reload.ts",
        source: "  if (approval?.isEnough === false) {",
        instead: "  if (approval === undefined && weaker.length > 0) {",
      },
    ],
  },
  {
    name: "lets no halt stop an acceptance of terms",
    test: "test/http/terms.test.ts",
    title: "whose keys are lost",
    edits: [
      {
        file: "store/controls/Controls.ts",
        source: "        if (!isIn || ofPeople.includes(reason)) yield* stopAcceptance(reason, at)\n",
        instead: "        void stopAcceptance(reason, at)\n",
      },
    ],
  },
  {
    name: "lets the clock alone end the hour of accepted terms",
    test: "test/http/terms.test.ts",
    title: "whose keys are lost",
    edits: [
      {
        file: "http/termsApproval.ts",
        source: "  if (clockGap(now, block, maxAge) !== undefined) return false\n",
        instead: "  void [block, maxAge]\n",
      },
    ],
  },
  {
    name: "lets fewer gateways than the terms in force name prove a payment dead",
    test: "test/submitter/fewerThanAgreed.test.ts",
    title: "proves no absence",
    edits: [
      {
        file: "submitter/judgeFound.ts",
        source: "  if (gateways.quorum < quorum) ",
        instead: "  if (gateways.quorum < 0) ",
      },
    ],
  },
  {
    name: "asks the operators of the file for what those in force must sign",
    test: "test/http/agreement.test.ts",
    title: "asks the operators last in force",
    edits: [
      {
        file: "http/agreeing.ts",
        source: "  if (known !== undefined) return operatorsIn(known.terms)\n",
        instead: "  void known\n",
      },
    ],
  },
  {
    name: "signs whatever fee the network takes",
    test: "test/signer/signer.test.ts",
    title: "fee",
    edits: [
      {
        file: "rules/policy/Policy.ts",
        source: "  return fee <= most ? undefined : `the network takes",
        instead: "  return fee >= 0n ? undefined : `the network takes",
      },
    ],
  },
  {
    name: "believes a fee of the network that was read at any time",
    test: "test/submitter/fee.test.ts",
    title: "read ten minutes ago",
    edits: [
      {
        file: "rules/policy/Policy.ts",
        source: "!(readAt <= now && now - readAt <= feeAgeMillisMax)",
        instead: "readAt > now",
      },
    ],
  },
  {
    name: "takes what was done later than now for done just now",
    test: "test/engine/clock.test.ts",
    title: "keeps nothing from being read",
    edits: [
      {
        file: "domain/Time.ts",
        source: "since > now || now - since >= millis",
        instead: "now - since >= millis",
      },
    ],
  },
  {
    name: "adopts payments without counting them in the limits",
    test: "test/submitter/counted.test.ts",
    title: "count in its limits once adopted, even for a new key",
    edits: [{ file: "submitter/audit/adopt.ts", source: "      yield* countSpends(adopted)\n", instead: "" }],
  },
  {
    name: "lets a planned payment age out like one of a level",
    test: "test/submitter/waiting.test.ts",
    title: "a planned payment",
    edits: [
      {
        file: "rules/waiting.ts",
        source: '    case "Planned": {\n',
        instead: '    case "Planned": {\n      if (isStale) return { _tag: "DecidedAnew" }\n',
      },
    ],
  },
  {
    name: "drops the parts of a split that has begun",
    test: "test/submitter/waiting.test.ts",
    title: "a split of which one receiver is paused",
    edits: [
      {
        file: "rules/waiting.ts",
        source: '    case "Submitted":\n    case "Part":\n',
        instead: '    case "Part":\n      if (isStale) return { _tag: "DecidedAnew" }\n    case "Submitted":\n',
      },
    ],
  },
  {
    name: "calls nobody to a payment that is open beyond its bound",
    test: "test/submitter/overdue.test.ts",
    title: "a payment that is open beyond its bound",
    edits: [
      {
        file: "submitter/Overdue.ts",
        source: "    if (overdue !== undefined) yield* page(",
        instead: "    void page(",
      },
    ],
  },
  {
    name: "lets a file with another name for a stopped rule in",
    test: "test/http/renamed.test.ts",
    title: "a stop of a rule",
    edits: [
      {
        file: "http/reload.ts",
        source: " || has?.has(rule) === true) return []\n",
        instead: " || has !== undefined) return []\n",
      },
    ],
  },
  {
    name: "lets one person alone adopt payments made elsewhere",
    test: "test/http/agreement.test.ts",
    title: "has every verb",
    edits: [
      {
        file: "http/agreeing.ts",
        source: 'adopt: { agrees: "operators", why',
        instead: 'adopt: { agrees: "nobody", why',
      },
    ],
  },
  {
    name: "forgets that a balance moved where the ledger could not be counted",
    test: "test/submitter/halts.test.ts",
    title: "is counted when the ledger answers",
    edits: [
      {
        file: "submitter/audit/watchWindows.ts",
        source: "    const seen = yield* doneMoreOften(own)\n",
        instead:
          "    yield* (yield* AuditMemory).noteExplained(party, newest)\n    const seen = yield* doneMoreOften(own)\n",
      },
    ],
  },
  {
    name: "takes every window for the shortest",
    test: "test/payments/judgeAttempt.test.ts",
    title: "ends no window before it is over by the clock",
    edits: [
      {
        file: "domain/Attempt.ts",
        source: "attempt.anchorHeight + BigInt(longestWindow(attempt))",
        instead: "attempt.anchorHeight + 5n",
      },
    ],
  },
  {
    name: "forgets that a longer window was told since it was signed",
    test: "test/submitter/watchWork.test.ts",
    title: "",
    edits: [
      {
        file: "domain/Attempt.ts",
        source: "  Math.max(windowBlocks, windowMax)\n",
        instead: "  Math.min(windowBlocks, windowMax)\n",
      },
    ],
  },
]
