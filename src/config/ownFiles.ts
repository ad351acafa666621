import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { haltFile } from "./files.ts"
import { ConfigError, configProblem, type Problem } from "./yaml/ConfigError.ts"

/** A user, with the groups that may write for them. */
interface User {
  readonly uid: number
  readonly groups: ReadonlyArray<number>
}

/** User of this process. */
export const thisUser = (): User => ({
  uid: process.getuid?.() ?? 0,
  groups: [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])],
})

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, "0")

/**
 * Why another user could write a file or a directory; undefined where none could but root. What root owns may be
 * written by a group of this process: so a volume of Kubernetes comes (`fsGroup`).
 */
export const writableByOthers = (
  { uid, gid, mode }: Stats,
  { uid: own, groups }: User = thisUser(),
): string | undefined => {
  if (uid !== own && uid !== 0) return `belongs to user ${uid}`
  if ((mode & 0o002) !== 0) return `may be written by everybody (mode ${octal(mode)})`
  if ((mode & 0o020) !== 0 && !(uid === 0 && groups.includes(gid))) {
    return `may be written by group ${gid} (mode ${octal(mode)})`
  }
  return undefined
}

/**
 * Why another user could read a secret; undefined where none could but root. What root owns may be read by its group:
 * so Kubernetes mounts secrets.
 */
export const readableByOthers = ({ uid, mode }: Stats, what: string): string | undefined => {
  if (uid !== thisUser().uid && uid !== 0) return `the ${what} belongs to another user`
  const others = mode & (uid === 0 ? 0o037 : 0o077)
  return others === 0 ? undefined : `others may read the ${what} (mode ${(mode & 0o777).toString(8)})`
}

/** Why a path is not followed: it is a link, and another user's than this one and root. */
export const foreignLink = (path: string): string | undefined => {
  const stat = find(path)
  if (stat?.isSymbolicLink() !== true || stat.uid === thisUser().uid || stat.uid === 0) return undefined
  return `is a link of user ${stat.uid}`
}

/** Names of what the daemon keeps in its data directory. The HALT file is not among them: anybody may stop money. */
const ownNames = [
  "cofferer.db",
  "cofferer.db-journal",
  "cofferer.db-wal",
  "cofferer.db-shm",
  "watermark",
  "read-token",
  "page-address",
]

const find = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

/** Removes the rights of others where this user can. Returns a line about it; undefined if there was nothing to do. */
const mend = (path: string, stat: Stats, mode: number): string | undefined => {
  if (stat.uid !== thisUser().uid || (stat.mode & 0o077) === 0) return undefined
  try {
    chmodSync(path, mode)
    return `${path}  had mode ${octal(stat.mode)}, and has ${octal(mode)} now: nobody else reads or writes it`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // On a mount that cannot be changed, read access of others is accepted: no key is readable there.
    if (writableByOthers(stat) === undefined) return undefined
    throw refusal(path, `may be written by others, and cannot be corrected (${code})`)
  }
}

const refusal = (path: string, why: string): ConfigError => {
  const { uid } = thisUser()
  const mended = "remove the rights of others with chmod"
  return configProblem(
    path,
    `${why}: another user could change what this process relies on`,
    uid === 0 ? `run this as that user, or ${mended}` : `give it to user ${uid} with chown, and ${mended}`,
  )
}

/** Files that another user left in an open directory: once it is closed they would be taken for the daemon's. */
const leftBehind = (dir: string, name: string): ReadonlyArray<Problem> => {
  const path = join(dir, name)
  const { uid } = find(path) ?? {}
  const isOurs = uid === undefined || uid === thisUser().uid || uid === 0
  if (isOurs || path === haltFile(dir)) return []
  const message = `user ${uid} left it in a directory that others may write: it could be taken for the daemon's own`
  const remedy = `look at it, remove it or give it to user ${thisUser().uid} with chown, and only then shut ${dir}`
  return configProblem(path, message, remedy).problems
}

/**
 * Makes sure that a data directory is this user's, and that nobody else can enter it: the permission is the only wall.
 * Files of ours are mended to 0700 and 0600, those of another user are refused, as is all that others left in an open
 * directory but a HALT file. A directory that is missing is made. Gives the directory itself where a link leads to it,
 * and a line for each mended file.
 */
export const secureDataDir = (dir: string) => examineDataDir(dir, true)

/** The same refusals without a change: `mends` false makes nothing and mends nothing. */
export const examineDataDir = (
  dir: string,
  mends: boolean,
): Effect.Effect<{ readonly dir: string; readonly mended: ReadonlyArray<string> }, ConfigError> =>
  Effect.try({
    try: () => {
      const link = foreignLink(dir)
      if (link !== undefined) throw refusal(dir, link)
      if (mends) mkdirSync(dir, { recursive: true, mode: 0o700 })
      const real = realpathSync(dir)
      const mended: Array<string> = []
      const secure = (path: string, stat: Stats, mode: number) => {
        const line = mends ? mend(path, stat, mode) : undefined
        if (line !== undefined) mended.push(line)
        const why = writableByOthers(line === undefined ? stat : statSync(path))
        if (why !== undefined) throw refusal(path, why)
      }
      const open = statSync(real)
      if (open.uid !== thisUser().uid) {
        throw refusal(real, `belongs to user ${open.uid}`)
      }
      if (writableByOthers(open) !== undefined) {
        const problems = readdirSync(real).flatMap((name) => leftBehind(real, name))
        if (problems.length > 0) throw new ConfigError({ problems })
      }
      secure(real, open, 0o700)
      for (const name of ownNames) {
        const path = join(real, name)
        const stat = find(path)
        if (stat === undefined) continue
        const why = foreignLink(path)
        if (why !== undefined) throw refusal(path, why)
        const target = stat.isSymbolicLink() ? find(realpathSync(path)) : stat
        if (target !== undefined) secure(path, target, 0o600)
      }
      return { dir: real, mended }
    },
    catch: (error) => {
      if (error instanceof ConfigError) return error
      const why = `the data directory cannot be used (${(error as NodeJS.ErrnoException).code})`
      return configProblem(dir, why, "name another")
    },
  })

/** Refuses a watermark whose folder another user could write, or this one could not: the first payment would halt. */
export const refuseMarkFolder = (file: string | undefined): Effect.Effect<void, ConfigError> =>
  Effect.suspend(() => {
    if (file === undefined) return Effect.void
    const folder = dirname(file)
    try {
      accessSync(`${folder}/`, constants.W_OK | constants.X_OK)
      const why = writableByOthers(statSync(folder))
      return why === undefined ? Effect.void : refusal(folder, `the folder of the watermark ${why}`)
    } catch (error) {
      const why = `the watermark cannot be written there (${(error as NodeJS.ErrnoException).code})`
      return configProblem(folder, `${why}, and nothing is sent without it`, "make the folder, writable for this user")
    }
  })
