import { lstatSync, realpathSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"
import { controlKeyFile } from "../config/controlKey.ts"
import { foreignLink, thisUser, type User, writableByOthers } from "../config/ownFiles.ts"
import { socketFile } from "../status/ControlServer.ts"
import { databaseFile } from "../store/Database.ts"

/** The socket of a data directory's daemon, or why nothing is said to whoever listens there. */
export type Trusted = { readonly socketPath: string } | { readonly problem: string }

/** Root speaks to the daemon of the directory's owner; everybody else to their own, and to root's. */
const isOwner = (uid: number, directory: Stats): boolean => {
  const own = thisUser().uid
  return uid === own || uid === 0 || (own === 0 && uid === directory.uid)
}

/** What a daemon keeps there whenever it listens. */
const keptFiles = [controlKeyFile, databaseFile]

/**
 * Whose daemon's volume a directory of root is, so that root speaks to it: all that is kept there is of the user whose
 * socket it is, and of the group that may write it (`fsGroup` of Kubernetes).
 */
const volumeUser = (real: string, directory: Stats, socket: Stats): User | undefined => {
  if (thisUser().uid !== 0 || directory.uid !== 0) return undefined
  const isKept = keptFiles.every((name) => {
    const stat = lstatSync(join(real, name), { throwIfNoEntry: false })
    return stat?.isFile() === true && stat.uid === socket.uid
  })
  return isKept ? { uid: 0, groups: [directory.gid] } : undefined
}

/**
 * Looks who could have put the socket there: it is one, of this user or root, in a directory that nobody else can
 * write. A missing one is no problem: no daemon runs.
 */
export const trustedSocket = (dataDir: string): Trusted => {
  const named = join(dataDir, socketFile)
  let directory: Stats
  let socketPath: string
  let socket: Stats
  let volume: User | undefined
  try {
    const link = foreignLink(dataDir)
    if (link !== undefined) return { problem: `${dataDir} ${link}` }
    const real = realpathSync(dataDir)
    directory = statSync(real)
    socketPath = join(real, socketFile)
    socket = lstatSync(socketPath)
    volume = volumeUser(real, directory, socket)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return { socketPath: named }
    return { problem: `${named} cannot be looked at (${code})` }
  }
  if (socket.isSymbolicLink()) return { problem: `${named} is a link: a daemon makes no link` }
  if (!socket.isSocket()) return { problem: `${named} is no socket` }
  if (volume === undefined && !isOwner(socket.uid, directory))
    return { problem: `${named} belongs to user ${socket.uid}` }
  const user = thisUser()
  // To root, what the directory's owner may write is no danger: it is their daemon.
  const uid = user.uid === 0 ? directory.uid : user.uid
  const why = writableByOthers(directory, volume ?? { ...user, uid })
  return why === undefined ? { socketPath } : { problem: `${dataDir} ${why}` }
}
