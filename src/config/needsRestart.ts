import type { Problem } from "./ConfigError.ts"
import { canonical } from "./partHashes.ts"
import type { Treasury } from "./Treasury.ts"

type Path = ReadonlyArray<string>

/** What a process does once at its start, and cannot do otherwise while it runs. */
const fixed: ReadonlyArray<readonly [path: Path, why: string]> = [
  [["name"], "every row bears it"],
  [["mode"], "keys are opened at the start"],
  [["network", "chainId"], "every signature is for it"],
  [["network", "gateways"], "they are connected at the start"],
  [["network", "quorum"], "gateways are asked together by it"],
  [["network", "requestDeadline"], "gateways are connected with it"],
  [["network", "framing"], "payments may be under way in it"],
  [["network", "head"], "what is believed was judged by it"],
  [["network", "chain"], "gateways are connected with it"],
  [["alerts", "receivers"], "they are connected at the start"],
  [["store", "dir"], "the database is open"],
  [["store", "watermark"], "the database is open"],
  [["daemon"], "the page listens already"],
  [["sandbox"], "the network runs already"],
]

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, step) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, step) : undefined),
    value,
  )

/** Parties whose keys the signer holds: each key and where it lies. */
const signersOf = (treasury: Treasury): ReadonlyMap<string, string> =>
  new Map(
    [...treasury.parties.values()].flatMap(({ name, publicKey, signer }) =>
      signer === undefined ? [] : [[name, canonical([publicKey, signer])] as const],
    ),
  )

/** What of a new configuration cannot be put in force while the process runs, each with its line. */
export const needsRestart = (old: Treasury, next: Treasury): ReadonlyArray<Problem> => {
  const problem = (path: Path, why: string): Problem =>
    next.document.problem(path, `${path.join(".")} cannot change while it runs: ${why}`, "restart to change it")
  const changed = fixed.filter(
    ([path]) => canonical(at(old.document.value, path)) !== canonical(at(next.document.value, path)),
  )
  const [before, after] = [signersOf(old), signersOf(next)]
  const signers = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  )
  return [
    ...changed.map(([path, why]) => problem(path, why)),
    ...signers.map((name) => problem(["parties", name, "signer"], "keys are opened at the start")),
  ]
}
