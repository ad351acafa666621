import type { Answer } from "./Approving.ts"
import { isLeft } from "./Entry.ts"
import { type Holding, look } from "./Holding.ts"
import type { Play } from "./Play.ts"
import type { WorldEvent } from "./World.ts"

/** A balance is another one from this moment on (Unix milliseconds). */
export const noteChange = (play: Play, holding: Holding, at: number): void => {
  play.listener.changed?.(holding, at)
  const isSeen = play.state.silentSince === undefined
  if (isSeen) look(holding)
  play.alarms.changed(holding, at, isSeen)
  if (!isSeen) return
  const watchers = play.watchers.get(holding.key)
  if (watchers === undefined) return
  for (const entry of watchers.own) {
    if (!entry.quiet) play.state.restless = true
    else if (isLeft(entry, holding)) entry.touched = true
  }
  for (const entry of watchers.paid) if (!entry.quiet) play.state.restless = true
}

/** Everybody is asked at the next look. */
export const touchAll = ({ entries, alarms }: Play): void => {
  alarms.touchAll()
  for (const entry of entries) entry.touched = true
}

/** Lets what happens from outside happen. */
export const apply = (play: Play, event: WorldEvent): void => {
  if (event.kind === "move" || event.kind === "set") {
    noteChange(play, play.ledger.change(event), event.at)
    return
  }
  if ("place" in event) {
    answer(play, event)
    return
  }
  const { state } = play
  touchAll(play)
  if (event.kind === "asset") applyAsset(play, event)
  else if (event.kind === "halt") state.halts.push(event.reason)
  else if (event.kind === "pause") {
    const { scope, reason, until } = event
    state.pauses = [...state.pauses, { scope, reason, ...(until === undefined ? {} : { until }) }]
  } else if (event.kind === "resume") {
    if (event.scope === undefined) state.halts.length = 0
    const ended = event.scope === undefined ? state.pauses.map(({ scope }) => scope) : [event.scope]
    for (const scope of ended) state.ended.set(scope, state.now)
    state.pauses = event.scope === undefined ? [] : state.pauses.filter(({ scope }) => scope !== event.scope)
  } else {
    if (event.answers) for (const holding of play.ledger.holdings.values()) look(holding)
    state.silentSince = event.answers ? undefined : (state.silentSince ?? state.now)
  }
}

const answer = ({ state, approving, misses }: Play, event: Answer): void => {
  const { at, place, by, meant } = event
  const detail = approving.answer(event)
  if (detail !== undefined) misses.push({ at, place, by, meant, detail })
  state.restless = true
}

const applyAsset = (play: Play, { id, status, decimals }: Extract<WorldEvent, { kind: "asset" }>): void => {
  const { state, settings, notify, told } = play
  const before = state.listed.get(id)
  const newcomer = decimals === undefined ? undefined : { decimals, quantum: 1n }
  const known = before ?? settings.assets.get(id) ?? newcomer
  state.listed = new Map(state.listed)
  if (status === undefined || known === undefined) state.listed.delete(id)
  else state.listed.set(id, { decimals: known.decimals, quantum: known.quantum, status })
  if (status === undefined || before?.status === status) return
  for (const { name, asset, becomes } of notify) {
    if (!becomes.includes(status) || (asset !== "any" && asset.id !== id)) continue
    const detail = `${before?.status ?? "new"} -> ${status}`
    told.push({ at: state.now, severity: "info", kind: "asset", rule: name, subject: id, detail })
  }
}
