import { entryHash } from "../../src/store/journal/Journal.ts"
import { provenOf } from "../../src/store/journal/proven.ts"
import { type EntryChain, type Receipt, statementOf } from "../../src/store/journal/receipt.ts"

type Entry = EntryChain["entries"][number]
type Link = EntryChain["links"][number]

/** A document with everything that can be computed from its chain computed anew: what a careful forger hands over. */
export const statedFrom = (journal: EntryChain): unknown => {
  const claimed = statementOf(journal.entries)
  const proven = provenOf(claimed, journal.entries)
  return JSON.parse(JSON.stringify({ receipt: 2, proven, claimed, journal }))
}

/** All hashes from the first changed entry on are made anew; links without their entry keep their hash. */
export const rechained = ({ entries, links }: EntryChain, change: (entry: Entry) => Entry | undefined): EntryChain => {
  let prev = links[0]!.prev
  const kept: Array<Entry> = []
  const chained = links.map((link): Link => {
    const entry = entries.find(({ seq }) => seq === link.seq)
    const changed = entry && change(entry)
    const row = changed && { ...changed, prev }
    const hash = row === undefined ? link.hash : entryHash(row)
    if (row !== undefined) kept.push({ ...row, hash })
    const next = { seq: link.seq, prev, hash }
    prev = hash
    return next
  })
  return { entries: kept, links: chained }
}

/**
 * The same, but the true hashes of all that was signed stay: a link whose entry is not shown binds nothing, so that a
 * forger can put one between what they wrote and what is true.
 */
export const stitched = (
  journal: EntryChain,
  upTo: number,
  change: (entry: Entry) => Entry | undefined,
): EntryChain => {
  const forged = rechained(journal, (entry) => (entry.seq <= upTo ? change(entry) : entry))
  const links = journal.links.map((link, i) => {
    if (link.seq > upTo + 1) return link
    const own = forged.links[i]!
    return link.seq === upTo + 1 ? { ...link, prev: forged.links[i - 1]?.hash ?? link.prev } : own
  })
  const entries = journal.entries.flatMap((entry) => {
    if (entry.seq > upTo + 1) return entry
    if (entry.seq === upTo + 1) return []
    return forged.entries.find(({ seq }) => seq === entry.seq) ?? []
  })
  return { entries, links }
}

/** An entry whose body says something else. */
export const saying =
  (kind: string, change: (body: Record<string, unknown>) => unknown) =>
  (entry: Entry): Entry =>
    entry.kind === kind ? { ...entry, body: JSON.stringify(change(JSON.parse(entry.body))) } : entry

export const copyOf = (receipt: Receipt): Receipt => JSON.parse(JSON.stringify(receipt))
