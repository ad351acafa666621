import { existsSync, realpathSync, statSync } from "node:fs"
import { join } from "node:path"
import { foreignLink, thisUser } from "../config/ownFiles.ts"
import { socketFile } from "../status/ControlServer.ts"

/**
 * The socket of a data directory's daemon, or why nothing is said to whoever listens there: the directory must be this
 * user's, or root asks, and nobody else may enter it. A missing socket is no problem: no daemon runs.
 */
export const socketOf = (dataDir: string): { readonly socketPath: string } | { readonly problem: string } => {
  const socketPath = join(dataDir, socketFile)
  try {
    const link = foreignLink(dataDir)
    if (link !== undefined) return { problem: `${dataDir} ${link}` }
    const real = realpathSync(dataDir)
    const { uid, mode } = statSync(real)
    if (!existsSync(join(real, socketFile))) return { socketPath }
    const own = thisUser().uid
    if (uid !== own && own !== 0) return { problem: `${dataDir} belongs to user ${uid}` }
    if ((mode & 0o077) === 0) return { socketPath: join(real, socketFile) }
    return { problem: `${dataDir} has mode ${(mode & 0o777).toString(8).padStart(4, "0")}, not 0700` }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return { socketPath }
    return { problem: `${dataDir} cannot be looked at (${code})` }
  }
}
