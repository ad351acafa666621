import { type Cause, Clock, Deferred, Effect, Option, Queue, Schema, type Scope } from "effect"
import type { FellBehind, News } from "../../Bus.ts"
import type { Chain } from "../../Chain.ts"
import type { SandboxError } from "../../SandboxError.ts"
import type { Refusal } from "../Answer.ts"
import type { Ask, World } from "../Route.ts"

/** The connection is no more. */
export class Gone extends Schema.TaggedError<Gone>()("Gone", {}) {}

/** One open stream, whatever carries it. */
export interface Line {
  /** Sends one message, once the client has taken enough of those before it. */
  readonly say: (text: string) => Effect.Effect<void, Gone>
  /** What the client says; it ends with the connection. */
  readonly heard: Queue.Dequeue<string, Cause.Done>
  /** When the client began to connect, Unix milliseconds. */
  readonly sinceMillis: number
}

/** Speaks until it has nothing more to say; a refusal becomes the stream's last message. */
export type Feed = (line: Line) => Effect.Effect<void, Refusal | Gone | FellBehind | SandboxError, Scope.Scope>

export interface StreamRoute {
  readonly path: `/${string}`
  /** Whether a plain GET is answered too, one message a line: not where the client must speak first. */
  readonly plain: boolean
  /** Reads the query. What it refuses is refused before the stream begins. */
  readonly open: (world: World, ask: Pick<Ask, "query">) => Effect.Effect<Feed, Refusal>
}

/** Hands each block to `tell` from now on, beginning with what `look` saw of the chain. It never ends by itself. */
export const follow = <A, E>(
  world: World,
  look: (chain: Chain) => A,
  tell: (seen: A, next: Effect.Effect<News>) => Effect.Effect<void, E>,
): Effect.Effect<void, E | FellBehind | SandboxError, Scope.Scope> =>
  Effect.flatMap(world.node.listen(look), ({ seen, reader }) =>
    Effect.raceFirst(tell(seen, Queue.take(reader.news)), Deferred.await(reader.dropped)),
  )

/** How long the network waits for a word that must come. */
const patienceMillis = 5_000

/** The client's next message; undefined where none came in time, counted from `sinceMillis`. */
export const hear = (line: Line, sinceMillis: number): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const left = sinceMillis + patienceMillis - (yield* Clock.currentTimeMillis)
    const message = Effect.option(Queue.take(line.heard))
    const heard = yield* Effect.timeoutOption(message, Math.max(0, left))
    return Option.getOrUndefined(Option.flatten(heard))
  })

/** Bytes at which the network ends a stream instead of sending the message. */
export const frameMax = 65_536
/** Characters in one message: below that in any script. */
const charactersMax = 20_000

/** Puts what a block has to say into as few messages as may be. */
export const pack = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const messages: Array<string> = []
  let open: Array<string> = []
  let size = 0
  for (const text of texts) {
    if (open.length > 0 && size + text.length > charactersMax) {
      messages.push(open.join(","))
      open = []
      size = 0
    }
    open.push(text)
    size += text.length
  }
  if (open.length > 0) messages.push(open.join(","))
  return messages
}
