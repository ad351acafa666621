import { formatAmount } from "../../domain/Amount.ts"
import { accountName, type PinnedAsset, type RuleAccount } from "../Account.ts"
import type { Answered, Answers, Code, CodeAsset, CodeSeen } from "../Code.ts"
import type { KindInput, Need } from "../Need.ts"
import type { CodeRule } from "../Rule.ts"
import { balancesOf, type Knowledge, type Snapshot } from "../Snapshot.ts"
import type { Subject } from "../Subject.ts"

const minuteMillis = 60_000

/** The name under which a code rule finds a balance. */
export const balanceName = (account: RuleAccount): string =>
  account.balance === "free" ? accountName(account) : `${accountName(account)} total`

/** Builds the input of a rule's function from balances and asset listings. */
export const codeInputOf = (
  { asset, accounts }: CodeRule,
  balances: ReadonlyArray<bigint>,
  known: Pick<Snapshot, "now" | "listed">,
): CodeSeen => ({
  balances: Object.fromEntries(accounts.map((account, i) => [balanceName(account), balances[i] ?? 0n])),
  one: 10n ** BigInt(asset.decimals),
  assets: Object.fromEntries(
    [asset, ...accounts.map((account) => account.asset)].map((pin) => [pin.symbol, assetOf(pin, known.listed)]),
  ),
  time: Math.floor(known.now / minuteMillis) * minuteMillis,
})

const assetOf = ({ id, decimals }: PinnedAsset, listed: Snapshot["listed"]): CodeAsset => ({
  one: 10n ** BigInt(decimals),
  decimals,
  status: listed === undefined ? "unknown" : (listed.get(id)?.status ?? "unlisted"),
})

/** True if an answer is valid for this input. A timeout is kept until its retry time, whatever the input. */
export const holdsFor = ({ seen, answer }: Answered, told: CodeSeen): boolean => {
  if (answer.until !== undefined) return true
  if (seen === told) return true
  if (seen.one !== told.one || (answer.timed && seen.time !== told.time)) return false
  const balances = Object.entries(told.balances)
  const assets = Object.entries(told.assets)
  return (
    balances.length === Object.keys(seen.balances).length &&
    balances.every(([name, units]) => seen.balances[name] === units) &&
    assets.length === Object.keys(seen.assets).length &&
    assets.every(([symbol, { decimals, status }]) => {
      const before = seen.assets[symbol]
      return before?.decimals === decimals && before.status === status
    })
  )
}

/** Need computed by the rule's own code. All changes, limits and checks of a payment apply after it. */
export const codeNeed = ({ subject, snapshot, balances }: KindInput<"code">): Need => {
  const { rule } = subject
  const told = codeInputOf(rule, balances, snapshot)
  const answered = snapshot.answers?.get(rule.name)
  if (answered === undefined) return { _tag: "Unanswered", detail: "its code has not answered yet" }
  if (answered.hash !== rule.code.hash) return { _tag: "Unanswered", detail: "its code was replaced" }
  if (!holdsFor(answered, told)) {
    return { _tag: "Unanswered", detail: "its code was asked, and its input has changed since" }
  }
  const { answer } = answered
  const again = answer.until ?? (answer.timed ? told.time + minuteMillis : undefined)
  const next = again === undefined ? {} : { next: again }
  if (answer._tag === "Broken") return { _tag: "Broken", detail: answer.detail, ...next }
  const seen = rule.accounts
    .map((account, i) => `${formatAmount(balances[i] ?? 0n, account.asset.decimals)} ${balanceName(account)}`)
    .join(", ")
  if (answer.payments.length === 0) return { _tag: "InBand", detail: `at ${seen} its code needs nothing`, ...next }
  const because = answer.because === undefined ? `at ${seen} its code wants it` : `${answer.because} (${seen})`
  const transfers = answer.payments.map(({ to, amount }) => ({ from: rule.from, to: rule.to[to]!, amount }))
  return { _tag: "Wanted", detail: because, transfers, ...next }
}

/** Calls of operators' functions that are due before a round; subjects with unknown balances make none. */
export const questionsOf = (subjects: ReadonlyArray<Subject>, known: Knowledge & Pick<Snapshot, "now" | "listed">) =>
  subjects.filter(isCode).flatMap((subject) => {
    const { rule } = subject
    const balances = balancesOf(subject, known)
    if (balances === undefined) return []
    return [{ rule: rule.name, code: rule.code, seen: codeInputOf(rule, balances, known), now: known.now }]
  })

const isCode = (subject: Subject): subject is Extract<Subject, { kind: "code" }> => subject.kind === "code"

/** Asks all of them. The answers are there once what is waited for has ended. */
export const askAll = (questions: ReturnType<typeof questionsOf>) => {
  const answers = new Map<string, Answered & Pick<Code, "hash">>()
  const waited = questions.flatMap(({ rule, code, seen, now }) => {
    const put = (one: Answered) => {
      answers.set(rule, { ...one, hash: code.hash })
    }
    const said = code.ask(seen, now)
    if (said instanceof Promise) return [said.then(put)]
    put(said)
    return []
  })
  return { answers: answers as Answers, waited }
}
