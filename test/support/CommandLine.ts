import { Writable } from "node:stream"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type Cause, Clock, Console, Effect, Fiber, identity, Option, Queue, Terminal } from "effect"
import { commandLine, exitCodeOf } from "../../src/cli/root.ts"
import { ProcessContext } from "../../src/config/Environment.ts"
import { type Daemon, type Outcome, programMillisMax, readLines } from "./Cofferer.ts"
import { inTime } from "./until.ts"

interface Surroundings {
  /** Variables beside PATH; those of the test runner are left out. */
  readonly env?: Readonly<Record<string, string>>
  /** Milliseconds by which its clock is ahead of the machine's; default 0. */
  readonly ahead?: () => number
  /** Keys that a person presses on a terminal: a text character by character, or a key such as "<enter>". */
  readonly typed?: ReadonlyArray<string>
  /** Terminal on which long work shows its progress; default none. */
  readonly progress?: Writable
}

/** A terminal at which somebody has typed these keys. What a program draws is thrown away. */
const terminalWith = (typed: ReadonlyArray<string>): Terminal.Terminal => {
  const queue = Effect.runSync(Queue.make<Terminal.UserInput, Cause.Done>())
  const press = (name: string, input: Option.Option<string>, ctrl = false) =>
    Queue.offerUnsafe(queue, { input, key: { name, ctrl, meta: false, shift: false } })
  for (const text of typed) {
    const key = /^<(\w+)>$/.exec(text)?.[1]
    if (key !== undefined) press(key, Option.none())
    else for (const char of text) press(char, Option.some(char))
  }
  Queue.endUnsafe(queue)
  return Terminal.make({
    columns: Effect.succeed(80),
    rows: Effect.succeed(24),
    size: Effect.die("not used"),
    readInput: Effect.succeed(queue),
    readLine: Effect.die("not used"),
    display: () => Effect.void,
  })
}

const clockAhead = (clock: Clock.Clock, ahead: () => number): Clock.Clock => {
  const millis = () => clock.currentTimeMillisUnsafe() + ahead()
  const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(ahead()) * 1_000_000n
  return Object.assign(Object.create(clock), {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
  })
}

/** The command line as `cofferer` runs it, with its output handed to `write`. */
const within = (
  args: ReadonlyArray<string>,
  write: (descriptor: 1 | 2, text: string) => void,
  { env = {}, ahead = () => 0, typed, progress }: Surroundings,
) => {
  const console: Console.Console = Object.assign(Object.create(globalThis.console), {
    log: (...words: ReadonlyArray<unknown>) => write(1, `${words.join(" ")}\n`),
    error: (...words: ReadonlyArray<unknown>) => write(2, `${words.join(" ")}\n`),
  })
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      write(1, chunk.toString())
      done()
    },
  })
  return commandLine(args).pipe(
    typed === undefined ? identity : Effect.provideService(Terminal.Terminal, terminalWith(typed)),
    Effect.provide(NodeServices.layer),
    Effect.provideService(Console.Console, console),
    Effect.updateService(Clock.Clock, (clock) => clockAhead(clock, ahead)),
    // Most runs are about other things than how long a lone gateway must show what it says.
    Effect.provideService(ProcessContext, {
      env: { PATH: process.env["PATH"], ...env },
      output,
      isInteractive: typed !== undefined,
      progress,
    }),
  )
}

/** Runs a command to its end within this process: as `cofferer` does, without the second that a start takes. */
export const callCofferer = async (args: ReadonlyArray<string>, surroundings: Surroundings = {}): Promise<Outcome> => {
  const text = { 1: "", 2: "" }
  const write = (descriptor: 1 | 2, more: string) => {
    text[descriptor] += more
  }
  const exit = await inTime(
    `cofferer ${args[0]}`,
    Effect.runPromiseExit(within(args, write, surroundings)),
    programMillisMax,
  )
  return { code: exitCodeOf(exit), signal: null, stdout: text[1], stderr: text[2] }
}

export type Here = Omit<Daemon, "child">

/** Runs a daemon or a sandbox within this process until `stop`, whose JSON lines can be awaited. */
export const startHere = (args: ReadonlyArray<string>, surroundings: Surroundings = {}): Here => {
  const reader = readLines()
  let errors = ""
  const write = (descriptor: 1 | 2, text: string) => {
    if (descriptor === 1) reader.read(text)
    else errors += text
  }
  const fiber = Effect.runFork(within(args, write, surroundings))
  const ended = Effect.runPromise(Fiber.await(fiber)).then((exit) => {
    const code = exitCodeOf(exit)
    reader.end(`ended with ${code} ${errors}`)
    return { code, signal: null }
  })
  return {
    lines: reader.lines,
    errors: () => errors,
    line: reader.line,
    ended,
    stop: () => {
      Effect.runFork(Fiber.interrupt(fiber))
      return inTime("the end of the program", ended)
    },
  }
}
