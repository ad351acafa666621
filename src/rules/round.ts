import type { Payment } from "../domain/Decision.ts"
import type { IntentId } from "../domain/Hex.ts"
import type { Intent } from "../domain/Intent.ts"
import type { Party } from "./Account.ts"
import { type Judgement, judgeSubject } from "./checks/decide.ts"
import { feeMax } from "./policy/Policy.ts"
import type { Snapshot } from "./Snapshot.ts"
import { intentFor, type Subject } from "./Subject.ts"
import {
  type Allotment,
  feeShareOf,
  leastOf,
  type Memory,
  type SubjectFacts,
  subjectFacts,
  takesPart,
} from "./SubjectFacts.ts"

/** Result of one round for one subject. */
export interface Outcome {
  readonly facts: SubjectFacts
  readonly judgement: Judgement
}

type MemoryOf = (subject: Subject) => Memory | undefined

/** Subjects in the order in which they take scarce funds: by priority, then as in the file. */
const inOrder = (subjects: ReadonlyArray<Subject>): ReadonlyArray<Subject> =>
  isInOrder(subjects) ? subjects : subjects.toSorted((a, b) => a.rule.priority - b.rule.priority)

const isInOrder = (subjects: ReadonlyArray<Subject>): boolean => {
  for (let i = 1; i < subjects.length; i++) {
    if (subjects[i - 1]!.rule.priority > subjects[i]!.rule.priority) return false
  }
  return true
}

/**
 * Decides all subjects once. Payments of one subject count as under way for those after it; needs of one priority share
 * the payer's funds if these do not cover all. The same arguments give the same outcomes. The snapshot that it returns
 * has the payments of all under way.
 */
export const round = (subjects: ReadonlyArray<Subject>, snapshot: Snapshot, memoryOf: MemoryOf) => {
  const classes: Array<ReadonlyArray<Outcome>> = []
  const ordered = inOrder(subjects)
  let now = snapshot
  for (let i = 0; i < ordered.length; ) {
    let end = i
    while (end < ordered.length && ordered[end]!.rule.priority === ordered[i]!.rule.priority) end++
    const decided = decideClass(ordered.slice(i, end), now, memoryOf)
    classes.push(decided.outcomes)
    now = decided.snapshot
    i = end
  }
  return { outcomes: classes.length === 1 ? classes[0]! : classes.flat(), snapshot: now }
}

const decideClass = (subjects: ReadonlyArray<Subject>, snapshot: Snapshot, memoryOf: MemoryOf) => {
  const tried = decideEach(subjects, snapshot, memoryOf, () => undefined)
  const shares = sharesOf(tried.outcomes, snapshot, memoryOf)
  return shares.size === 0 ? tried : decideEach(subjects, snapshot, memoryOf, (subject) => shares.get(subject))
}

const decideEach = (
  subjects: ReadonlyArray<Subject>,
  snapshot: Snapshot,
  memoryOf: MemoryOf,
  allotmentOf: (subject: Subject) => Allotment | undefined,
) => {
  let now = snapshot
  const outcomes: Array<Outcome> = []
  for (const subject of subjects) {
    const facts = subjectFacts(subject, now, memoryOf(subject), allotmentOf(subject))
    const judgement = judgeSubject(facts)
    const { decision } = judgement
    if (decision._tag === "Act") now = { ...now, open: [...now.open, ...decision.payments.map(asUnderWay(facts))] }
    outcomes.push({ facts, judgement })
  }
  return { outcomes, snapshot: now }
}

/** A payment of this round as an open intent for the subjects after it: both ends are reserved. */
const asUnderWay =
  ({ subject, snapshot }: SubjectFacts) =>
  (payment: Payment): Intent =>
    intentFor(subject, payment, {
      id: "" as IntentId,
      treasury: "",
      episode: 0,
      detail: "",
      policy: snapshot.policy,
      at: snapshot.now,
    })

/** True if the subject pays, or would with more funds. */
const wantsFunds = ({ judgement: { decision } }: Outcome): boolean =>
  decision._tag === "Act" || (decision._tag === "Hold" && decision.reason === "short")

const isCut = ({ facts, judgement: { decision } }: Outcome): boolean =>
  decision._tag === "Hold" || facts.sized.some(({ covered }) => !covered)

/** Share of each subject where two or more want more than their payer can spend. */
const sharesOf = (
  outcomes: ReadonlyArray<Outcome>,
  snapshot: Snapshot,
  memoryOf: MemoryOf,
): ReadonlyMap<Subject, Allotment> => {
  const wanting = outcomes.filter(wantsFunds)
  const found = new Map<Subject, Map<Party, bigint>>()
  if (!wanting.some(isCut)) return new Map()
  const payers = new Set(wanting.flatMap(({ facts }) => facts.sized.map(({ transfer }) => transfer.from)))
  for (const payer of payers) {
    const byAsset = Map.groupBy(
      wanting.filter(({ facts }) => facts.sized.some(({ transfer }) => transfer.from === payer)),
      ({ facts }) => facts.subject.asset.id,
    )
    for (const group of byAsset.values()) {
      if (group.length < 2 || !group.some(isCut)) continue
      // Evaluated again without what the subjects before it in this round take.
      const evaluations = group.map(({ facts: { subject } }) => subjectFacts(subject, snapshot, memoryOf(subject)))
      const spendable = evaluations
        .flatMap((facts) => facts.sized.filter(({ transfer }) => transfer.from === payer).slice(0, 1))
        .map((sized) => sized.spendable)
        .reduce((a, b) => (a < b ? a : b))
      for (const [facts, amount] of share(evaluations, payer, spendable)) {
        const own = found.get(facts.subject) ?? new Map<Party, bigint>()
        found.set(facts.subject, own.set(payer, amount))
      }
    }
  }
  return new Map([...found].map(([subject, own]) => [subject, (payer: Party) => own.get(payer)]))
}

/** Base units, fee included, that each subject may take from the payer. */
type Shares = ReadonlyMap<SubjectFacts, bigint>

/**
 * Shares what a payer can spend among the subjects that need it, all of one priority, if it does not suffice for all.
 * Those that pay all or nothing are served whole, in their order, as far as the money goes; the others share the rest
 * in proportion to their needs. One whose share is under its least gets nothing, and its share goes to the others.
 */
const share = (evaluations: ReadonlyArray<SubjectFacts>, payer: Party, spendable: bigint): Shares => {
  const shares = new Map<SubjectFacts, bigint>(evaluations.map((facts) => [facts, 0n]))
  let left = spendable > 0n ? spendable : 0n
  for (const facts of evaluations.filter(({ subject }) => !takesPart(subject.rule))) {
    const want = wantOf(facts, payer)
    if (want > left) continue
    shares.set(facts, want)
    left -= want
  }
  let takers = evaluations.filter(({ subject }) => takesPart(subject.rule))
  while (takers.length > 0) {
    const wanted = takers.reduce((sum, facts) => sum + wantOf(facts, payer), 0n)
    const part = (facts: SubjectFacts): bigint =>
      wanted <= left ? wantOf(facts, payer) : (left * wantOf(facts, payer)) / wanted
    const small = takers.filter((facts) => part(facts) < costOf(facts, leastOf(facts)))
    if (small.length === 0) {
      for (const facts of takers) shares.set(facts, part(facts))
      break
    }
    const smallest = small.reduce((a, b) => (part(b) < part(a) ? b : a))
    takers = takers.filter((facts) => facts !== smallest)
  }
  return shares
}

/** Debit that the subject would cause now if funds did not limit it, fees at their highest included. */
const wantOf = (facts: SubjectFacts, payer: Party): bigint =>
  facts.sized
    .filter(({ transfer }) => transfer.from === payer)
    .reduce((sum, { wanted }) => sum + costOf(facts, wanted), 0n)

const costOf = (facts: SubjectFacts, amount: bigint): bigint => amount + feeMax(feeShareOf(facts), amount)
