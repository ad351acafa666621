import { lstatSync, realpathSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"
import { thisUser, writableByOthers } from "../config/ownFiles.ts"
import { socketFile } from "../status/ControlServer.ts"

/** The socket of a data directory's daemon, or why nothing is said to whoever listens there. */
export type Trusted = { readonly socketPath: string } | { readonly problem: string }

/** Root speaks to the daemon of the directory's owner; everybody else to their own, and to root's. */
const isOwner = (uid: number, directory: Stats): boolean => {
  const own = thisUser().uid
  return uid === own || uid === 0 || (own === 0 && uid === directory.uid)
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
  try {
    const real = realpathSync(dataDir)
    directory = statSync(real)
    socketPath = join(real, socketFile)
    socket = lstatSync(socketPath)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return { socketPath: named }
    return { problem: `${named} cannot be looked at (${code})` }
  }
  if (socket.isSymbolicLink()) return { problem: `${named} is a link: a daemon makes no link` }
  if (!socket.isSocket()) return { problem: `${named} is no socket` }
  if (!isOwner(socket.uid, directory)) return { problem: `${named} belongs to user ${socket.uid}` }
  const user = thisUser()
  // To root, what the directory's owner may write is no danger: it is their daemon.
  const uid = user.uid === 0 ? directory.uid : user.uid
  const why = writableByOthers(directory, { ...user, uid })
  return why === undefined ? { socketPath } : { problem: `${dataDir} ${why}` }
}
