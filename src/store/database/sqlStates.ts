import { Effect, Predicate } from "effect"

/** A refusal by the store itself, which has no SQLSTATE. */
export class StoreRefusal extends Error {
  readonly kind: "busy" | "lost" | "unknown" | "refused"

  constructor(kind: StoreRefusal["kind"], message: string) {
    super(message)
    this.kind = kind
  }
}

/** The first value that `find` gives among an error and its causes. */
export const amongCauses = <A>(error: unknown, find: (cause: object) => A | undefined): A | undefined => {
  for (let cause = error, depth = 0; typeof cause === "object" && cause !== null && depth < 8; depth++) {
    const found = find(cause)
    if (found !== undefined) return found
    const next: unknown = Reflect.get(cause, "cause")
    cause = next === undefined ? Reflect.get(cause, "reason") : next
  }
  return undefined
}

/** PostgreSQL's SQLSTATE for the failure; one of the client's own for a connection; undefined where none is known. */
export const sqlStateOf = (error: unknown): string | undefined =>
  amongCauses(error, (cause) => {
    // A SQLSTATE has a digit; codes of the operating system, such as EPIPE, have none.
    const isState = /^(?=.*[0-9])[0-9A-Z]{5}$/
    if (Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && isState.test(cause.code)) {
      return cause.code
    }
    return undefined
  }) ??
  amongCauses(error, (cause) =>
    Predicate.isTagged(cause, "ConnectionError")
      ? "08000"
      : Predicate.isTagged(cause, "AuthenticationError")
        ? "28000"
        : undefined,
  )

export const refusalOf = (error: unknown): StoreRefusal["kind"] | undefined =>
  amongCauses(error, (cause) => (cause instanceof StoreRefusal ? cause.kind : undefined))

/** SQLSTATEs of a lost connection, a conflict, an operator's intervention, a transaction that idled too long. */
const transient = /^(?:08|40|57|25P03)/

/** True if the same may succeed a moment later, and nothing of it was done. */
export const isTransient = (error: unknown): boolean =>
  refusalOf(error) === undefined && transient.test(sqlStateOf(error) ?? "")

/** Waits before each retry. */
const retriesMillis = [50, 300, 1_500]
/** None begins later: a try may wait long for a server without an answer, and people are to hear of that. */
const retriesUntilMillis = 15_000

/** Sleeps by the machine's timer, also under a test clock: the server's time is real. */
export const realSleep = (millis: number) =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })

/** Retries after a lost connection, a conflict or a restart of the server, at most `retriesMillis.length` times. */
export const withRetry = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const end = performance.now() + retriesUntilMillis
    const attempt = (retries: number): Effect.Effect<A, E, R> =>
      Effect.catchIf(
        effect,
        (error) => retries < retriesMillis.length && performance.now() < end && isTransient(error),
        () => Effect.andThen(realSleep(retriesMillis[retries]!), attempt(retries + 1)),
      )
    return attempt(0)
  })
