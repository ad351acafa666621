import { DatabaseSync, StatementSync } from "node:sqlite"

/** A process that can die between any two steps. What it holds in memory is gone then; its file is as it is. */
export interface Mortal {
  alive: boolean
  /** Statements and requests so far. */
  steps: number
  /** The step before which it dies; a COMMIT may still reach the disk. Infinity: it lives. */
  dieAt: number
  commitsAtDeath: () => boolean
  onDeath: () => void
  db: DatabaseSync | undefined
  /** Unix milliseconds until which the machine leaves it no time: it sleeps, and does not know. */
  pausedTo: number
  /** Sees each statement that is about to run. */
  onStatement: (sql: string, mortal: Mortal) => void
  /** Statements alone, so far. */
  statements: number
  /** Which of them the disk refuses, from one to before another; a rollback always succeeds. */
  readonly failing: Failing | undefined
  /** Whether the disk takes nothing more: what is there can be read. */
  readonly isDiskFull?: () => boolean
}

export interface Failing {
  readonly from: number
  readonly to: number
  /** SQLite's result code: 10 for an I/O error, 13 for a full disk. */
  readonly errcode: 10 | 13
}

export class Dead extends Error {
  override readonly message = "the process is dead"
}

const owners = new WeakMap<DatabaseSync, Mortal>()
const statements = new WeakMap<StatementSync, { readonly mortal: Mortal; readonly sql: string }>()
const byFile = new Map<string, Mortal>()

/** From now on whoever opens the file is this process. */
export const own = (file: string, mortal: Mortal): void => {
  byFile.set(file, mortal)
}

/** Counts a step of the process; throws where it is dead, or dies of this very step. */
export const step = (mortal: Mortal): void => {
  if (!mortal.alive) throw new Dead()
  if (++mortal.steps >= mortal.dieAt) die(mortal)
}

/** Lets the disk refuse a statement where it is its turn. */
const refuse = (mortal: Mortal, sql: string): void => {
  const n = mortal.statements++
  const { failing } = mortal
  if (mortal.isDiskFull?.() === true && writes.test(sql)) throw refusal(13)
  if (failing === undefined || n < failing.from || n >= failing.to || /^ROLLBACK/i.test(sql)) return
  throw refusal(failing.errcode)
}

/** Statements that need room: the end of a transaction is where a write reaches the file. */
const writes = /^\s*(INSERT|UPDATE|DELETE|COMMIT)/i

const refusal = (errcode: Failing["errcode"]): Error => {
  const text = errcode === 13 ? "database or disk is full" : "disk I/O error"
  return Object.assign(new Error(text), { code: "ERR_SQLITE_ERROR", errcode })
}

const die = (mortal: Mortal): never => {
  kill(mortal)
  throw new Dead()
}

/** Ends the process now. An open transaction is rolled back, as the next start would do it. */
export const kill = (mortal: Mortal): void => {
  if (!mortal.alive) return
  mortal.alive = false
  if (mortal.db?.isOpen) mortal.db.close()
  mortal.onDeath()
  // A database that is reached from its own process is never collected, nor would the whole world around it be.
  Object.assign(mortal, { db: undefined, onDeath: () => {}, onStatement: () => {}, commitsAtDeath: () => false })
}

/** The methods of node:sqlite by which everything reaches a file, so that every statement is a step. */
export const installCrashPoints = (): void => {
  const { prepare, exec } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    const mortal = owners.has(this) ? undefined : byFile.get(this.location() ?? "")
    if (mortal !== undefined) {
      owners.set(this, mortal)
      mortal.db = this
    }
    return exec.call(this, sql)
  }
  DatabaseSync.prototype.prepare = function (sql, options) {
    const statement = prepare.call(this, sql, options)
    const mortal = owners.get(this)
    if (mortal !== undefined) statements.set(statement, { mortal, sql })
    return statement
  }
  for (const name of ["all", "run"] as const) {
    const original = StatementSync.prototype[name] as (...args: Array<unknown>) => unknown
    StatementSync.prototype[name] = function (this: StatementSync, ...args: Array<unknown>) {
      const known = statements.get(this)
      if (known !== undefined) {
        const { mortal, sql } = known
        if (/^COMMIT/i.test(sql) && mortal.alive && mortal.steps + 1 >= mortal.dieAt && mortal.commitsAtDeath()) {
          original.apply(this, args)
        }
        step(mortal)
        refuse(mortal, sql)
        mortal.onStatement(sql, mortal)
      }
      return original.apply(this, args)
    } as never
  }
}
