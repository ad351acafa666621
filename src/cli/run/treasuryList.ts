import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { treasuriesPage } from "../../http/access/pages.ts"
import { json, pathOf, refusal } from "../../http/respond.ts"
import { live, type Mounted, nothingHere, refusingAnswers, type SurfaceAnswers } from "../../http/StatusServer.ts"
import type { TreasuryState } from "../../http/View.ts"

const ranks = { bad: 0, warn: 1, ok: 2 } as const

/** The worst first, else by name. */
const worstFirst = (states: Iterable<TreasuryState>): ReadonlyArray<TreasuryState> =>
  [...states].toSorted((a, b) => ranks[a.severity] - ranks[b.severity] || (a.name < b.name ? -1 : 1))

/**
 * Ready while one of its treasuries is, or stands by: a broken one must not take the others' page, metrics and standby
 * away. Names those that are not ready.
 */
const readiness = Effect.fnUntraced(function* (
  states: ReadonlyArray<TreasuryState>,
  running: ReadonlyMap<string, SurfaceAnswers<never>>,
) {
  const notReady: Array<string> = []
  for (const { name, state } of states) {
    const own = yield* running.get(name)?.probe("/readyz") ?? Effect.undefined
    if (own === undefined ? state !== "standby" : own.status !== 200) notReady.push(name)
  }
  return json({ notReady }, notReady.length > 0 && notReady.length === states.length ? 503 : 200)
})

/** The answers of a process of several treasuries: their list, and the metrics of all. */
export const listAnswers = (
  states: () => Iterable<TreasuryState>,
  running: ReadonlyMap<string, SurfaceAnswers<never>>,
  metrics: Effect.Effect<string>,
): SurfaceAnswers<never> => ({
  probe: (path) =>
    path === "/readyz" ? readiness([...states()], running) : Effect.succeed(path === "/livez" ? live : undefined),
  page: (request) =>
    Effect.sync(() => {
      const path = pathOf(request)
      if (path === "/") return treasuriesPage(worstFirst(states()))
      return path === "/api/v1/treasuries" ? json(worstFirst(states())) : nothingHere
    }),
  metrics,
  other: nothingHere,
})

const partPath = /^\/treasury\/([^/?]+)(\/.*)?$/

const notRunning = ({ name, text }: TreasuryState): SurfaceAnswers<never> =>
  refusingAnswers(
    refusal(503, `treasury ${name} does not run: ${text}`, "it is started again automatically"),
    Effect.succeed(""),
  )

const decoded = Option.liftThrowable(decodeURIComponent)

/** Leads "/treasury/NAME/..." to the answers of that treasury, which see what stands behind its name. */
export const mountedAt =
  (
    running: ReadonlyMap<string, SurfaceAnswers<never>>,
    stateOf: (name: string) => TreasuryState | undefined,
  ): Mounted =>
  (request) => {
    const [, encoded, rest] = partPath.exec(request.url) ?? []
    const name = encoded === undefined ? undefined : Option.getOrUndefined(decoded(encoded))
    const state = name === undefined ? undefined : stateOf(name)
    if (name === undefined || state === undefined || rest === undefined) return undefined
    return { answers: running.get(name) ?? notRunning(state), request: at(request, rest) }
  }

const at = (request: HttpServerRequest.HttpServerRequest, url: string) => request.modify({ url })
