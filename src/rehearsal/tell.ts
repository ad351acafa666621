import { askedAfter } from "../rules/conclude.ts"
import type { Notice } from "../rules/Notice.ts"
import type { Play } from "./Play.ts"

/** People hear of each thing once; what they are asked for is remembered until they have sent it. */
export const tell = ({ state, told, reach }: Play, notices: ReadonlyArray<Notice>): void => {
  const { now } = state
  for (const notice of notices) {
    const { topic, rule, subject, brief: detail, asked, over, alert } = notice
    const recent = state.asks.filter(({ endedAt }) => endedAt === undefined || endedAt >= now - reach.asked)
    state.asks = askedAfter(recent, notice, now)
    if (state.told.has(alert.dedup)) continue
    if (over !== undefined && ![...state.told].some((told) => told.startsWith(`${over}/`))) continue
    state.told.add(alert.dedup)
    const at = { at: now, severity: alert.severity, kind: topic, rule, subject, detail }
    told.push(asked === undefined ? at : { ...at, asked: wantedOf(asked) })
  }
}

const wantedOf = ({ from, to, asset, amount }: NonNullable<Notice["asked"]>) => ({ from, to, asset, amount })
