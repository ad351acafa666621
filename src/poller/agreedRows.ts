import type { BalanceChange } from "../domain/Balance.ts"
import { quorumTip } from "../domain/chain.ts"
import type { WindowAnswer } from "./askWindow.ts"

/** Answer of one gateway for the window that all were queried for. */
export interface NamedAnswer {
  readonly name: string
  readonly answer: WindowAnswer
}

type Agreement =
  /** A quorum gave the same rows. `apart` gave others for the same time. */
  | {
      readonly _tag: "Agreed"
      readonly answer: WindowAnswer & { readonly _tag: "Rows" }
      readonly by: ReadonlyArray<string>
      readonly apart: ReadonlyArray<string>
    }
  /** Enough answered, and no quorum of them gave the same rows. */
  | { readonly _tag: "Apart"; readonly until: bigint; readonly detail: string }
  /** Fewer than a quorum have new rows; `answer` is of one without, and shows why. */
  | { readonly _tag: "Waiting"; readonly answer: WindowAnswer }

type Rows = WindowAnswer & { readonly _tag: "Rows" }

/** Answer of no gateway. */
export const noAnswer: WindowAnswer = { _tag: "Nothing", mark: undefined, unsettled: [] }

const wordsOf = (row: BalanceChange): string =>
  `${row.timestamp} ${row.party} ${row.asset} ${row.market} ${row.type} ${row.balance}`

/** Rows as text, in whatever order they came: two gateways agree where the texts are equal. */
const textOf = (rows: ReadonlyArray<BalanceChange>): string => rows.map(wordsOf).sort().join("\n")

/**
 * The part of a window on which a quorum of gateways agrees: up to the newest block that a quorum has begun, each row
 * of it reported by each of them. `since` is the start of the common window; a row before it, which only some gateways
 * were queried for again, counts if a quorum shows it.
 */
export const agreedRows = (given: ReadonlyArray<NamedAnswer>, quorum: number, since: bigint): Agreement => {
  const whole = given.flatMap(({ name, answer }) => (answer._tag === "Rows" ? [{ name, answer }] : []))
  const until = quorumTip(
    whole.map(({ answer }) => answer.until),
    quorum,
  )
  if (until === undefined) {
    const answer = given.find((one) => one.answer._tag !== "Rows")?.answer ?? noAnswer
    return { _tag: "Waiting", answer }
  }
  const groups = new Map<string, Array<{ readonly name: string; readonly answer: Rows }>>()
  for (const one of whole) {
    if (one.answer.until < until) continue
    const text = textOf(one.answer.rows.filter(({ timestamp }) => timestamp >= since && timestamp < until))
    groups.set(text, [...(groups.get(text) ?? []), one])
  }
  const agreed = [...groups.values()].find((group) => group.length >= quorum)
  if (agreed === undefined) {
    const sides = [...groups.values()].map((group) => group.map(({ name }) => name).join(" and "))
    return { _tag: "Apart", until, detail: `${sides.join(", ")} show different balance changes` }
  }
  const by = agreed.map(({ name }) => name)
  const apart = whole.filter(({ name, answer }) => answer.until >= until && !by.includes(name)).map(({ name }) => name)
  return {
    _tag: "Agreed",
    answer: cutAt(
      agreed.map(({ answer }) => answer),
      { until, since, quorum },
    ),
    by,
    apart,
  }
}

interface Cut {
  readonly until: bigint
  readonly since: bigint
  readonly quorum: number
}

/** The answer of one of them, up to a time that all of them reached. */
const cutAt = (answers: ReadonlyArray<Rows>, { until, since, quorum }: Cut): Rows => {
  const exact = answers.filter((answer) => answer.until === until)
  const answer = exact[0] ?? answers[0]!
  const again = new Map<string, { readonly row: BalanceChange; by: number }>()
  for (const { rows } of answers) {
    for (const row of new Map(rows.map((one) => [wordsOf(one), one])).values()) {
      if (row.timestamp >= since) continue
      const known = again.get(wordsOf(row))
      if (known === undefined) again.set(wordsOf(row), { row, by: 1 })
      else known.by++
    }
  }
  const late = [...again.values()].flatMap(({ row, by }) => (by >= quorum ? [row] : []))
  return {
    ...answer,
    until,
    rows: [...late, ...answer.rows.filter(({ timestamp }) => timestamp >= since && timestamp < until)],
    height: exact.length === 0 ? 0n : heightOf(answers, exact, quorum),
    more: answers.filter((one) => one.more || one.until > until).length >= quorum,
  }
}

/** The height below `until`: that of a quorum, else the lowest that any of them names; 0 if none names one. */
const heightOf = (answers: ReadonlyArray<Rows>, exact: ReadonlyArray<Rows>, quorum: number): bigint => {
  const known = exact.flatMap(({ height }) => (height === 0n ? [] : [height]))
  const agreed = quorumTip(known, quorum)
  if (known.length === 0 || agreed !== undefined) return agreed ?? 0n
  return answers.reduce((least, { height }) => (height > 0n && height < least ? height : least), known[0]!)
}
