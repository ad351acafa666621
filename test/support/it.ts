import { it as base, layer as baseLayer, type TestAPI, type Vitest } from "@effect/vitest"
import { Effect, identity, type Layer, type Scope } from "effect"

/** Body of a test: returns an effect, or is its generator function. */
export type Body<Args extends ReadonlyArray<unknown>, R, A = unknown> = (
  ...args: Args
) => Effect.Effect<A, unknown, R> | Generator<Effect.Effect<unknown, unknown, R>, A, never>

/** A body without arguments. */
export type Work<R, A = unknown> = Effect.Effect<A, unknown, R> | Body<[], R, A>

export const effectOf = <R, A>(made: Work<R, A> | ReturnType<Body<[], R, A>>): Effect.Effect<A, unknown, R> =>
  Effect.isEffect(made)
    ? made
    : typeof made === "function"
      ? Effect.suspend(() => effectOf(made()))
      : Effect.gen(() => made)

interface Register<R> {
  (title: string, body: Body<[], R>, timeout?: number): void
  readonly each: <T>(cases: ReadonlyArray<T>) => (title: string, body: Body<[one: T], R>, timeout?: number) => void
}

const registerBy = <R, Left>(
  tests: Vitest.Tester<Left>,
  provide: (test: Effect.Effect<unknown, unknown, R>) => Effect.Effect<unknown, unknown, Left>,
): Register<R> =>
  Object.assign(
    (title: string, body: Body<[], R>, timeout?: number) => tests(title, () => provide(effectOf(body())), timeout),
    {
      each:
        <T>(cases: ReadonlyArray<T>) =>
        (title: string, body: Body<[one: T], R>, timeout?: number) =>
          tests.each(cases)(title, (one) => provide(effectOf(body(one))), timeout),
    },
  )

type TestsOf<R> = TestAPI & { readonly effect: Register<R | Scope.Scope> }
type Tests = TestsOf<never> & { readonly live: Register<Scope.Scope> }

const withBodies = (tests: object, own: Readonly<Record<string, unknown>>) =>
  new Proxy<never>(tests as never, {
    get: (target, name) => (name in own ? own[name as keyof typeof own] : Reflect.get(target, name)),
  })

/** Vitest's own; `effect` and `live` take generator functions as well. */
export const it: Tests = withBodies(base, {
  effect: registerBy<Scope.Scope, Scope.Scope>(base.effect, identity),
  live: registerBy<Scope.Scope, Scope.Scope>(base.live, identity),
})

/** The same, with a layer of its own for each test. */
export const itWith = <R>(made: () => Layer.Layer<R, unknown>): TestsOf<R> =>
  withBodies(base, {
    effect: registerBy<R | Scope.Scope, Scope.Scope>(base.effect, (test) => Effect.provide(test, made())),
  })

/** Vitest's own, whose tests take generator functions as well. */
export const layer =
  <R, E>(made: Layer.Layer<R, E>, options?: { readonly excludeTestServices?: boolean }) =>
  (
    title: string,
    describe: (it: TestsOf<R> & { readonly effect: Pick<Vitest.Tester<R | Scope.Scope>, "prop"> }) => void,
  ): void =>
    baseLayer(made, options)(title, (tests) =>
      describe(
        withBodies(tests, {
          effect: Object.assign(registerBy<R | Scope.Scope, R | Scope.Scope>(tests.effect, identity), {
            prop: tests.effect.prop,
          }),
        }),
      ),
    )
