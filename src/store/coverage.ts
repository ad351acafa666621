import { isFinalIntent } from "../domain/Intent.ts"
import { isApproval } from "../tx/Approval.ts"
import type { Kept, StoredEntry } from "./archive.ts"

type Body = Readonly<Record<string, unknown>>

interface Told {
  readonly kind: string
  readonly body: Body
}

const told = ({ kind, body }: StoredEntry): Told | undefined => {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === "object" && parsed !== null ? { kind, body: parsed as Body } : undefined
  } catch {
    return undefined
  }
}

/** As the journal writes it: bigints as digits, absent values as nothing. */
const written = (value: unknown): string => (value === undefined || value === null ? "" : String(value))

const key = (values: Body): string =>
  JSON.stringify(Object.keys(values).map((name) => [name, written(values[name])] as const))

/** The first row that no entry tells of, or the first entry that no row stands behind: rows may look alike. */
const unpaired = (what: string, rows: ReadonlyArray<Body>, entries: ReadonlyArray<Body>): string | undefined => {
  const names = Object.keys(rows[0] ?? {})
  const left = new Map<string, number>()
  for (const body of entries) {
    const same = key(names.length === 0 ? {} : Object.fromEntries(names.map((name) => [name, body[name]])))
    left.set(same, (left.get(same) ?? 0) + 1)
  }
  for (const row of rows) {
    const same = key(row)
    const count = left.get(same) ?? 0
    const which = row["k"] === undefined ? what : `${what} of attempt ${written(row["k"])}`
    if (count === 0) return `${which} has no journal entry that says the same`
    left.set(same, count - 1)
  }
  const more = entries.length - rows.length
  return more > 0 ? `the journal tells of ${more} more: ${what}` : undefined
}

/**
 * Holds the rows of a payment against what the journal tells of it, both ways. Returns the first thing that does not
 * fit, in words; undefined where all do.
 */
export const uncovered = (kept: Kept): string | undefined => {
  const all = kept.entries.map(told)
  const unread = kept.entries[all.indexOf(undefined)]
  if (unread !== undefined) return `entry ${unread.seq} cannot be read`
  const entries = all.flatMap((entry) => entry ?? [])
  const of = (kind: string, state?: string) =>
    entries.filter((e) => e.kind === kind && (state === undefined || e.body["state"] === state)).map((e) => e.body)
  return decided(kept, of("intent")) ?? approved(kept, of("approval")) ?? signed(kept, of) ?? sent(kept, of)
}

const differs = (what: string, row: Body, entry: Body | undefined): string | undefined => {
  if (entry === undefined) return `${what} has no journal entry`
  const name = Object.keys(row).find((each) => written(row[each]) !== written(entry[each]))
  return name === undefined
    ? undefined
    : `${what}: ${name} is "${written(row[name])}", the journal says "${written(entry[name])}"`
}

const decided = ({ intent }: Kept, entries: ReadonlyArray<Body>): string | undefined => {
  const { payment } = intent
  const first = {
    command: intent.command === "transfer" ? undefined : intent.command,
    rule: intent.rule,
    about: intent.subject,
    episode: intent.episode,
    submittedBy: intent.submittedBy,
    from: payment.fromKey,
    to: payment.toKey,
    asset: payment.assetId,
    amount: payment.amount,
  }
  const { state, detail, fee, settledAt } = intent
  const last = isFinalIntent(state) ? { state, detail, fee, settledAt } : { state }
  return differs("the decision", first, entries[0]) ?? differs(`the state ${state}`, last, entries.at(-1))
}

const approved = ({ approvals }: Kept, entries: ReadonlyArray<Body>): string | undefined => {
  const given = approvals.map(({ operator, key, text, signature }) => ({ operator, key, text, signature }))
  const forged = approvals.find(({ key, text, signature }) => !isApproval(key, text, signature))
  if (forged !== undefined) return `the approval of ${forged.operator} is not signed with their key`
  return unpaired("an approval", given, entries)
}

type Entries = (kind: string, state?: string) => ReadonlyArray<Body>

const signed = ({ attempts, spends }: Kept, of: Entries): string | undefined => {
  const made = attempts.map((a) => ({
    k: a.k,
    chainId: a.chainId,
    party: a.party,
    nonce: a.nonce,
    anchorHeight: a.anchorHeight,
    anchorHash: a.anchorHash,
    inputData: Buffer.from(a.inputData).toString("hex"),
    signature: a.signature,
    transferId: a.transferId,
  }))
  const given = spends.map(({ k, digest, signature, amount }) => ({ k, digest, signature, amount }))
  const problem =
    unpaired("the signed command", made, of("attempt", "signed")) ?? unpaired("a signature", given, of("signature"))
  if (problem !== undefined) return problem
  for (const { k, state, hashBare, hashPrefixed } of attempts) {
    const last = of("attempt").findLast((body) => body["k"] === k)
    const moved = differs(`attempt ${k}`, { state }, last)
    if (moved !== undefined) return moved
    if (hashBare === undefined) continue
    const work = of("work").findLast((body) => body["k"] === k)
    const solved = differs(`the work of attempt ${k}`, { hashBare, hashPrefixed }, work)
    if (solved !== undefined) return solved
  }
  return undefined
}

const sent = ({ sends, evidence }: Kept, of: Entries): string | undefined => {
  const begun = sends.map(({ k, n, gateway, framing, txHash }) => ({ k, n, gateway, framing, txHash }))
  const ended = sends
    .filter((s) => s.endedAt !== null)
    .map(({ k, n, gateway, outcome, code, data }) => ({ k, n, gateway, outcome, code, data }))
  const seen = evidence.map(({ k, kind, gateway, height, detail }) => ({ k, kind, gateway, height, detail }))
  return (
    unpaired("a send that began", begun, of("attempt", "sending")) ??
    unpaired("an answer to a send", ended, of("send")) ??
    unpaired("evidence", seen, of("evidence"))
  )
}
