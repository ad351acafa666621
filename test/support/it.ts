import { it as base, type TestAPI } from "@effect/vitest"
import { Effect, type Scope } from "effect"

/** What is done in a test: an effect, or the generator function of one. */
export type Body<Args extends ReadonlyArray<unknown>, R, A = unknown> = (
  ...args: Args
) => Effect.Effect<A, unknown, R> | Generator<Effect.Effect<unknown, unknown, R>, A, never>

export const effectOf = <R, A>(made: ReturnType<Body<[], R, A>>): Effect.Effect<A, unknown, R> =>
  Effect.isEffect(made) ? made : Effect.gen(() => made)

interface Register {
  (title: string, body: Body<[], Scope.Scope>, timeout?: number): void
  readonly each: <T>(
    cases: ReadonlyArray<T>,
  ) => (title: string, body: (one: T) => ReturnType<Body<[], Scope.Scope>>) => void
}

const registerBy = (tests: typeof base.effect): Register =>
  Object.assign(
    (title: string, body: Body<[], Scope.Scope>, timeout?: number) => tests(title, () => effectOf(body()), timeout),
    {
      each:
        <T>(cases: ReadonlyArray<T>) =>
        (title: string, body: (one: T) => ReturnType<Body<[], Scope.Scope>>) =>
          tests.each(cases)(title, (one) => effectOf(body(one))),
    },
  )

const own = new Map<PropertyKey, Register>([
  ["effect", registerBy(base.effect)],
  ["live", registerBy(base.live)],
])

/** Vitest's own; `effect` and `live` take generator functions as well. */
export const it: TestAPI & { readonly effect: Register; readonly live: Register } = new Proxy<never>(base as never, {
  get: (target, name) => own.get(name) ?? Reflect.get(target, name),
})
