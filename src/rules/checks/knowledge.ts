import { accountName, receiverKey } from "../Account.ts"
import { ageMillis } from "../Snapshot.ts"
import type { Check, SubjectFacts } from "../SubjectFacts.ts"

const seconds = (millis: number): string => (millis / 1_000).toFixed(1)

/** Age in milliseconds from which on the newest block is too old for the subject. */
export const maxAgeOf = ({ subject, snapshot }: SubjectFacts): number =>
  subject.rule.maxAgeMillis ?? snapshot.maxAgeMillis

const everSeen = "was ever seen"

/** True if a rule held because an account has no balance data at all, judged by the text of that hold. */
export const isUnseen = (noDataWords: string): boolean => noDataWords.endsWith(everSeen)

/** Checks that the snapshot is fresh and complete enough to pay, in the order of `holdReasons`. */
export const knowledge: ReadonlyArray<Check> = [
  {
    reason: "no_data",
    held: ({ subject, snapshot, balances }) => {
      if (snapshot.asOf === undefined) return "no balance was read yet"
      if (balances !== undefined) return undefined
      const unseen = subject.accounts.find(
        ({ party, asset, balance }) => snapshot.balance(party.publicKey, asset.id, balance) === undefined,
      )
      return `no balance of ${unseen === undefined ? subject.name : accountName(unseen)} ${everSeen}`
    },
    passed: ({ subject }) => `a balance of ${subject.accounts.map(accountName).join(", ") || subject.name} is known`,
  },
  {
    reason: "stale",
    held: (facts) => {
      const { snapshot } = facts
      const { asOf } = snapshot
      if (asOf === undefined) return undefined
      const age = ageMillis(snapshot, asOf)
      // A block from the future never grows old, so it would be believed for ever.
      if (-age > snapshot.maxAgeMillis) {
        return `the newest final block is more than ${seconds(snapshot.maxAgeMillis)} s ahead of our clock`
      }
      const limit = maxAgeOf(facts)
      if (age <= limit) return undefined
      // Without the present age: the page shows this text beside an age that keeps counting.
      return `the newest final block is older than ${seconds(limit)} s`
    },
    passed: (facts) => {
      const { asOf } = facts.snapshot
      const age = asOf === undefined ? 0 : ageMillis(facts.snapshot, asOf)
      return `the newest final block is ${seconds(age)} s old; the limit is ${seconds(maxAgeOf(facts))} s`
    },
  },
  {
    reason: "catching_up",
    held: ({ snapshot }) => snapshot.catchingUp,
    passed: () => "history is complete and was compared",
  },
  {
    reason: "disagreement",
    held: ({ snapshot }) => snapshot.disagreement,
    passed: () => "enough gateways agree",
  },
  {
    reason: "drift",
    held: ({ subject, snapshot, sized }) => {
      for (const { party, asset, balance } of subject.accounts) {
        const drift = snapshot.drift(party.publicKey, asset.id, balance)
        if (drift !== undefined) return drift
      }
      // No payment to a receiver in mismatch is signed: decided all the same, it would be dropped again and again.
      const ends = [...subject.payers.map((p) => p.publicKey), ...sized.map(({ transfer }) => receiverKey(transfer.to))]
      for (const party of ends) {
        const drift = snapshot.drift(party, subject.asset.id, "free")
        if (drift !== undefined) return drift
      }
      return undefined
    },
    passed: () => "our history and the gateway's balances are equal",
  },
  {
    reason: "chain_unsettled",
    held: ({ snapshot }) => snapshot.chainUnsettled,
    passed: () => "the network's work parameters are valid",
  },
]
