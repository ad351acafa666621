import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { publicKeyOf } from "../../../src/sandbox/Keys.ts"
import type { Verdict } from "../../crash/judge.ts"
import { type Daemon, start } from "../../support/Cofferer.ts"
import { asAdmin, keptAdmin, takeDatabase, urlOf } from "../../support/Postgres.ts"
import { networkOf, treasuryName, writeTreasuries } from "../../support/Treasuries.ts"
import { verdictOf } from "../verdictOf.ts"

/** One process of the fleet; its number stays when it is started again. */
export interface Replica {
  readonly number: number
  daemon: Daemon
  /** Times (monotonic milliseconds) at which it sent a transaction. */
  readonly sent: Array<number>
}

interface FleetOptions {
  readonly serverUrl: string
  readonly treasuries: number
  readonly replicas: number
  /** Blocks in which accounts fall. */
  readonly blocks: number
}

/** Passes requests on, and notes when a transaction passes. */
const startFront = (target: string, sent: Array<number>) => {
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === "POST") sent.push(performance.now())
    const { method, headers } = incoming
    const onward = request(new URL(incoming.url ?? "/", target), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on("error", () => outgoing.destroy())
    incoming.pipe(onward)
  })
  return new Promise<{ readonly url: string; readonly close: () => void }>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const close = () => {
        server.close()
        server.closeAllConnections()
      }
      resolve({ url, close })
    })
  })
}

/**
 * The clock as leases read it, which can be stepped. Not the server's own: its timeouts would need the machine's clock,
 * and where a library falsifies that for one program, they no longer pass.
 */
const steppedClock = (database: string) => [
  "CREATE TABLE clock_step (seconds INT)",
  "INSERT INTO clock_step VALUES (0)",
  "GRANT SELECT ON clock_step TO cofferer",
  `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT pg_catalog.clock_timestamp() + make_interval(secs => seconds) FROM public.clock_step'`,
  `ALTER ROLE cofferer IN DATABASE ${database} SET search_path = public, pg_catalog`,
]

/** Processes that run the same treasuries on one PostgreSQL, each before a front of its own to one network. */
export const makeFleet = async ({ serverUrl, treasuries, replicas, blocks }: FleetOptions) => {
  process.env["COFFERER_TEST_POSTGRES"] = serverUrl
  const dir = mkdtempSync(join(tmpdir(), "cofferer-replicas-"))
  // At the pace of the network, and a payment a second at most: else it is measured how fast this machine can pay.
  const every = Math.max(40, treasuries)
  const falls = Array.from({ length: Math.ceil(blocks / every) }, (_, i) => i).flatMap((i) =>
    Array.from({ length: treasuries }, (_, treasury) => ({ treasury, block: 8 + i * every + (treasury % every) })),
  )
  const network = await networkOf(treasuries, falls, "1s")
  const database = await Effect.runPromise(takeDatabase)
  await Effect.runPromise(asAdmin(database, ...steppedClock(database)))
  const folder = (number: number) => join(dir, `replica-${number}`)
  const launch = (number: number) => start(["run", folder(number), "--output", "json"], { cwd: dir })
  const fronts: Array<{ readonly close: () => void }> = []
  const fleet: Array<Replica> = []
  const addReplica = async (): Promise<Replica> => {
    const number = fleet.length
    const sent: Array<number> = []
    const front = await startFront(network.url, sent)
    fronts.push(front)
    const shared = "database: { postgres: { urlFile: address } }\n"
    writeTreasuries(folder(number), treasuries, front.url, { shared })
    writeFileSync(join(folder(number), "address"), urlOf(serverUrl, database), { mode: 0o600 })
    const replica = { number, daemon: launch(number), sent }
    fleet.push(replica)
    return replica
  }
  for (let number = 0; number < replicas; number++) await addReplica()
  // Questions are asked while takeovers are timed: a new session for each would take its share of the processors.
  const admin = keptAdmin(database)
  const rows = (sql: string) => Effect.runPromise(admin.rows(sql))
  const names = Array.from({ length: treasuries }, (_, n) => treasuryName(n))

  /** Treasuries whose lease a process has that is not over, by its process id. */
  const held = async () => {
    const found = new Map<number, ReadonlyArray<string>>()
    const now = "(extract(epoch FROM public.clock_timestamp()) * 1000)::bigint"
    for (const [treasury, holder] of await rows(`SELECT treasury, holder FROM leases WHERE until >= ${now}`)) {
      const pid = Number(String(holder).split("/")[1])
      found.set(pid, [...(found.get(pid) ?? []), String(treasury)])
    }
    return found
  }

  const reserves = new Map(names.map((name) => [publicKeyOf("many", `${name}-reserve`) as string, name]))
  /** What the ledger executed for the treasuries. */
  const executed = async () => (await network.executed()).filter((tx) => tx.code === 0 && reserves.has(tx.party))

  return {
    dir,
    fleet,
    addReplica,
    names,
    held,
    folder,
    rows,
    /** Process that has the treasury's lease, also where that is over. */
    holderOf: async (name: string) =>
      Number(String((await rows(`SELECT holder FROM leases WHERE treasury = '${name}'`))[0]?.[0]).split("/")[1]),
    /** From now on no account falls. */
    calm: network.calm,
    /** Ends every session of the daemons: the server has cut their connections. */
    cut: () => rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cofferer'"),
    /** Lets the clock of leases be wrong by so many seconds. */
    stepClock: (seconds: number) => rows(`UPDATE clock_step SET seconds = ${seconds}`),
    restart: (replica: Replica) => {
      replica.daemon = launch(replica.number)
    },
    /** Milliseconds until each treasury is held by one of the processes; undefined where that takes too long. */
    untilHeld: async (pids: () => ReadonlyArray<number | undefined>, millisMax: number) => {
      const began = performance.now()
      for (;;) {
        const now = await held().catch(() => new Map<number, ReadonlyArray<string>>())
        const count = pids().flatMap((pid) => now.get(pid ?? 0) ?? []).length
        if (count === treasuries) return performance.now() - began
        if (performance.now() - began > millisMax) return undefined
        await sleep(50)
      }
    },
    /** Milliseconds until the others run what a process had; undefined where that takes too long. */
    untilRun: async (had: ReadonlyArray<string>, others: ReadonlyArray<Replica>, millisMax: number) => {
      const [began, at] = [performance.now(), Date.now()]
      const isRun = (name: string) =>
        others.some(({ daemon }) =>
          daemon.lines.some(
            ({ msg, treasury, time }) => msg === "taken over" && treasury === name && Date.parse(String(time)) >= at,
          ),
        )
      while (performance.now() - began < millisMax) {
        if (had.every(isRun)) return performance.now() - began
        await sleep(20)
      }
      return undefined
    },
    /** True once the ledger executed so many payments more. */
    untilPaid: async (more: number, millisMax: number) => {
      const [began, before] = [performance.now(), (await executed()).length]
      while (performance.now() - began < millisMax) {
        if ((await executed()).length >= before + more) return true
        await sleep(100)
      }
      return false
    },
    /** Payments by their state. */
    states: async () => (await rows("SELECT state, count(*) FROM intents GROUP BY state")).map((row) => row.join(" ")),
    /** Acts that are stored, as `actOf` names them. Asked of a frozen process before its leases are over. */
    stored: async () => {
      // A COMMIT that was on its way comes to its end.
      await sleep(500)
      const acts = await rows(
        `SELECT 'payment proposed ' || id FROM intents
          UNION ALL SELECT 'payment confirmed ' || id FROM intents WHERE state = 'confirmed'
          UNION ALL SELECT 'payment signed ' || intent_id || '/' || k FROM attempts
          UNION ALL SELECT 'attempt ' || intent_id || '/' || k FROM sends WHERE ended_at IS NOT NULL`,
      )
      return new Set(acts.map(([act]) => String(act)))
    },
    /** How often the leases were taken, all together. */
    takeovers: async () => Number((await rows("SELECT sum(epoch) FROM leases"))[0]?.[0]),
    /** Treasury and id of each payment that has no end. */
    open: () =>
      rows(
        "SELECT treasury, id FROM intents WHERE state NOT IN ('confirmed', 'failed', 'denied', 'rejected', 'cancelled', 'abandoned')",
      ),
    verdict: async () => {
      const all = await executed()
      const verdicts: Array<Verdict> = []
      const lines = fleet.flatMap(({ daemon }) => daemon.lines)
      for (const name of names) {
        const own = all.filter((tx) => reserves.get(tx.party) === name)
        const of = (sql: string) => rows(sql.replace("$", `treasury = '${name}'`))
        verdicts.push(await verdictOf({ name, rows: of, lines, executed: own.map((tx) => tx.transferId) }))
      }
      return {
        lost: verdicts.flatMap(({ lost }) => lost),
        duplicate: verdicts.flatMap(({ duplicate }) => duplicate),
        executed: all.length,
      }
    },
    close: async () => {
      for (const { daemon } of fleet) {
        daemon.child.kill("SIGCONT")
        await daemon.stop("SIGKILL")
      }
      for (const { close } of fronts) close()
      await Effect.runPromise(admin.close)
      await network.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export type Fleet = Awaited<ReturnType<typeof makeFleet>>

/** What a log line tells that the process did; undefined where it tells nothing of payments. */
const actOf = ({ msg, intent, attempt }: Readonly<Record<string, unknown>>): string | undefined =>
  msg === "payment proposed" || msg === "payment confirmed"
    ? `${msg} ${intent}`
    : /^(?:payment signed$|attempt )/.test(String(msg))
      ? `${msg === "payment signed" ? msg : "attempt"} ${intent}/${attempt}`
      : undefined

/**
 * Lines of a process that goes on after its leases are over, in which it acts for a treasury that it has not taken
 * again. It may tell of acts that were `stored` before.
 */
export const staleActs = (
  lines: ReadonlyArray<Readonly<Record<string, unknown>>>,
  stored: ReadonlySet<string>,
): ReadonlyArray<string> => {
  const taken = new Set<unknown>()
  const stale: Array<string> = []
  for (const line of lines) {
    if (line["msg"] === "daemon starting") taken.add(line["treasury"])
    const act = actOf(line)
    if (act !== undefined && !taken.has(line["treasury"]) && !stored.has(act)) stale.push(JSON.stringify(line))
  }
  return stale
}
