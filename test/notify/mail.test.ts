import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { it } from "../support/it.ts"
import { soon } from "../support/until.ts"
import { mailServer } from "./MailServer.ts"
import { allClear, page, sendTo } from "./Services.ts"

const addresses = { from: "cofferer@harbor.example", to: ["ana@harbor.example", "ben@harbor.example"] }

describe("an e-mail", () => {
  it.live("goes to each address, with its severity in the subject and one id for every try", function* () {
    const server = yield* mailServer
    const email = { host: "127.0.0.1", port: server.port, tls: "none", ...addresses } as const
    const unseen = { ...page, subject: "r44f\r\nBcc: thief@x.example", detail: "first\r\nsecond" }
    yield* soon("the mail", sendTo({ name: "desk", email }, unseen))
    yield* soon("the mail", sendTo({ name: "desk", email }, unseen))
    yield* soon("the mail", sendTo({ name: "desk", email }, allClear))
    const [first, again, over] = server.sessions
    assert.includeMembers(first?.commands ?? [], [
      "MAIL FROM:<cofferer@harbor.example>",
      "RCPT TO:<ana@harbor.example>",
      "RCPT TO:<ben@harbor.example>",
    ])
    assert.notInclude(first?.commands.join() ?? "", "thief")
    const mail = first?.mail.replaceAll("\n ", " ") ?? ""
    assert.include(mail, "Subject: page harbor: r44f\\u{d}\\u{a}Bcc: thief@x.example: first\\u{d}\\u{a}second\n")
    assert.include(mail, "tries: 3\nat: 2026-11-21T12:00:00.000Z\nid: harbor/0a1b2c3d/7/lx\n")
    assert.include(over?.mail ?? "", "Subject: resolved harbor: r44f: the payment is confirmed\n")
    const idOf = (text = "") => /^Message-ID: (<[0-9a-f]{40}@cofferer>)$/m.exec(text)?.[1]
    assert.isDefined(idOf(first?.mail))
    assert.strictEqual(idOf(again?.mail), idOf(first?.mail))
    assert.notStrictEqual(idOf(over?.mail), idOf(first?.mail))
  })

  it.live("that the server refuses for one of its addresses is taken, and names that address", function* () {
    const server = yield* mailServer
    server.answers.set("RCPT TO:<ben@harbor.example>", "550 no such user")
    const email = { host: "127.0.0.1", port: server.port, tls: "none", ...addresses } as const
    const taken = yield* soon("the mail", sendTo({ name: "desk", email }, page))
    assert.include(server.sessions[0]?.mail ?? "", "Subject: page harbor")
    assert.strictEqual(taken, "the mail server refused it for ben@harbor.example")
  })

  it.live("is not taken without encryption, by a refusal, or by nobody, and tells no secret", function* () {
    const server = yield* mailServer
    const password = Redacted.make("S3CRET")
    const plain = { host: "127.0.0.1", port: server.port, ...addresses, user: "cofferer", password }
    const failure = (email: typeof plain & { readonly tls?: "none" | "implicit" }) =>
      Effect.map(Effect.flip(soon("the failure", sendTo({ name: "desk", email }, page))), (error) => {
        assert.notInclude(`${error.message} ${error.stack} ${JSON.stringify(error)}`, "S3CRET")
        return error.message
      })
    assert.match(yield* failure(plain), /^desk: the mail was not taken \(ETLS/)
    assert.notInclude(server.sessions.flatMap(({ commands }) => commands).join("\n"), "AUTH")
    server.answers.set("AUTH", "535 not with S3CRET")
    assert.strictEqual(yield* failure({ ...plain, tls: "none" }), "desk: the mail was not taken (EAUTH 535)")
    server.answers.delete("AUTH")
    server.answers.set(".", "451 S3CRET later")
    assert.strictEqual(yield* failure({ ...plain, tls: "none" }), "desk: the mail was not taken (EMESSAGE 451)")
    server.answers.set("", `220 ${"x".repeat(100_000)}`)
    assert.match(yield* failure({ ...plain, tls: "none" }), /^desk: the mail was not taken \(E/)
    assert.strictEqual(yield* failure({ ...plain, port: "1" }), "desk: the mail was not taken (ECONNREFUSED)")
    const login = server.sessions.flatMap(({ commands }) => commands).find((line) => line.startsWith("AUTH PLAIN"))
    assert.strictEqual(Buffer.from(login?.split(" ")[2] ?? "", "base64").toString(), "\0cofferer\0S3CRET")
  })
})
