import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ConfigInForce, treasuryTermsOf } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { reloadConfig } from "../../src/http/reload.ts"
import { approveTerms } from "../../src/http/termsApproval.ts"
import { AlertQueue } from "../../src/store/alerts/AlertQueue.ts"
import { Approvals } from "../../src/store/controls/Approvals.ts"
import { Journal } from "../../src/store/journal/Journal.ts"
import { type Agreement, agreementText, expiryFrom } from "../../src/tx/Approval.ts"
import { flow } from "../support/Flow.ts"
import { inTransaction } from "../support/inTransaction.ts"
import { type Body, effectOf, it } from "../support/it.ts"
import { deskFields, operatorSigns } from "../support/Operators.ts"
import { aliceKey, assetId, bobKey, type Fields, treasuryText } from "../support/treasury.ts"

interface Terms {
  readonly per24h?: string
  readonly floor?: string
  readonly transfersKept?: number
  readonly line?: Fields
  /** More keys of the network. */
  readonly network?: Fields
  /** More parties. */
  readonly parties?: Fields
  /** More lines of the policy. */
  readonly allow?: ReadonlyArray<Fields>
  /** More keys of the policy. */
  readonly policy?: Fields
  /** More top-level keys; the operators where nothing else is said. */
  readonly more?: Fields
}

const limits = { asset: "TOK", perTransfer: "100", per24h: "100", transfersPer24h: 2 }
const textOf = ({ per24h = "100", floor = "5", transfersKept = 3, more = deskFields(), ...terms }: Terms = {}) =>
  treasuryText({
    name: "flow",
    network: { chainId: "c-1", gateways: { node: "https://gateway.example" }, ...terms.network },
    assets: { TOK: { id: assetId, decimals: 2 } },
    parties: {
      alice: { publicKey: aliceKey, signer: { sandbox: "alice" }, floor: { TOK: floor }, transfersKept },
      bob: { publicKey: bobKey },
      ...terms.parties,
    },
    policy: {
      ...terms.policy,
      allow: [{ from: "alice", to: ["bob"], ...limits, per24h, ...terms.line }, ...(terms.allow ?? [])],
    },
    ...more,
  })

/** A configuration in force from a file, and what writing another and reloading says. */
const inForce = (text: string, use: Body<[write: (text: string) => void], Services>) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-policy-"))
  const file = join(dir, "t.yaml")
  const write = (next: string) => writeFileSync(file, next)
  write(text)
  return flow(() =>
    Effect.gen(function* () {
      const treasury = yield* loadTreasury(file)
      const started = { treasury, mode: "live" as const }
      const body = { detail: "started" }
      const { seq } = yield* inTransaction((yield* Journal).append({ kind: "config", subject: treasury.name, body }))
      yield* (yield* Approvals).putTerms({ seq, terms: treasuryTermsOf(started), alerts: treasury })
      yield* effectOf(use(write)).pipe(Effect.provide(ConfigInForce.layer(started)))
    }).pipe(Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true, force: true })))),
  )
}
type Services = Effect.Services<ReturnType<typeof reloadConfig>> | Effect.Services<ReturnType<typeof approveTerms>>

const reload = reloadConfig({ author: "ana", reason: "more room", allowWeaker: false })

/** What the daemon is asked for the terms of a file with this text. */
const withFile = <A, E, R>(text: string, use: (files: readonly [string]) => Effect.Effect<A, E, R>) => {
  const dir = mkdtempSync(join(tmpdir(), "cofferer-terms-"))
  const file = join(dir, "t.yaml")
  writeFileSync(file, text)
  return use([file]).pipe(Effect.ensuring(Effect.sync(() => rmSync(dir, { recursive: true }))))
}

const asked = (text: string) =>
  withFile(text, (files) => Effect.flatMap(ConfigInForce, ({ now }) => approveTerms(now(), { files })))

const handIn = (text: string, signature: string) =>
  withFile(text, (files) => Effect.flatMap(ConfigInForce, ({ now }) => approveTerms(now(), { files, signature })))

/** The operator signs the terms of the file for the configuration in force. */
const signs = Effect.fnUntraced(function* (name: string, text: string) {
  const found = yield* asked(text)
  return "problem" in found ? found : yield* handIn(text, operatorSigns(name, found.text))
})

describe("terms that permit more", () => {
  it.effect("comes into force once two operators have approved exactly it", () =>
    inForce(textOf(), function* (write) {
      const wider = textOf({ per24h: "200" })
      const same = { status: 409, problem: "these terms are in force already" }
      assert.containSubset(yield* signs("ana", textOf()), same)
      write(wider)
      assert.containSubset(yield* reload, { _tag: "Refused" })
      assert.containSubset(yield* signs("ana", wider), { operator: "ana", missing: 1 })
      assert.containSubset(yield* signs("ana", wider), { isNew: false, missing: 1 })
      assert.containSubset(yield* signs("eve", wider), { status: 403 })
      assert.containSubset(yield* reload, { _tag: "Refused" })
      assert.containSubset(yield* signs("ben", wider), { operator: "ben", missing: 0 })
      write(textOf({ per24h: "300" }))
      assert.containSubset(yield* reload, { _tag: "Refused" })
      write(wider)
      assert.containSubset(yield* reload, { _tag: "Reloaded" })
    }),
  )

  it.effect("keep the payers' floors and the transfers reserved for people", () =>
    inForce(textOf(), function* (write) {
      for (const [lower, words] of [
        [textOf({ floor: "1" }), "alice keeps 1 TOK, before 5"],
        [textOf({ floor: "1", transfersKept: 2 }), "alice keeps 2 transfers for people, before 3"],
      ] as const) {
        write(lower)
        const refused = yield* reload
        assert.containSubset(refused, { _tag: "Refused" })
        assert.include(refused._tag === "Refused" ? refused.detail : "", words)
        const found = yield* asked(lower)
        const hash = "terms" in found ? found.terms.slice(0, 8) : ""
        assert.include(refused._tag === "Refused" ? refused.remedy : "", `"cofferer approve terms ${hash} --key FILE"`)
        for (const name of ["ana", "ben"]) yield* signs(name, lower)
        assert.containSubset(yield* reload, { _tag: "Reloaded", weaker: [words] })
      }
    }),
  )

  it.effect("says who has approved it and who is still to, while it is refused", () =>
    inForce(textOf(), function* (write) {
      write(textOf({ per24h: "200" }))
      yield* signs("ana", textOf({ per24h: "200" }))
      const refused = yield* reload
      assert.include(refused._tag === "Refused" ? refused.remedy : "", "approved by ana; 1 of ben, chloe")
    }),
  )

  it.effect("are approved with everything weaker, each part named in the text", () =>
    inForce(textOf(), function* (write) {
      const wider = textOf({ per24h: "200", network: { maxAge: "10m" } })
      for (const name of ["ana", "ben"]) yield* signs(name, textOf({ per24h: "200" }))
      write(wider)
      const refused = yield* reload
      assert.containSubset(refused, { _tag: "Refused" })
      assert.include(refused._tag === "Refused" ? refused.remedy : "", "(2 of ana, ben, chloe)")
      const found = yield* asked(wider)
      const { text } = found as { readonly text: string }
      assert.match(text, /^cofferer approval: terms\ntreasury: flow\nchain: c-1\nterms: [0-9a-f]{64}\n/)
      assert.match(text, /\nweaker 1 of 2: policy line 1, alice -> bob, TOK: 200 in 24 h, before 100\n/)
      assert.match(text, /\nweaker 2 of 2: payments by balances that are 600 s old, before [0-9]+ s\nvoid from: /)
      for (const name of ["ana", "ben"]) yield* signs(name, wider)
      assert.containSubset(yield* reload, { _tag: "Reloaded" })
    }),
  )

  it.effect("use their approvals up, so old signatures cannot bring them back", () =>
    inForce(textOf(), function* (write) {
      const wider = textOf({ per24h: "200" })
      const found = yield* asked(wider)
      const old = ["ana", "ben"].map((name) => operatorSigns(name, "text" in found ? found.text : ""))
      for (const signature of old) yield* handIn(wider, signature)
      for (const back of [wider, textOf()]) {
        write(back)
        assert.containSubset(yield* reload, { _tag: "Reloaded" })
      }
      write(wider)
      assert.containSubset(yield* reload, { _tag: "Refused" })
      for (const signature of old) assert.containSubset(yield* handIn(wider, signature), { status: 403 })
      assert.containSubset(yield* reload, { _tag: "Refused" })
    }),
  )

  it.effect("are approved for a day at most, on their chain, to replace current terms", () =>
    inForce(textOf(), function* () {
      const wider = textOf({ per24h: "200" })
      const found = yield* asked(wider)
      const text = "text" in found ? found.text : ""
      const now = yield* Clock.currentTimeMillis
      const place = { treasury: "flow", chainId: "c-1" }
      const change = {
        kind: "terms",
        replaces: Number(/journal entry: ([0-9]+)/.exec(text)?.[1]),
        terms: /terms: ([0-9a-f]{64})/.exec(text)?.[1] ?? "",
        weaker: [...text.matchAll(/weaker [0-9]+ of [0-9]+: (.*)/g)].map(([, words]) => words!),
      } as const satisfies Agreement
      const expires = expiryFrom(now)
      assert.strictEqual(agreementText(place, change, expires), text)
      const wrong: ReadonlyArray<string> = [
        agreementText({ ...place, chainId: "c-2" }, change, expires),
        agreementText({ ...place, treasury: "other" }, change, expires),
        agreementText(place, { ...change, replaces: change.replaces - 1 }, expires),
        agreementText(place, { ...change, weaker: [] }, expires),
        agreementText(place, change, expires + 21_600_000),
        agreementText(place, change, expires + 1),
        text.replace("approval: terms", "approval: resume"),
      ]
      for (const other of wrong) {
        assert.containSubset(yield* handIn(wider, operatorSigns("ana", other)), { status: 403 }, other)
      }
      yield* handIn(wider, operatorSigns("ana", text))
      assert.containSubset(yield* asked(wider), { by: ["ana"], missing: 1 })
      yield* TestClock.setTime(expires - 1)
      assert.containSubset(yield* handIn(wider, operatorSigns("ben", text)), { missing: 0 })
      yield* TestClock.setTime(expires)
      assert.containSubset(yield* asked(wider), { by: [], missing: 2 })
      assert.containSubset(yield* handIn(wider, operatorSigns("ben", text)), { status: 403 })
    }),
  )

  it.effect("that is refused is told whole in the alert, who must approve first", () =>
    inForce(textOf({ line: { approval: "desk" } }), function* (write) {
      write(
        textOf({
          per24h: "200",
          floor: "1",
          line: { approval: "desk" },
          policy: { maxFee: "1%" },
          more: deskFields(1),
        }),
      )
      yield* reload
      const told = (yield* (yield* AlertQueue).due(10)).find(({ kind }) => kind === "config")?.detail ?? ""
      const places = ["1 of ana, ben, chloe", "200 in 24 h", "fee of 1 %", "keeps 1 TOK"].map((words) =>
        told.indexOf(words),
      )
      assert.isTrue(
        places.every((place) => place > 0),
        told,
      )
      assert.strictEqual(Math.min(...places), places[0])
      assert.notInclude(told, ":;")
    }),
  )

  it.effect("that weakens more than an alert can say says how much is left out", () =>
    inForce(textOf(), function* (write) {
      const allow = Array.from({ length: 30 }, (_, i) => ({ from: "alice", to: [`p${i}`], ...limits }))
      const parties = Object.fromEntries(allow.map((_, i) => [`p${i}`, { publicKey: String(i + 10).repeat(32) }]))
      write(textOf({ allow, parties }))
      yield* reload
      const told = (yield* (yield* AlertQueue).due(10)).find(({ kind }) => kind === "config")?.detail ?? ""
      assert.match(told, /policy line 2, alice -> p0, TOK: no line allowed it before; .*; and [12][0-9] more/)
      assert.include(told, "cofferer approve terms ")
    }),
  )

  it.effect("is approved by nobody where there are no operators", () =>
    inForce(textOf({ more: {} }), function* (write) {
      write(textOf({ per24h: "200" }))
      assert.containSubset(yield* signs("ana", textOf({ per24h: "200" })), { status: 403 })
      assert.containSubset(yield* reload, { _tag: "Refused" })
    }),
  )
})
