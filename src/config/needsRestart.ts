import { createHash } from "node:crypto"
import type { Treasury } from "./Treasury.ts"
import type { Problem } from "./yaml/ConfigError.ts"
import { valueAt } from "./yaml/decodeAll.ts"

/** Parts of a treasury file that are hashed on their own, in metrics and in the journal. */
export const configParts = [
  "network",
  "assets",
  "parties",
  "addresses",
  "hours",
  "maintenance",
  "rules",
  "policy",
  "approvals",
  "alerts",
  "store",
  "database",
  "daemon",
  "all",
] as const
type ConfigPart = (typeof configParts)[number]

/** JSON that does not depend on the order of keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? ""

/** SHA-256 in hex over each part as written, independent of files, their order and comments. */
export const partHashes = (value: unknown): Readonly<Record<ConfigPart, string>> => {
  const parts = (value ?? {}) as Readonly<Record<string, unknown>>
  const hashOf = (part: ConfigPart): string =>
    createHash("sha256")
      .update(canonical(part === "all" ? parts : parts[part]))
      .digest("hex")
  return Object.fromEntries(configParts.map((part) => [part, hashOf(part)])) as Record<ConfigPart, string>
}

/** The first 48 bits of a hash: a number that a metric holds exactly. */
export const hashNumber = (hash: string): number => Number.parseInt(hash.slice(0, 12), 16)

type Path = ReadonlyArray<string>

/** Remedy of each problem of `needsRestart`. */
export const restartRemedy = "restart the daemon to change it"

/** Values that a process uses once, at its start, and that cannot change while it runs. */
const fixed: ReadonlyArray<readonly [path: Path, why: string]> = [
  [["name"], "another name needs another data directory"],
  [["mode"], "keys are opened at the start"],
  [["network", "chainId"], "every signature is for it"],
  [["network", "gateways"], "they are connected at the start"],
  [["network", "quorum"], "gateways are asked together by it"],
  [["network", "requestDeadline"], "gateways are connected with it"],
  [["network", "framing"], "payments may be under way in it"],
  [["alerts", "receivers"], "they are connected at the start"],
  [["alerts", "heartbeat"], "it is connected at the start"],
  [["store", "dir"], "the database is open"],
  [["store", "watermark"], "the database is open"],
  [["database"], "the database is open"],
  [["daemon"], "the page listens already"],
  [["sandbox"], "the network runs already"],
]

/** Text of a value as written. The order of gateways is a part of it: the first one is preferred. */
const textAt = ({ document }: Treasury, path: Path): string => {
  const value = valueAt(document.value, path)
  return canonical(path.at(-1) === "gateways" ? Object.entries(value ?? {}) : value)
}

/** Each party's key and its place, of parties that sign here. */
const signersOf = (treasury: Treasury): ReadonlyMap<string, string> =>
  new Map(
    [...treasury.parties.values()].flatMap(({ name, publicKey, signer }) =>
      signer === undefined ? [] : [[name, canonical([publicKey, signer])] as const],
    ),
  )

/** Changes of a new configuration that need a restart, each with its line. */
export const needsRestart = (old: Treasury, next: Treasury): ReadonlyArray<Problem> => {
  const problem = (path: Path, why: string): Problem =>
    next.document.problem(path, `${path.join(".")} cannot change while it runs: ${why}`, restartRemedy)
  const changed = fixed.filter(([path]) => textAt(old, path) !== textAt(next, path))
  const [before, after] = [signersOf(old), signersOf(next)]
  const signers = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  )
  return [
    ...changed.map(([path, why]) => problem(path, why)),
    ...signers.map((name) => problem(["parties", name, "signer"], "keys are opened at the start")),
  ]
}
