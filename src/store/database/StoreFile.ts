import { statSync } from "node:fs"
import { Effect } from "effect"
import { Settings } from "./Settings.ts"
import { StoreError } from "./StoreError.ts"

const key = "storeFile"

/** Tells a file from a copy of it. Birth is 0 if the file system reports no creation time. */
interface FileIdentity {
  readonly inode: bigint
  /** Unix nanoseconds. */
  readonly birth: bigint
}

const identityOf = (filename: string): Effect.Effect<FileIdentity, StoreError> =>
  Effect.try({
    try: () => {
      const { ino, birthtimeNs, ctimeNs } = statSync(filename, { bigint: true })
      // Where births are not kept, the time of the last change stands in for it.
      return { inode: ino, birth: birthtimeNs === ctimeNs ? 0n : birthtimeNs }
    },
    catch: (cause) => new StoreError({ operation: "StoreFile", cause }),
  })

const text = ({ inode, birth }: FileIdentity): string => `${inode}:${birth}`

/**
 * Why the database file is not the one that this store was written to last: somebody put a copy in its place. The first
 * time the file is remembered; undefined where it is still the same.
 */
export const storeFileProblem = Effect.fn("StoreFile.problem")(function* (filename: string) {
  const settings = yield* Settings
  const now = yield* identityOf(filename)
  const stored = /^([0-9]+):([0-9]+)$/.exec(yield* settings.getOrMake(key, Effect.succeed(text(now))))
  if (stored === null) return "its own record of its database file cannot be read"
  const [inode, birth] = [BigInt(stored[1]!), BigInt(stored[2]!)]
  if (inode !== now.inode) return `the database file is another one (inode ${now.inode}, was ${inode})`
  // One that was never changed since its birth is not the one that this store was written to.
  if (birth !== now.birth && birth !== 0n) return "the database file was created again since"
  if (birth === 0n && now.birth !== 0n) yield* settings.set(key, text(now))
  return undefined
})

/** From now on this file is the store's own. */
export const rememberStoreFile = Effect.fn("StoreFile.remember")(function* (filename: string) {
  const settings = yield* Settings
  yield* settings.set(key, text(yield* identityOf(filename)))
})
