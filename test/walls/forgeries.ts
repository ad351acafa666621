import { entryHash, genesis, hashOfHashes } from "../../src/store/journal/Journal.ts"
import type { EntryChain, Receipt } from "../../src/store/journal/receipt.ts"
import { operatorKey } from "../support/Operators.ts"
import { copyOf, rechained, saying, statedFrom, stitched } from "./Forged.ts"

type Entry = EntryChain["entries"][number]
type Body = Record<string, unknown>

export const vault = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const seqOf = ({ journal }: Receipt, kind: string): number => journal.entries.find((e) => e.kind === kind)!.seq
const bodyAt = ({ journal }: Receipt, kind: string): Body =>
  JSON.parse(journal.entries.find((e) => e.kind === kind)!.body)

/** Gone from the entries; its place in the chain stays. */
const without = (kind: string) => (entry: Entry) => (entry.kind === kind ? undefined : entry)
/** The chain as it is, with some of its entries not shown. */
const hiding = ({ journal }: Receipt, kind: string): EntryChain => ({
  ...journal,
  entries: journal.entries.filter((entry) => entry.kind !== kind),
})

/** A journal out of nothing: what somebody writes who has seen the transaction on the ledger. */
const written = (
  receipt: Receipt,
  bodies: ReadonlyArray<readonly [kind: string, body: unknown]>,
  from = 0,
): EntryChain => {
  let last = { seq: from, hash: genesis.hash }
  const { subject, treasury, at } = receipt.journal.entries[0]!
  const entries = bodies.map(([kind, body]): Entry => {
    const row = { seq: last.seq + 1, at, treasury, kind, subject, body: JSON.stringify(body), prev: last.hash }
    last = { seq: row.seq, hash: entryHash(row) }
    return { ...row, hash: last.hash }
  })
  return { entries, links: entries.map(({ seq, prev, hash }) => ({ seq, prev, hash })) }
}

const big = "600000000000"
const other = "f".repeat(64)

/** What is tried, and the document that is handed over. */
export type Forgery = readonly [title: string, document: unknown]

/** From what the ledger shows to everybody: bytes, signature and key of one transfer of 60. */
export const fromPublicData = (paid: Receipt): ReadonlyArray<Forgery> => {
  const [intent, attempt, signature] = (["intent", "attempt", "signature"] as const).map((kind) => bodyAt(paid, kind))
  const named = { ...intent, fromName: "Acme Treasury", toName: "Red Cross", symbol: "USDT" }
  const done = { ...intent, state: "confirmed", detail: "confirmed on the ledger", fee: "0" }
  const seen = { k: 1, kind: "executed", gateway: "only", height: "9", detail: "" }
  const permit = bodyAt(paid, "permit")
  const config = bodyAt(paid, "config")
  const tale = (first: unknown, ...more: ReadonlyArray<readonly [string, unknown]>) =>
    statedFrom(
      written(paid, [
        ["intent", first],
        ...more,
        ["signature", signature],
        ["attempt", attempt],
        ["evidence", seen],
        ["attempt", { k: 1, state: "confirmed" }],
        ["intent", done],
      ]),
    )
  const acme = { ...config, fromName: "Acme Treasury", toName: "Red Cross", decimals: 2 }
  const names: Forgery = ["names: Acme Treasury pays the Red Cross", tale(named)]
  return [
    names,
    ["the amount: 600,000", tale({ ...named, amount: big })],
    ["the decimals: two instead of six", tale({ ...named, decimals: 2 })],
    ["the decimals: none", tale({ ...named, decimals: 0 })],
    ["the receiver", tale({ ...named, to: other, toName: "Red Cross" })],
    ["the asset", tale({ ...named, asset: other })],
    ["the payer", tale({ ...named, from: other })],
    ["a permit of its own", tale(named, ["config", acme], ["permit", permit])],
    ["a permit of 600,000", tale({ ...named, amount: big }, ["config", acme], ["permit", { ...permit, amount: big }])],
    [
      "a permit that names what was written before it",
      statedFrom(
        written(paid, [
          ["config", acme],
          ["permit", { ...permit, before: hashOfHashes([]) }],
          ["signature", signature],
          ["attempt", attempt],
        ]),
      ),
    ],
    ["a decision of another rule", tale(named, ["decision", { rule: "x", sentence: "by the board", line: 9 }])],
    ["nothing but a signed command", statedFrom(written(paid, [["attempt", attempt]]))],
    ["one transfer shown as two", tale(named, ["signature", signature], ["attempt", { ...attempt, k: 2 }])],
    ...[-1, 0, 1.5, "1", null].map(
      (k): Forgery => [
        `an attempt with the number ${JSON.stringify(k)}`,
        statedFrom(
          written(paid, [
            ["intent", named],
            ["signature", signature],
            ["attempt", { ...attempt, k }],
          ]),
        ),
      ],
    ),
    [
      "entries of a journal that begins at the same number",
      { ...paid, journal: written(paid, [["attempt", attempt]]) },
    ],
  ]
}

/** From a true receipt, by somebody who can compute every hash. */
export const fromReceipt = (paid: Receipt, second: Receipt): ReadonlyArray<Forgery> => {
  const { journal } = paid
  const permitAt = seqOf(paid, "permit")
  const anew = (kind: string, change: (body: Body) => unknown) => statedFrom(rechained(journal, saying(kind, change)))
  const put = (kind: string, more: Body) => anew(kind, (body) => ({ ...body, ...more }))
  const configAt = seqOf(paid, "config")
  const sewn = (kind: string, more: Body, seam = configAt) =>
    statedFrom(
      stitched(
        journal,
        seam - 1,
        saying(kind, (body) => ({ ...body, ...more })),
      ),
    )
  /** The true entry of the configuration is the seam, and another one stands in the place of the decision. */
  const renamed = (more: Body) => {
    const body = JSON.stringify({ ...bodyAt(paid, "config"), ...more })
    return statedFrom(
      stitched(journal, configAt - 1, (e) => (e.kind === "decision" ? { ...e, kind: "config", body } : e)),
    )
  }
  const unshown = (kind: string) => statedFrom(hiding(paid, kind))
  const stated = (path: string, value: unknown): unknown => {
    const copy = copyOf(paid)
    const names = path.split(".")
    const holder = names.slice(0, -1).reduce<object>((at, name) => Reflect.get(at, name), copy)
    Reflect.set(holder, names.at(-1)!, value)
    return copy
  }
  const chained = (change: (chain: EntryChain) => Partial<EntryChain>): unknown => ({
    ...copyOf(paid),
    journal: { ...journal, ...change(journal) },
  })
  const moved = (kind: string, by: number) =>
    statedFrom(rechained(journal, (entry) => (entry.kind === kind ? { ...entry, at: entry.at + by } : entry)))
  const swapped = (a: string, b: string) => {
    const [one, two] = [a, b].map((kind) => journal.entries.find((e) => e.kind === kind)!)
    const as = (entry: Entry, like: Entry): Entry => ({ ...entry, kind: like.kind, body: like.body })
    return statedFrom(
      rechained(journal, (e) => (e.seq === one!.seq ? as(e, two!) : e.seq === two!.seq ? as(e, one!) : e)),
    )
  }
  const foreign = second.journal.entries.find(({ kind }) => kind === "permit")!
  const key = operatorKey("eve").publicKey
  return [
    ["stated: the amount", stated("claimed.payment.units", big)],
    ["stated as proven: the amount", stated("proven.signed.0.units", big)],
    ["stated as proven: the receiver", stated("proven.signed.0.to", other)],
    ["stated as proven: a claim", stated("proven.state", "confirmed")],
    ["stated as recorded: a name", stated("proven.recorded.0.names.to", "Red Cross")],
    ["stated as recorded: decimals", stated("proven.recorded.0.names.decimals", 2)],
    ["stated as recorded: an operator", stated("proven.recorded.0.approval.by", ["chloe"])],
    ["stated as recorded: another line", stated("proven.recorded.0.line", 2)],
    ["the configuration's name, all hashes anew", put("config", { toName: "Red Cross" })],
    ["the configuration's decimals, all hashes anew", put("config", { decimals: 2 })],
    ["the permit's line, all hashes anew", put("permit", { line: 7 })],
    ["the permit's approvals, all hashes anew", put("permit", { approval: undefined })],
    ["the permit's operators, all hashes anew", put("permit", { approval: { group: "desk", need: 1, by: ["ana"] } })],
    ["the permit's policy, all hashes anew", put("permit", { policy: "00000000", policyDigest: other })],
    ["the permit's attempt, all hashes anew", put("permit", { k: 2 })],
    ["the decision's sentence, all hashes anew", put("decision", { sentence: "by the board" })],
    ["sewn to the true chain: the configuration's name", sewn("config", { toName: "Red Cross" }, permitAt)],
    ["sewn to the true chain: the configuration's decimals", sewn("config", { decimals: 2 }, permitAt)],
    ["sewn to the true chain: a configuration of its own, other names", renamed({ toName: "Red Cross" })],
    ["sewn to the true chain: a configuration of its own, other decimals", renamed({ decimals: 0 })],
    ["sewn to the true chain: the rule", sewn("intent", { rule: "charity" })],
    ["sewn to the true chain: an operator", sewn("approval", { operator: "chloe" })],
    ["sewn to the true chain: the decision", sewn("decision", { sentence: "by the board" })],
    ["sewn to the true chain: an entry less", statedFrom(stitched(journal, configAt - 1, without("decision")))],
    ["the configuration's entry left out", unshown("config")],
    ["the approvals left out", unshown("approval")],
    ["the permit left out", unshown("permit")],
    ["the signature left out", unshown("signature")],
    ["the bytes left out", unshown("attempt")],
    ["the decision left out", unshown("decision")],
    ["the configuration after the permit", swapped("config", "permit")],
    ["the permit after the signature", swapped("permit", "signature")],
    ["an approval after the permit", swapped("approval", "permit")],
    ["the permit of another payment", put("permit", JSON.parse(foreign.body))],
    [
      "the permit of another payment, in its place",
      statedFrom({
        ...journal,
        entries: journal.entries.map((entry) => (entry.seq === permitAt ? { ...foreign, seq: permitAt } : entry)),
      }),
    ],
    ["the bytes of another payment", put("attempt", { inputData: bodyAt(second, "attempt")["inputData"] })],
    ["bytes and signature of another payment", put("attempt", bodyAt(second, "attempt"))],
    ["the signature of another payment", put("attempt", { signature: bodyAt(second, "attempt")["signature"] })],
    ["no signature over the bytes", put("attempt", { signature: "0".repeat(128) })],
    ["a signature that is none", put("attempt", { signature: "" })],
    ["bytes on another chain", put("attempt", { chainId: "mainnet-1" })],
    ["another key than the payer's", put("attempt", { party: key })],
    ["a transfer of another id", put("attempt", { transferId: other })],
    [
      "the approvals of another payment",
      anew("approval", (body) => ({ ...body, signature: bodyAt(second, "approval")["signature"] })),
    ],
    ["an operator under another key", put("approval", { key })],
    ["an operator under another name", put("approval", { operator: "chloe" })],
    ["an approval of the one who proposed it", put("approval", { operator: "zoe" })],
    ["the journal from a later time", moved("decision", 86_400_000)],
    ["the journal from an earlier time", moved("config", -86_400_000)],
    ["the other attempt", put("attempt", { k: 2 })],
    ["a chain without its beginning", chained(({ links }) => ({ links: links.slice(1) }))],
    ["a chain without its end", chained(({ links }) => ({ links: links.slice(0, -1) }))],
    ["a chain with a gap", chained(({ links }) => ({ links: links.toSpliced(3, 1) }))],
    ["entries in another order", chained(({ entries }) => ({ entries: entries.toReversed() }))],
    ["an entry twice", chained(({ entries }) => ({ entries: [...entries, entries[0]!] }))],
    ["version 1 of it", { ...copyOf(paid), receipt: 1 }],
    ["version 3 of it", { ...copyOf(paid), receipt: 3 }],
    ["no version", { ...copyOf(paid), receipt: undefined }],
    ["another treasury's name", statedFrom(rechained(journal, (entry) => ({ ...entry, treasury: "Acme Treasury" })))],
    ["another end, sewn on", put("intent", { state: "confirmed", settledAt: 1 })],
    ["a person's word about the payment", put("intent", { submittedBy: "the board" })],
  ]
}

/** Between installations. */
export const fromElsewhere = (paid: Receipt, twin: Receipt, withdrawn: Receipt): ReadonlyArray<Forgery> => {
  const withdraw = (kind: string, more: Body) =>
    statedFrom(
      rechained(
        withdrawn.journal,
        saying(kind, (body) => ({ ...body, ...more })),
      ),
    )
  return [
    ["the journal of another installation", { ...copyOf(paid), journal: twin.journal }],
    [
      "the permit of another installation",
      statedFrom(
        rechained(
          paid.journal,
          saying("permit", () => bodyAt(twin, "permit")),
        ),
      ),
    ],
    ["a withdrawal with another permit", withdraw("permit", { line: 9 })],
    ["a withdrawal of other decimals", withdraw("config", { decimals: 2 })],
    ["a withdrawal to another address", withdraw("intent", { to: vault.toLowerCase() })],
    ["a withdrawal as a transfer", withdraw("intent", { command: undefined })],
    [
      "a withdrawal whose permit is proven",
      { ...copyOf(withdrawn), proven: { ...withdrawn.proven, recorded: paid.proven.recorded } },
    ],
  ]
}
