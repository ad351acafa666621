import type { AlertRule, Condition } from "../Condition.ts"
import { conditionText } from "../conditionText.ts"
import { isAlert, type Level } from "../Rule.ts"
import { type Finding, type RuleSet, say, spotsOf } from "./Finding.ts"
import { holdsAt, outcomesOf } from "./outcomes.ts"

/** Alerts that can never fire or never end, and a `clear` that lies on the wrong side of its condition. */
export const clearing = (set: RuleSet): ReadonlyArray<Finding> =>
  set.rules.flatMap((rule, i): ReadonlyArray<Finding> => {
    if (!isAlert(rule)) return []
    const void_ = voidOf(rule, ["rules", i])
    return void_.length > 0 ? void_ : beyond(set, rule, ["rules", i])
  })

type Path = Finding["path"]

const voidOf = ({ name, when, clear }: AlertRule, path: Path): ReadonlyArray<Finding> => {
  const outcomes = outcomesOf(clear === undefined ? [when] : [when, clear])
  if (outcomes === undefined) return []
  const text = conditionText(when)
  const firing = outcomes.map((outcome) => holdsAt(when, outcome))
  if (!firing.includes(true) || !firing.includes(false)) {
    const isNever = !firing.includes(true)
    const message = `rule ${name}: ${text} ${isNever ? "can never hold" : "always holds"}`
    const remedy = isNever && when._tag === "All" ? "write any for all, or mend a level" : "mend its levels"
    return [{ lint: "condition", severity: "error", path: [...path, "notify", "when"], message, remedy }]
  }
  if (clear === undefined) return []
  const cleared = outcomes.map((outcome) => holdsAt(clear, outcome))
  const why = wrongSide(when, clear, firing, cleared)
  if (why === undefined) return []
  const message = `rule ${name}: clear is on the wrong side: ${conditionText(clear)} ${why}`
  return [{ lint: "clear", severity: "error", path: [...path, "clear"], message, remedy: remedyOf(when) }]
}

const wrongSide = (
  when: Condition,
  clear: Condition,
  firing: ReadonlyArray<boolean>,
  cleared: ReadonlyArray<boolean>,
): string | undefined => {
  const over = cleared.filter((_, i) => !firing[i])
  if (!over.includes(true)) return `never holds once ${conditionText(when)} is over`
  const both = cleared.filter((holds, i) => holds && firing[i])
  if (!over.includes(false) && both.length > 0) return "holds whenever the alert is over, so it changes nothing"
  // Of one thing alone outcomes are in its order: both conditions hold at one end, and none at the other.
  const ends = [0, -1].map((end) => [firing.at(end), cleared.at(end)] as const)
  const isSameWay = outcomesOf([when]) !== undefined && areOneThing(when, clear)
  const alike = ends.every(([fires, clears]) => fires === clears) && ends[0]?.[0] !== ends[1]?.[0]
  return isSameWay && alike ? "looks the way in which the alert fires" : undefined
}

/** Whether both are about one thing, however they are combined. */
const areOneThing = (when: Condition, clear: Condition): boolean => outcomesOf([when, clear])?.[0]?.size === 1

const remedyOf = (when: Condition): string => {
  if (when._tag !== "Balance") return "write what has to hold beyond it, or take clear away"
  const { side, units, account } = when
  const level = say(account.asset, units)
  return `write a level ${side === "below" ? "over" : "under"} ${level}, or take clear away: it is over at ${level} then`
}

/** Where a balance alone decides: the level at which the alert is over. */
const endOf = ({ when, clear }: AlertRule): Extract<Condition, { _tag: "Balance" }> | undefined => {
  if (when._tag !== "Balance") return undefined
  if (clear === undefined) return when
  return clear._tag === "Not" && clear.of._tag === "Balance" ? clear.of : undefined
}

/** Alerts that go on where the rules of the file have done all that they do. */
const beyond = (set: RuleSet, rule: AlertRule, path: Path): ReadonlyArray<Finding> => {
  const end = endOf(rule)
  if (end === undefined) return []
  const isLow = end.side === "below"
  const { party, asset, balance } = end.account
  const levels = spotsOf(set).flatMap(({ rule: { name }, subject }): ReadonlyArray<{ name: string; level: Level }> => {
    const level = isLow ? filledTo(subject) : emptiedTo(subject)
    return level === undefined ? [] : [{ name, level }]
  })
  const own = levels.filter(({ level }) => level.party === party && level.asset === asset && level.balance === balance)
  const reaches = own.some(({ level: { target } }) => (isLow ? target >= end.units : target <= end.units))
  const [first] = own
  if (first === undefined || reaches) return []
  const target = say(asset, first.level.target)
  const does = isLow ? `fills ${party.name} to ${target}` : `leaves ${target} with ${party.name}`
  return [
    {
      lint: "clear",
      severity: "warning",
      path: [...path, ...(rule.clear === undefined ? ["notify", "when"] : ["clear"])],
      message: `rule ${rule.name} is over at ${say(asset, end.units)}, and ${first.name} ${does}: other money alone ends it`,
      remedy: `set it to ${target} or ${isLow ? "less" : "more"}, or leave it where that is meant`,
    },
  ]
}

type Subject = ReturnType<typeof spotsOf>[number]["subject"]

const filledTo = (subject: Subject): Level | undefined => (subject.kind === "topUp" ? subject.level : undefined)

const emptiedTo = (subject: Subject): Level | undefined => {
  if (subject.kind === "sweep") return subject.level
  return subject.kind === "split" || subject.kind === "withdraw" ? subject.rule.level : undefined
}
