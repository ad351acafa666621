/** Why nothing may be signed, and what ends it: the one verb whose work removes the cause, or the cause's own end. */
export const haltEnds = {
  operator: "resume",
  halt_file: "file",
  invariant: "resume",
  duplicate_execution: "resume",
  payment_missing: "resume",
  foreign_payment: "adopt",
  chain_changed: "resume",
  restored_store: "recover",
  store_error: "resume",
  disk_full: "itself",
  terms: "terms",
} as const

export type HaltReason = keyof typeof haltEnds
export const haltReasons = Object.keys(haltEnds) as ReadonlyArray<HaltReason>

/** The reasons that a `resume` of everything leaves in force. */
export const keptReasons: ReadonlyArray<HaltReason> = ["foreign_payment", "restored_store", "disk_full", "terms"]

const isReason = (text: string): text is HaltReason => Object.hasOwn(haltEnds, text)

/** A halt after the word "halted": "by ana: audit", "(foreign payment): …". A person's detail begins with the name. */
export const haltText = ({ reason, detail }: { readonly reason: string; readonly detail: string }): string =>
  reason === "operator" ? `by ${detail}` : `(${reason.replaceAll("_", " ")}): ${detail}`

/** Remedy for a halt, as text; its detail names the hash that the commands take. */
export const remedyOf = (reason: string, detail: string): string => {
  const end = isReason(reason) ? haltEnds[reason] : "resume"
  if (end === "adopt") return 'if these payments were meant: "cofferer adopt --reason TEXT"; if not, the key is stolen'
  if (end === "recover")
    return '"cofferer recover --reason TEXT" imports the payments that the database lacks, and allows signing again'
  if (end === "itself") return 'it ends by itself once there is space, and "resume" does not end it'
  if (end === "terms") {
    const hash = /^the terms ([0-9a-f]{8}) /.exec(detail)?.[1] ?? "HASH"
    return (
      `operators approve the new file: "cofferer approve terms ${hash} --key FILE"; if the old file names no operators, ` +
      `or their keys are lost: "cofferer terms accept ${hash} --reason TEXT"; or restart with the old file`
    )
  }
  const resume = 'once the cause is gone: "cofferer resume --reason TEXT"'
  if (reason === "invariant" || reason === "store_error")
    return `keep a copy of the data directory and the log, and report it; ${resume}`
  if (reason === "duplicate_execution") return `read "cofferer intents show ID"; ${resume}`
  return end === "file" ? `${resume}, which removes the HALT file` : resume
}

/** A halt as rules see it: its words after "halted", and what ends it. */
export interface HaltInForce {
  readonly text: string
  readonly remedy: string
}

export const haltInForce = (halt: { readonly reason: string; readonly detail: string }): HaltInForce => ({
  text: haltText(halt),
  remedy: remedyOf(halt.reason, halt.detail),
})

/**
 * Assertions of the money path; a broken one stops money, never the alerts. `stored_bytes`: what is about to be sent is
 * not what was stored. `legal_moves`: a row was about to leave its diagram, or a final one to change. `constraints`:
 * the schema refused a row that the program took for possible. `two_signers`: a second implementation does not verify
 * what the first one signed.
 */
export const invariants = ["stored_bytes", "legal_moves", "constraints", "two_signers"] as const
export type Invariant = (typeof invariants)[number]
