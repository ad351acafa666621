import { explainSubject } from "../rules/explain.ts"
import type { Outcome } from "../rules/step.ts"

/** Why a subject is silent, and what would end that: "hot/USDT is silent: cooldown, 12 s left; until …". */
export const explain = ({ look }: Outcome): string => {
  const { sentence, checks, verdict, next } = explainSubject(look)
  if (verdict !== "holds") return sentence
  const endsAt = checks.find(({ sign }) => sign === "holds")?.endsAt ?? undefined
  if (endsAt !== undefined && endsAt > look.snapshot.now)
    return `${sentence}; until ${new Date(endsAt).toISOString().slice(0, 19)}Z`
  return next.after[0] === undefined ? sentence : `${sentence}; until ${next.after[0]}`
}
