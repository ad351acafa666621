import { spawn } from "node:child_process"
import { dirname } from "node:path"
import { Duration, Effect } from "effect"
import { type Channel, jsonOf, NotifyError, type ReceiverOptions } from "./Channel.ts"

/** After it the program and all that it started are killed. */
const deadline = Duration.seconds(10)

/**
 * Runs an operator's program, without a shell: the notification is JSON on its standard input, an exit with 0 means
 * taken. It gets nothing of this process' environment, where secrets may stand, and what it writes is read by nobody.
 */
export const commandChannel = (
  name: string,
  { program, args = [], text }: NonNullable<ReceiverOptions["command"]>,
): Channel => ({
  name,
  send: Effect.fn("CommandChannel.send")(function* (notification) {
    const failed = (detail: string) => new NotifyError({ receiver: name, detail })
    const run = Effect.callback<void, NotifyError>((resume) => {
      const child = spawn(program, args, {
        cwd: dirname(program),
        env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
        stdio: ["pipe", "ignore", "ignore"],
        // A group of its own, which ends as one.
        detached: true,
      })
      child.on("error", (error) =>
        resume(Effect.fail(failed(`not started (${(error as NodeJS.ErrnoException).code})`))),
      )
      child.on("exit", (code, signal) =>
        resume(code === 0 ? Effect.void : Effect.fail(failed(`ended with ${signal ?? code}`))),
      )
      // Who does not read it all ends the pipe; the exit says whether that is a failure.
      child.stdin.on("error", () => {})
      child.stdin.end(`${JSON.stringify(jsonOf(notification, text))}\n`)
      return Effect.sync(() => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
        } catch {
          // It ended by itself meanwhile.
        }
      })
    })
    yield* Effect.timeoutOrElse(run, {
      duration: deadline,
      orElse: () => Effect.fail(failed("did not end within 10 s")),
    })
  }),
})
