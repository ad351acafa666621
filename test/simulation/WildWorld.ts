import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Schedule } from "effect"
import { ConfigInForce } from "../../src/config/ConfigInForce.ts"
import { haltFile, removeHaltFile, writeHaltFile } from "../../src/config/files.ts"
import type { HaltReason } from "../../src/domain/Halt.ts"
import type { Intent } from "../../src/domain/Intent.ts"
import { approvalViewOf, approve } from "../../src/http/approvals.ts"
import { endPayment } from "../../src/http/controlVerbs.ts"
import { ledgerVerb } from "../../src/http/ledgerVerbs.ts"
import { reloadConfig } from "../../src/http/reload.ts"
import type { DaemonOptions } from "../../src/layers.ts"
import { Controls } from "../../src/store/controls/Controls.ts"
import { databaseFile } from "../../src/store/database/Database.ts"
import { Outbox } from "../../src/store/payments/Outbox.ts"
import { operatorNames, operatorSigns } from "../support/Operators.ts"
import { agreed } from "./agreed.ts"
import { acceptAlone, agreeOnceHalted, agreeTerms, signTerms } from "./agreeTerms.ts"
import { type Book, keyIn, permitsMore, unit } from "./Book.ts"
import type { Docket } from "./Docket.ts"
import { payElsewhere } from "./Elsewhere.ts"
import type { LostPayment } from "./Judge.ts"
import type { Network } from "./Network.ts"
import type { People } from "./People.ts"
import type { Services } from "./Replica.ts"
import type { Rewrite, Wild } from "./Wild.ts"

/** What a run hands to what befalls it. */
interface Around {
  readonly wild: Wild
  readonly network: Network
  readonly docket: Docket
  readonly people: People
  readonly dataDir: string
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => A
  /** Those of living processes that are in no transaction. */
  readonly databases: () => ReadonlyArray<DatabaseSync>
  /** Puts the operator's file of this book in its place, and returns its path. */
  readonly write: (book: Book) => string
  /** Ends every process as in a power cut; each is started again after a while. */
  readonly killAll: () => void
  /** Whoever is dead is started again at once. */
  readonly startSoon: () => void
  /** Lets minutes pass in which nobody is answered and there is no block. */
  readonly outage: (minutes: number) => void
}

/** What befalls one run beside the faults of its network. */
export interface WildWorld {
  readonly atBlock: (block: number) => void
  /** A process began: by the file that lies there, or halted where that permits more than what was in force. */
  readonly started: () => void
  /** Books by which a process may run now. */
  readonly inForce: () => ReadonlySet<Book>
  /** Whether that is what the file says: else its terms halt, or may. */
  readonly isSettled: () => boolean
  /** Ids of transfers that our key made elsewhere. */
  readonly elsewhere: ReadonlySet<string>
  /** What a store that was lost had signed. */
  readonly lost: ReadonlyArray<LostPayment>
  /** Whether the store was put back. */
  readonly isRestored: () => boolean
  readonly isDiskFull: () => boolean
  readonly deafness: () => "hang" | "refuse" | undefined
  /** By how many blocks a gateway is behind now. */
  readonly lagOf: (host: string) => number
  /** Operators whose signatures were handed in, by the payment's id. */
  readonly approvals: ReadonlyMap<string, ReadonlySet<string>>
  /** The trouble is over: whoever must approve does it, all is as it was voted first. */
  readonly letGo: () => void
}

const said = { author: "zoe", reason: "meant so" }
/** Blocks until those who approve late do it. */
const lateBlocks = 30
/** Blocks after which a person sees what happened and does the verb for it. */
const seenBlocks = 8
/** Requests for a listing that fail after a disk was put back. */
const unlistedMax = 40

type Treasury = DaemonOptions["treasury"]

/** A verb of a person on the treasury in force, as the socket does it. */
const inForce = <A, E, R>(verb: (treasury: Treasury) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(ConfigInForce, ({ now }) => verb(now().treasury))

export const makeWildWorld = (around: Around): WildWorld => {
  const { wild, network, docket, people, dataDir, run } = around
  const { restore, haltFile: halting, outage, fullDisk, deaf, lag } = wild
  const reserve = keyIn(wild.book, "reserve")
  const hasOperators = wild.book.approval !== undefined
  const elsewhere = new Set<string>()
  const approvals = new Map<string, Set<string>>()
  const seenAt = new Map<string, number>()
  const before = { ...network.chain.scenario }
  let current: ReadonlySet<Book> = new Set([wild.book])
  let written = wild.book
  let block = 0
  let calm = false
  let restored = false
  const lost: Array<LostPayment> = []
  let copied = new Set<string>()
  /** A file with weaker terms by which processes were started: nobody has agreed to it yet. */
  let weaker: { readonly book: Book; readonly former: Book; readonly at: number; readonly isMeant: boolean } | undefined
  /** When people put a file back since its reload was refused. */
  let refusedAt: number | undefined
  let hasBegun = false
  let hidden = 0
  let losing = 0
  const during = (span: { readonly block: number; readonly until: number } | undefined): boolean =>
    span !== undefined && !calm && block >= span.block && block < span.until
  const copy = join(dataDir, "copy.db")

  const rewrite = ({ book, how, by, allowWeaker }: Rewrite): void => {
    const file = around.write(book)
    const former = written
    written = book
    const isWeaker = [...current].some((one) => permitsMore(book, one))
    docket.event(by === "start" ? "started with changed files" : `reload, ${how}`)
    if (by === "start") {
      if (isWeaker) weaker = { book, former, at: block, isMeant: allowWeaker }
      around.killAll()
      return
    }
    const isAllowed = allowWeaker || !isWeaker
    if (isAllowed) current = new Set([...current, book])
    const isLast = () => written === book
    // Who asks again, since nobody answered, may have another file read than the one that was meant.
    let found = book
    const read = Effect.suspend(() => {
      found = written
      return reloadIn(file, hasOperators && isWeaker && allowWeaker, allowWeaker)
    })
    people.wish(`reload, ${how}`, block, read, (answer) => {
      const { _tag: tag } = answer as { readonly _tag: string }
      docket.event(`reload answered: ${tag}`)
      // What another reload, answered meanwhile, brought into force may permit as much.
      if (tag === "Reloaded" && !allowWeaker && [...current].every((one) => permitsMore(found, one)))
        docket.wrong("terms", `a file that is ${how} came into force without anybody's consent`)
      if (!isAllowed) docket.chance("terms")
      if (tag !== "Refused" && isLast()) current = new Set([book])
      // Who hears that it is refused puts the file back: a start would take it.
      if (tag === "Refused" && isLast()) {
        around.write(former)
        written = former
        refusedAt = block
      }
    })
  }

  const isHaltedOnTerms = (): boolean =>
    around
      .databases()
      .some((db) => db.prepare("SELECT 1 FROM halts WHERE reason = 'terms' AND ended_at IS NULL").get() !== undefined)

  /** A process that died took the file at its start, before it was refused and put back: another one ends its halt. */
  const startAgain = (): void => {
    if (weaker !== undefined || refusedAt === undefined || block < refusedAt + seenBlocks || !isHaltedOnTerms()) return
    refusedAt = undefined
    around.killAll()
  }

  /** People see why a start has halted: they agree to its file, or put the former one back, one alone trying before. */
  const attendTerms = (): void => {
    if (weaker === undefined || block < weaker.at + seenBlocks) return
    const { book, former, at, isMeant } = weaker
    if (written !== book) weaker = undefined
    else if (isMeant) {
      weaker = undefined
      current = new Set([...current, book])
      people.wish("agree to the terms of a start", block, agreeTerms, (isDone) => {
        docket.chance("terms")
        if (isDone === true && written === book) current = new Set([book])
      })
    } else if (block === at + seenBlocks) {
      if (hasOperators) people.wish("accept terms alone", block, acceptAlone)
    } else if (block >= at + 2 * seenBlocks) {
      weaker = undefined
      docket.event("the former file put back")
      docket.chance("terms")
      around.write(former)
      written = former
      around.killAll()
    }
  }

  const putBack = (): void => {
    if (!existsSync(copy)) return
    around.killAll()
    const file = join(dataDir, databaseFile)
    // Of what executed already nothing is left that could.
    for (const one of signedIn(file)) {
      const isDone = network.chain.transfers.has(one.transferId)
      lost.push({ ...one, deadline: isDone ? 0n : one.deadline })
    }
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true })
    // Written into the file that is there, it stays the same file to whoever asks.
    if (restore?.how === "disk") writeFileSync(file, readFileSync(copy))
    else renameSync(copy, file)
    restored = true
    run(network.node.disarmFault(losing))
    around.startSoon()
    // Balances can be read before anything tells what was paid.
    if (restore?.how === "disk") {
      const silent = { operation: "transfers", kind: "http_status", status: 503, rate: 1, count: unlistedMax } as const
      run(network.node.armFault(silent))
    }
    docket.event(`${restore?.how === "disk" ? "disk" : "store"} put back, ${restore?.when}`)
    people.wish(
      "recover",
      block + 1,
      inForce((treasury) => recovering({ treasury, dataDir })),
    )
    // The copy may be of a time before the file that was agreed to since.
    people.wish("agree to the terms of a start", block + 1, agreeOnceHalted, (isDone) => {
      if (isDone === true) current = new Set([...current, written])
    })
  }

  /** Whether the moment has come that the store is put back at. */
  const isMoment = (): boolean => {
    if (restore === undefined || restored || block < restore.block) return false
    if (restore.when === "at once") return block === restore.block
    if (restore.when === "under way" && losing === 0) {
      losing = run(network.node.armFault({ operation: "submit", kind: "lost_mempool", rate: 1 })).id
    }
    const [db] = around.databases()
    if (db === undefined) return false
    const attempts = db
      .prepare("SELECT a.transfer_id AS id, a.state, i.rule FROM attempts a JOIN intents i ON i.id = a.intent_id")
      .all()
    // What was sent before the network lost things is in a block soon.
    if (!hasBegun && restore.when === "under way") for (const { id } of attempts) copied.add(String(id))
    hasBegun = true
    const young = attempts.filter(({ id }) => !copied.has(String(id)))
    const isPaid = ({ id }: { readonly id?: unknown }) => network.chain.transfers.has(String(id))
    const sent = ["accepted", "unknown"]
    if (restore.when === "under way") return young.some((one) => sent.includes(String(one["state"])) && !isPaid(one))
    const isOpen = attempts.some(
      ({ state }) => state === "signed" || state === "sending" || sent.includes(String(state)),
    )
    return !isOpen && young.some((one) => String(one["rule"]).startsWith("payout") && isPaid(one))
  }

  const makeCopy = (): void => {
    const file = join(dataDir, databaseFile)
    if (!existsSync(file)) return
    rmSync(copy, { force: true })
    // A process holds its file alone, so a copy is made through it.
    const [db] = around.databases()
    try {
      db?.prepare("VACUUM INTO ?").run(copy)
      copied = new Set(
        db
          ?.prepare("SELECT transfer_id AS id FROM attempts")
          .all()
          .map(({ id }) => String(id)),
      )
    } catch {
      // It died of this very statement.
    }
  }

  const attend = (intents: ReadonlyArray<Intent>): void => {
    for (const { id } of intents) {
      const since = seenAt.get(id) ?? block
      seenAt.set(id, since)
      const how = calm ? "prompt" : wild.approver
      if (how === "never" || (how === "late" && block - since < lateBlocks)) continue
      if (how === "refuses") {
        people.wish(
          "reject",
          block,
          inForce((treasury) => endPayment(treasury, id, "reject", said)),
        )
        docket.event("approval refused")
        seenAt.set(id, Number.POSITIVE_INFINITY)
        continue
      }
      const given = approvals.get(id) ?? new Set()
      const next = operatorNames.find((name) => !given.has(name))
      if (next === undefined || given.size >= (wild.book.approval?.need ?? 0)) continue
      approvals.set(id, given.add(next))
      docket.event(how === "late" ? "approval given late" : "approval given")
      people.wish(
        "approve",
        block,
        inForce((treasury) => approving(treasury, id, next)),
      )
    }
  }

  /** What a start does not know yet: no network parameter can be read until a block. */
  const hideParameters = (): void => {
    if (wild.unreadUntil === 0) return
    if (block === 1) {
      hidden = run(network.node.armFault({ operation: "parameters", kind: "http_status", status: 503, rate: 1 })).id
      docket.event("network parameters not to be read")
    } else if (block === wild.unreadUntil) run(network.node.disarmFault(hidden))
  }

  /** Somebody wants all that is above the floor: the fee on top of it is not there. */
  const dare = (): void => {
    const held = [...network.chain.ledger.accounts.values()].find(
      ({ party, type }) => party === reserve && type === "ACCOUNT_TYPE_GENERAL",
    )
    const amount = Number((held?.balance ?? 0n) / unit) - (wild.book.floor ?? 0)
    if (amount < 1) return
    docket.event("all above the floor asked for")
    people.begin({ block, do: "submit", key: "all-above-the-floor", to: "hot", amount: Math.min(amount, 24_000) })
  }

  const vote = (): void => {
    for (const { block: at, changes } of wild.votes) {
      if (at !== block) continue
      Object.assign(network.chain.scenario, changes)
      docket.event("vote on fee, epoch or least amount")
    }
  }

  return {
    elsewhere,
    approvals,
    inForce: () => current,
    isSettled: () => current.size === 1 && current.has(written),
    lost,
    isRestored: () => restored,
    isDiskFull: () => during(fullDisk),
    deafness: () => (during(deaf) ? deaf?.how : undefined),
    lagOf: (host) =>
      during(lag) ? (host.endsWith(":1") ? lag!.blocks[0] : host.endsWith(":2") ? lag!.blocks[1] : 0) : 0,
    started: () => {
      if ([...current].every((one) => !permitsMore(written, one))) current = new Set([written])
    },
    atBlock: (at) => {
      block = at
      if (!calm) {
        hideParameters()
        for (const one of wild.rewrites) if (one.block === block) rewrite(one)
      }
      startAgain()
      if (!calm) {
        attendTerms()
        for (const { block: when, amount } of wild.elsewhere) {
          if (when !== block) continue
          const id = payElsewhere(network, wild.book.who, amount, run)
          if (id === undefined) continue
          elsewhere.add(id)
          docket.event("payment made elsewhere")
          people.wish(
            "adopt",
            block + seenBlocks,
            inForce((treasury) => adopting({ treasury, dataDir })),
          )
        }
        if (wild.dare === block) dare()
        if (restore?.copied === block) makeCopy()
        if (isMoment()) putBack()
        if (halting?.block === block) {
          run(writeHaltFile(dataDir, "zoe stops it"))
          docket.event("HALT file")
        }
        if (halting?.until === block) run(removeHaltFile(dataDir))
        if (fullDisk?.block === block) docket.event("disk full")
        if (deaf?.block === block) docket.event(`receivers ${deaf.how}`)
        if (lag?.block === block) docket.event("two of three gateways behind")
        vote()
        if (outage?.block === block) {
          docket.event("outage of more than half an hour")
          around.outage(outage.minutes)
        }
      }
      if (hasOperators) people.look(awaiting, attend)
    },
    letGo: () => {
      calm = true
      // Whoever looks after the halts agrees to what lies there.
      if ([...current].some((one) => permitsMore(written, one))) current = new Set([...current, written])
      if (existsSync(haltFile(dataDir))) run(removeHaltFile(dataDir))
      Object.assign(network.chain.scenario, before)
    },
  }
}

const signedIn = (file: string): ReadonlyArray<LostPayment> => {
  const db = new DatabaseSync(file)
  const asked = db.prepare(`SELECT a.intent_id AS "intentId", a.transfer_id AS "transferId",
    i.rule LIKE 'payout-%' OR i.rule = 'submit' AS "isOwed",
    CASE WHEN a.state IN ('sending', 'accepted', 'unknown') THEN a.anchor_height + a.window_blocks
    ELSE 0 END AS "deadline"
    FROM attempts a JOIN intents i ON i.id = a.intent_id`)
  asked.setReadBigInts(true)
  const rows = asked.all()
  db.close()
  return rows as unknown as ReturnType<typeof signedIn>
}

const awaiting = Effect.map(
  Effect.flatMap(Outbox, ({ open }) => open),
  (intents) => intents.filter(({ state }) => state === "awaiting_approval"),
)

/** An operator signs what is shown now. */
const approving = Effect.fnUntraced(function* (treasury: Treasury, id: string, name: string) {
  const intent = (yield* (yield* Outbox).open).find((one) => one.id === id)
  const view = intent === undefined ? undefined : yield* approvalViewOf(treasury, intent)
  if (view === undefined) return "there is nothing to approve"
  return yield* approve(treasury, id, { signature: operatorSigns(name, view.text) })
})

type Verb = Effect.Effect<unknown, unknown, Services>

const reloadIn = (file: string, isSigned: boolean, allowWeaker: boolean): Verb =>
  Effect.gen(function* () {
    if (isSigned) yield* signTerms(file)
    return yield* reloadConfig({ ...said, allowWeaker })
  })

interface Place {
  readonly treasury: Treasury
  readonly dataDir: string
}

/** Nobody does a verb of the ledger before its halt is there. */
const onceHalted = (reason: HaltReason, verb: "recover" | "adopt") =>
  Effect.fnUntraced(function* (place: Place) {
    const halts = yield* (yield* Controls).halts
    if (halts.every((halt) => halt.reason !== reason)) return yield* Effect.fail("nothing halts")
    return yield* agreed((signature) => ledgerVerb(verb, place, { ...said, signature }))
  })

/** Who waits for the halt looks again. */
const recovering = (place: Place) =>
  onceHalted(
    "restored_store",
    "recover",
  )(place).pipe(Effect.retry({ schedule: Schedule.spaced("2 seconds"), times: 20 }))
const adopting = onceHalted("foreign_payment", "adopt")
