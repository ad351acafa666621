import { writeFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { loadTreasury } from "../../src/config/Treasury.ts"
import { submitPayment } from "../../src/engine/submitPayment.ts"
import { ackAlert } from "../../src/http/alertVerbs.ts"
import { endPayment, haltAll, pauseScope, resumeScope } from "../../src/http/controlVerbs.ts"
import { ledgerVerb } from "../../src/http/ledgerVerbs.ts"
import { reloadConfig } from "../../src/http/reload.ts"
import { readView } from "../../src/http/StatusView.ts"
import { watchHealth } from "../../src/http/watchHealth.ts"
import { listAlerts } from "../../src/store/alerts/alertRecords.ts"
import { Controls, haltSigning } from "../../src/store/controls/Controls.ts"
import { noteStart } from "../../src/store/controls/starts.ts"
import { Settings } from "../../src/store/database/Settings.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { down, honest, type Manner, rewritten } from "../support/Fronts.ts"
import { newest, replay } from "../support/Intents.ts"
import { deskFields } from "../support/Operators.ts"
import { head, payment, signed, submit } from "../support/TestClient.ts"
import { one, powOf, usdt } from "../support/TestSandbox.ts"
import type { Fields } from "../support/treasury.ts"
import { fileIn, type Outage, outageSeen, passUntil, type World } from "./Outage.ts"

const ana = { author: "ana", reason: "looked" }
const resumeAll = ({ options }: World) => resumeScope(options, { scope: "all", ...ana })

/** Gateways answer otherwise, by their places. */
const answer =
  (manner: Manner, ...places: ReadonlyArray<number>) =>
  ({ fronts }: World) =>
    Effect.sync(() => {
      for (const place of places) fronts[place]!.manner = manner
    })

/** The daemon's clock is wrong by so many minutes. */
const clockOff = (minutes: number) => (world: World) =>
  Effect.sync(() => {
    world.clockOff = minutes * 60_000
  })

/** Somebody pays with a key of the network, past the daemon. */
const payElsewhere = Effect.fnUntraced(function* ({ client }: World, from: string, amount: bigint) {
  const command = payment(client, "eve", amount, { asset: usdt })
  yield* submit(client, signed(client, { from, command, ...(yield* head(client)) }))
})

/** Money that comes to an account from elsewhere. */
const give = Effect.fnUntraced(function* ({ client }: World, to: string, amount: bigint) {
  const command = payment(client, to, amount, { asset: usdt })
  yield* submit(client, signed(client, { from: "eve", command, ...(yield* head(client)) }))
})

const outOfBand = {
  condition: "out_of_band",
  severity: "warn" as const,
  leads: false,
  headline: /^Paused \(rule:keep-bob\) .* Also: out of band\.$/,
  remedy: /"cofferer plan"/,
  alert: { receiver: "log" as const, severity: "ticket" as const, subject: /^out of band$/ },
  alertSeconds: 200,
}

/** Bob's money goes, and what his rule would pay is more than it may. */
const needsMore = (world: World) => payElsewhere(world, "bob", 150n * one)
const isHeldBy = (reason: string) => ({
  ...outOfBand,
  begin: needsMore,
  end: (world: World) => give(world, "bob", 140n * one),
  leads: true,
  headline: new RegExp(`^Out of band .*: bob/USDT \\d+\\.\\d+ for \\d+ s \\(keep-bob: ${reason}\\); `),
  alertSeconds: 90,
})
/** Eve has money of her own to give. */
const richEve = {
  deposits: [
    { party: "alice", asset: "USDT", amount: "1_000" },
    { party: "bob", asset: "USDT", amount: "50" },
    { party: "eve", asset: "USDT", amount: "500" },
  ],
}

/** A second account has a rule of its own. */
const keepsEve = (fields: Fields) => ({
  scenario: richEve,
  line: { perTransfer: "500", per24h: "2000" },
  keepBob: fields,
  rules: [
    {
      name: "keep-eve",
      topUp: { from: "alice", levels: [{ party: "eve", asset: "USDT", below: "300", target: "400" }] },
      ...fields,
    },
  ],
})
const pauseRules = ({ options }: World) =>
  Effect.forEach(["rule:keep-bob", "rule:keep-eve"], (scope) => pauseScope(options.treasury, { scope, ...ana }))
/** Somebody acknowledges all alerts; Eve's account joins Bob's, and people hear of it after so many seconds. */
const joins = (world: World, heard: RegExp, { min, max }: { readonly min: number; readonly max: number }) =>
  Effect.gen(function* () {
    for (const { seq } of yield* listAlerts(10, "standing")) yield* ackAlert({ seq, ...ana })
    const before = world.taken.length
    const isHeard = Effect.sync(() => world.taken.slice(before).some(({ detail }) => heard.test(detail)))
    yield* give(world, "alice", 400n * one)
    const seconds = yield* passUntil(world, isHeard, { seconds: max, stepMillis: 1_000 })
    assert.isAtLeast(seconds ?? 0, min, JSON.stringify(world.taken.slice(before)))
    for (let n = 0; n < 30; n++) yield* passUntil(world, Effect.succeed(false), { seconds: 1, stepMillis: 1_000 })
    assert.lengthOf(
      world.taken.slice(before).filter(({ severity }) => severity !== "info"),
      1,
      "once",
    )
  })

/** Takes no transaction, and lists no transfers: nothing proves what became of a payment. */
const blind: Manner = async ({ method, url }, ask) => {
  if (method === "POST") return "drop"
  return /transfer|ledgerentry/.test(url.pathname) ? { status: 503, headers: {}, text: "" } : await ask()
}

/** Decodes no transaction. */
const undecoding: Manner = async ({ method, url }, ask) => {
  if (method !== "POST" || url.pathname !== "/transaction") return await ask()
  const text = JSON.stringify({ success: false, code: 60, data: "malformed transaction" })
  return { status: 200, headers: { "content-type": "application/json" }, text }
}

const undecoded = {
  setup: { transfersPer24h: 10, line: { per24h: "2000" } },
  begin: (world: World) =>
    Effect.gen(function* () {
      yield* (yield* Settings).forgetFraming(world.options.treasury.network.chainId)
      yield* answer(undecoding, 0)(world)
      yield* payElsewhere(world, "bob", 150n * one)
    }),
  condition: "wire_form",
  severity: "bad" as const,
  headline: /^No payment goes out: the network decodes no wire form of our transactions \(code 60\); /,
  remedy: /network\.chainId is sandbox-1 there too/,
  alert: { receiver: "desk" as const, severity: "page" as const, subject: /^wire form$/ },
  alertSeconds: 100,
}

const receiverFails = (name: string, manner: "refuses" | "hangs"): Outage => ({
  name,
  begin: (world) =>
    Effect.gen(function* () {
      world.refusing.set("desk", manner)
      yield* haltAll({ author: "ana", reason: "audit" })
      yield* resumeAll(world)
    }),
  end: (world) =>
    Effect.sync(() => {
      world.refusing.clear()
    }),
  condition: "alerts_undelivered",
  severity: "bad",
  headline: /^desk has not taken \d alerts? for 1 min \(.+\); /,
  remedy: /check that receiver and its address in alerts\.receivers/,
  alert: { receiver: "log", severity: "page", subject: /^alerts undelivered$/ },
  alertSeconds: 70,
})
const outages: ReadonlyArray<Outage> = [
  {
    name: "halted by a person",
    begin: () => haltAll({ author: "ana", reason: "audit" }),
    end: resumeAll,
    condition: "halted",
    severity: "bad",
    headline: /^Halted since .* UTC by ana: audit; nothing is signed; /,
    remedy: /"cofferer resume --reason TEXT"/,
    alert: { receiver: "desk", severity: "page", subject: /^operator$/ },
    alertSeconds: 2,
  },
  {
    name: "halted by a payment that the journal does not know",
    begin: (world) => payElsewhere(world, "alice", 10n * one),
    end: ({ options }) => ledgerVerb("adopt", options, ana),
    condition: "halted",
    severity: "bad",
    headline: /^Halted since .* UTC \(foreign payment\): .*; nothing is signed; /,
    remedy: /"cofferer adopt --reason TEXT"/,
    alert: { receiver: "desk", severity: "page", subject: /^foreign_payment$/ },
    alertSeconds: 60,
  },
  {
    name: "a gateway that answers with old blocks",
    begin: (world) =>
      Effect.sync(() => {
        world.blocks = false
      }),
    end: (world) =>
      Effect.sync(() => {
        world.blocks = true
      }),
    condition: "stale",
    severity: "bad",
    headline: /^Balances are \d+ s old, more than 30 s, and no newer block was read; nothing is signed; /,
    remedy: /check gateway main, its node, and the network to it/,
    alert: { receiver: "desk", severity: "page", subject: /^stale$/ },
    alertSeconds: 100,
  },
  {
    name: "our clock ten minutes slow, beside three gateways",
    gateways: 3,
    begin: clockOff(-10),
    end: clockOff(0),
    condition: "clock",
    severity: "bad",
    headline: /^This host's clock is 10 min behind the blocks of 3 gateways \(a, b, c\); nothing is signed; /,
    remedy: /^set this host's clock: check NTP/,
    alert: { receiver: "desk", severity: "page", subject: /^clock$/ },
    alertSeconds: 100,
  },
  {
    name: "a clock ten minutes slow, beside a single gateway",
    begin: clockOff(-10),
    end: clockOff(0),
    condition: "clock",
    severity: "bad",
    headline: /^This host's clock is 10 min behind the blocks of gateway main; one of the two clocks is wrong; /,
    remedy: /^check NTP .*; where that is right, gateway main is wrong$/,
    alert: { receiver: "desk", severity: "page", subject: /^clock$/ },
    alertSeconds: 100,
  },
  {
    name: "a gateway on another chain",
    begin: answer(
      rewritten("chainId", () => "other-chain", "/"),
      0,
    ),
    end: (world) => Effect.andThen(answer(honest, 0)(world), resumeAll(world)),
    condition: "wrong_chain",
    leads: false,
    severity: "bad",
    headline: /^Halted since .* UTC \(chain changed\): .*other-chain.* Also: wrong chain/,
    remedy: /correct the address in network\.gateways.*"cofferer resume --reason TEXT"/,
    alert: { receiver: "desk", severity: "page", subject: /^chain_changed$/ },
    alertSeconds: 60,
  },
  {
    name: "one of three gateways on another chain",
    gateways: 3,
    begin: answer(
      rewritten("chainId", () => "other-chain", "/"),
      1,
    ),
    end: answer(honest, 1),
    condition: "wrong_chain",
    severity: "warn",
    headline: /^Wrong chain, not .*: gateway b is on chain other-chain/,
    remedy: /correct the address in network\.gateways/,
    alert: { receiver: "log", severity: "ticket", subject: /^wrong chain$/ },
    alertSeconds: 30,
  },
  {
    name: "one of three gateways down",
    gateways: 3,
    begin: answer(down, 1),
    end: answer(honest, 1),
    condition: "gateway_down",
    severity: "warn",
    headline: /^No usable answer from 1 gateway: b is down/,
    remedy: /check the node of gateway b/,
    alert: { receiver: "log", severity: "ticket", subject: /^gateway down$/ },
    alertSeconds: 90,
  },
  {
    name: "all gateways down",
    gateways: 3,
    begin: answer(down, 0, 1, 2),
    end: answer(honest, 0, 1, 2),
    condition: "gateway_down",
    severity: "bad",
    headline: /^No usable answer from all gateways: a is down .*; 2 must agree, and nothing is signed; /,
    remedy: /check the node of gateway a/,
    alert: { receiver: "desk", severity: "page", subject: /^gateway down$/ },
    alertSeconds: 90,
  },
  {
    name: "a reload that was refused",
    begin: (world) =>
      Effect.gen(function* () {
        const config = yield* ConfigInForce
        const file = fileIn(world)
        const { value } = config.now().treasury.document
        writeFileSync(file, JSON.stringify(value))
        yield* config.replace({ ...config.now(), treasury: yield* loadTreasury(file) }, Effect.void)
        writeFileSync(file, "version: 1\nname: 3\n")
        yield* reloadConfig({ ...ana, allowWeaker: false })
      }),
    end: (world) =>
      Effect.gen(function* () {
        const { value } = (yield* ConfigInForce).now().treasury.document
        writeFileSync(fileIn(world), JSON.stringify(value))
        yield* reloadConfig({ ...ana, allowWeaker: false })
      }),
    condition: "config_refused",
    severity: "warn",
    headline: /^The changed files were refused, and the former ones are in force: .*treasury\.yaml/,
    remedy: /"cofferer check", then "cofferer reload --reason TEXT"/,
    alert: { receiver: "log", severity: "ticket", subject: /^flow$/ },
    alertSeconds: 2,
  },
  receiverFails("a receiver that has not taken a page for a minute", "refuses"),
  receiverFails("a receiver that hangs", "hangs"),
  {
    name: "an approval that lapses",
    setup: {
      scenario: {
        deposits: [
          { party: "alice", asset: "USDT", amount: "1_000" },
          { party: "bob", asset: "USDT", amount: "50" },
          { party: "carol", asset: "USDT", amount: "100" },
        ],
        parties: ["alice", "bob", "carol", "eve"],
      },
      allow: [
        {
          from: "carol",
          to: ["eve"],
          asset: "USDT",
          perTransfer: "50",
          per24h: "50",
          transfersPer24h: 1,
          approval: "desk",
        },
      ],
      more: deskFields(2, "1m"),
    },
    begin: ({ options }) =>
      submitPayment(options.treasury, "live", {
        idempotencyKey: "drill",
        author: "ana",
        transfer: { from: "carol", to: "eve", asset: "USDT", amount: "10" },
      }),
    end: ({ sandbox }) =>
      Effect.andThen(sandbox.stepBlock, TestClock.adjust("5 seconds")).pipe(Effect.repeat({ times: 14 })),
    condition: "approval_waiting",
    severity: "warn",
    headline: /^1 payment waits for approval: 10\.\d+ USDT carol -> eve/,
    remedy: /^"cofferer approve \w{4} --key FILE"$/,
    alert: { receiver: "log", severity: "ticket", subject: /^\w{4}$/ },
    alertSeconds: 10,
  },
  {
    name: "a payment that executes twice",
    setup: { scenario: { pow: powOf(40) } },
    begin: ({ client, sandbox }) =>
      Effect.gen(function* () {
        const { attempt } = yield* newest
        const last = Number(attempt.anchorHeight) + attempt.windowBlocks - 1
        while ((yield* head(client)).height < last) {
          yield* Effect.andThen(sandbox.stepBlock, TestClock.adjust("1 second"))
        }
        assert.include((yield* replay(client)).text, '"success":true')
      }),
    end: resumeAll,
    condition: "halted",
    severity: "bad",
    headline: /^Halted since .* UTC \(duplicate execution\): .*; nothing is signed; /,
    remedy: /"cofferer resume --reason TEXT"/,
    alert: { receiver: "desk", severity: "page", subject: /^duplicate_execution$/ },
    alertSeconds: 60,
  },
  {
    name: "a store that was put back",
    begin: () => haltSigning("restored_store", "the database is older than its checkpoint"),
    end: ({ options }) => ledgerVerb("recover", options, ana),
    condition: "halted",
    severity: "bad",
    headline: /^Halted since .* UTC \(restored store\): the database is older than its checkpoint; nothing is signed; /,
    remedy: /"cofferer recover --reason TEXT"/,
    alert: { receiver: "desk", severity: "page", subject: /^restored_store$/ },
    alertSeconds: 2,
  },
  { ...undecoded, name: "no wire form that the network decodes", end: answer(honest, 0) },
  {
    ...undecoded,
    name: "no wire form that the network decodes, until nothing is to be paid",
    setup: { ...undecoded.setup, scenario: richEve },
    end: (world) => give(world, "bob", 140n * one),
  },
  {
    ...outOfBand,
    name: "an account out of band for longer than its rule takes",
    begin: (world) =>
      Effect.gen(function* () {
        yield* pauseScope(world.options.treasury, { scope: "rule:keep-bob", ...ana })
        yield* payElsewhere(world, "bob", 150n * one)
      }),
    end: ({ options }) => resumeScope(options, { scope: "rule:keep-bob", ...ana }),
  },
  {
    ...outOfBand,
    name: "a second account out of band, after the first was acknowledged",
    setup: { ...keepsEve({}), transfersPer24h: 10 },
    begin: (world) => Effect.andThen(pauseRules(world), payElsewhere(world, "bob", 150n * one)),
    end: (world) =>
      Effect.gen(function* () {
        yield* joins(world, /^Now also eve\/USDT\. Out of band .*: bob\/USDT .*, eve\/USDT /, { min: 60, max: 90 })
        for (const scope of ["rule:keep-bob", "rule:keep-eve"]) yield* resumeScope(world.options, { scope, ...ana })
      }),
  },
  {
    name: "a second rule that is held, after the first was acknowledged",
    setup: { ...keepsEve({ cooldown: "5m" }), transfersPer24h: 1 },
    begin: needsMore,
    end: (world) =>
      Effect.andThen(
        joins(world, /^Now also keep-eve eve\/USDT\. Held: keep-bob .*, keep-eve /, { min: 290, max: 330 }),
        pauseRules(world),
      ),
    condition: "rule_held",
    leads: false,
    severity: "warn",
    headline: /^Out of band for longer than its rule's cycle: bob\/USDT .* \(keep-bob: limit\); .* Also: rule held\.$/,
    remedy: /"cofferer explain keep-bob bob\/USDT"/,
    alert: { receiver: "log", severity: "ticket", subject: /^rule held$/ },
    alertSeconds: 700,
  },
  {
    name: "a limit of the policy that is used up",
    setup: { scenario: richEve, transfersPer24h: 1 },
    ...isHeldBy("limit"),
  },
  {
    name: "a funder that is short",
    setup: { scenario: richEve, alice: { floor: { USDT: "840" } }, keepBob: { onShort: "hold" } },
    ...isHeldBy("short"),
  },
  {
    name: "a quota of the network that is used up",
    setup: { scenario: { ...richEve, transfersPerEpoch: 1, epochLength: "1h" } },
    ...isHeldBy("quota"),
  },
  {
    name: "our clock an hour fast, beside three gateways",
    gateways: 3,
    begin: clockOff(60),
    end: clockOff(0),
    condition: "clock",
    severity: "bad",
    headline: /^This host's clock is (1 h|6\d min) ahead of the blocks of 3 gateways \(a, b, c\); nothing is signed; /,
    remedy: /^set this host's clock: check NTP/,
    alert: { receiver: "desk", severity: "page", subject: /^clock$/ },
    alertSeconds: 100,
  },
  {
    name: "two of three gateways down, where two must agree",
    gateways: 3,
    begin: answer(down, 0, 2),
    end: answer(honest, 0, 2),
    condition: "gateway_down",
    severity: "bad",
    headline: /^No usable answer from 2 gateways: a is down .*; 2 must agree, and nothing is signed; /,
    remedy: /check the node of gateway a/,
    alert: { receiver: "desk", severity: "page", subject: /^gateway down$/ },
    alertSeconds: 90,
  },
  {
    name: "a process that is killed over and over",
    // Thirteen minutes ago: after two more they are no longer counted.
    begin: (world) =>
      Effect.gen(function* () {
        yield* clockOff(-13)(world)
        yield* Effect.repeat(noteStart(), { times: 3 })
        yield* clockOff(0)(world)
      }),
    end: () => Effect.void,
    condition: "restarts",
    severity: "warn",
    headline: /^The process ended \d times in 15 min without being stopped: killed, or ended without a word \(\d\); /,
    remedy: /^the log has the lines before each end/,
    alert: { receiver: "log", severity: "ticket", subject: /^restarts$/ },
    alertSeconds: 10,
  },
  {
    name: "a payment past the bound of its state",
    begin: (world) => Effect.andThen(answer(blind, 0)(world), payElsewhere(world, "bob", 150n * one)),
    end: (world) =>
      Effect.gen(function* () {
        yield* answer(honest, 0)(world)
        const [manual] = (yield* (yield* Outbox).open).filter(({ state }) => state === "manual")
        const { treasury } = world.options
        yield* endPayment(treasury, manual?.id ?? "", "resolve", { ...ana, neverExecuted: true })
      }),
    leads: false,
    condition: "payment_overdue",
    severity: "bad",
    headline: /A person must resolve 1 payment|Also: .*payment overdue/,
    remedy: /"cofferer intents resolve \w{4} --reason TEXT"/,
    alert: { receiver: "desk", severity: "page", subject: /^\w{4}$/ },
    alertSeconds: 200,
  },
  {
    name: "a disk with little room",
    begin: (world) =>
      Effect.sync(() => {
        world.free = 1.5 * 2 ** 30
      }),
    end: (world) =>
      Effect.gen(function* () {
        // At its bound it would begin and end in turn, with an alert each time.
        for (const [free, isLow] of [
          [2.1, true],
          [2.4, true],
          [1.9, true],
          [2.6, false],
        ] as const) {
          world.free = free * 2 ** 30
          yield* watchHealth()
          const { conditions } = yield* readView()
          assert.strictEqual(
            conditions.some(({ condition }) => condition === "low_disk"),
            isLow,
            `${free} GiB are free`,
          )
        }
      }),
    condition: "low_disk",
    severity: "warn",
    headline: /^The disk of .* is low: 1\.5 GiB free, 2\.5 GiB needed; /,
    remedy: /^free space under /,
    alert: { receiver: "log", severity: "ticket", subject: /^low disk$/ },
    alertSeconds: 10,
  },
  {
    name: "terms that wait, as a halt tells it",
    begin: () => haltSigning("terms", "the file permits more than the terms in force"),
    end: () => Effect.flatMap(Controls, ({ release }) => release("terms", "approved")),
    condition: "terms_waiting",
    leads: false,
    severity: "bad",
    headline:
      /^Halted since .* UTC \(terms\): the file permits more than the terms in force; .* Also: terms waiting\.$/,
    remedy: /^the halt's text has the commands$/,
    alert: { receiver: "desk", severity: "page", subject: /^terms$/ },
    alertSeconds: 2,
  },
  {
    name: "a store that takes no writes",
    begin: (world) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`PRAGMA max_page_count = 1`
        const { operation } = yield* Effect.flip((yield* Settings).set("more", "x".repeat(100_000)))
        assert.strictEqual(operation, "Settings.set")
        world.free = 0
      }),
    end: (world) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`PRAGMA max_page_count = 1000000000`
        world.free = 100 * 2 ** 30
      }),
    condition: "halted",
    severity: "bad",
    headline: /^Halted since .* UTC \(disk full\): free space under .*; nothing is signed; /,
    remedy: /it ends by itself once there is space/,
    alert: { receiver: "desk", severity: "page", subject: /^disk_full$/ },
    alertSeconds: 10,
  },
]

describe("a treasury in an outage", () => {
  for (const outage of outages) {
    it.effect(`shows it and alerts people: ${outage.name}`, () =>
      Effect.map(outageSeen(outage), (seen) => {
        assert.isAtMost(seen.alertSeconds, outage.alertSeconds)
      }),
    )
  }
})
