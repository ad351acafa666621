import { type AddressInfo, createServer } from "node:net"
import { Effect } from "effect"

/** What one connection said: its commands, and the mail behind DATA. */
interface Session {
  readonly commands: Array<string>
  mail: string
}

/** A real mail server on loopback, by RFC 5321 and 4954: it takes everything, or answers as a test wants. */
export const mailServer = Effect.acquireRelease(
  Effect.callback<{
    readonly sessions: ReadonlyArray<Session>
    /** Answers to a command, by its line or its first word; the default takes it. */
    readonly answers: Map<string, string>
    readonly port: string
    readonly close: () => void
  }>((resume) => {
    const sessions: Array<Session> = []
    const answers = new Map<string, string>()
    const defaults: Readonly<Record<string, string>> = {
      EHLO: "250-mail.example\r\n250 AUTH PLAIN",
      AUTH: "235 ok",
      STARTTLS: "502 not here",
      DATA: "354 go on",
      QUIT: "221 bye",
    }
    const server = createServer((socket) => {
      const session: Session = { commands: [], mail: "" }
      sessions.push(session)
      let rest = ""
      let isData = false
      const say = (line: string) => socket.write(`${line}\r\n`)
      socket.on("error", () => {})
      say(answers.get("") ?? "220 mail.example")
      socket.on("data", (chunk: Buffer) => {
        rest += chunk.toString()
        for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
          const line = rest.slice(0, end)
          rest = rest.slice(end + 2)
          if (isData && line !== ".") session.mail += `${line}\n`
          else if (isData) {
            isData = false
            say(answers.get(".") ?? "250 queued")
          } else {
            session.commands.push(line)
            const word = line.split(" ")[0] ?? ""
            isData = word === "DATA"
            say(answers.get(line) ?? answers.get(word) ?? defaults[word] ?? "250 ok")
          }
        }
      })
    }).listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ sessions, answers, port: String(port), close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close),
)
