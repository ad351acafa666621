import type { LintKind } from "../../src/rules/lint/Finding.ts"

const file = (rules: string, policy: string, kept = "0"): string => `version: 1
name: lint
mode: live
network: { chainId: lint-1, gateways: { main: "https://a.gateway.example" } }
assets:
  TOK: { id: "cd1634ef55b13679e59bae595cc026417dc9010738ea0a20ae3b694b54fa82fa", decimals: 2 }
parties:
  reserve: { publicKey: "${"1".repeat(64)}", signer: { sandbox: reserve }, floor: { TOK: "100" }, transfersKept: ${kept} } # kept
  hot:     { publicKey: "${"2".repeat(64)}", signer: { sandbox: hot } }
  warm:    { publicKey: "${"3".repeat(64)}", signer: { sandbox: warm } }
  vault:   { publicKey: "${"4".repeat(64)}", signer: { sandbox: vault } }
  cold:    { publicKey: "${"5".repeat(64)}" }
  ops:     { publicKey: "${"6".repeat(64)}" }
rules:
${rules}
policy:
  allow:
${policy}
`

const ample = `    - from: [reserve, hot, warm, vault]
      to: [reserve, hot, warm, vault, cold, ops]
      asset: TOK
      perTransfer: "100_000"
      per24h: "1_000_000"
      transfersPer24h: 20`

/** A file that is refused on the line that ends in "# here", and the one change that mends it. */
interface LintCase {
  readonly title: string
  readonly lint: LintKind
  readonly severity: "error" | "warning"
  readonly text: string
  readonly mend: readonly [from: string, to: string]
  readonly says: RegExp
}

export const wrong = (
  title: string,
  lint: LintKind,
  rules: string,
  mend: LintCase["mend"],
  says: RegExp,
  { policy = ample, kept, severity = "error" }: { policy?: string; kept?: string; severity?: "error" | "warning" } = {},
): LintCase => ({ title, lint, severity, text: file(rules, policy, kept), mend, says })

const line = (from: string, to: string, perTransfer: string, per24h: string, transfers: number): string =>
  `    - { from: [${from}], to: [${to}], asset: TOK, perTransfer: "${perTransfer}", per24h: "${per24h}", transfersPer24h: ${transfers} }`

export const topUp = (
  name: string,
  from: string,
  party: string,
  below: string,
  target: string,
  mark = "",
): string => `  - name: ${name}
    topUp:
      from: ${from}
      levels:
        - { party: ${party}, asset: TOK, below: "${below}", target: "${target}" }${mark}
    cooldown: 6h`
export const sweep = (name: string, from: string, to: string, above: string, target: string, mark = ""): string =>
  `  - name: ${name}
    sweep: { from: ${from}, to: ${to}, asset: TOK, above: "${above}", target: "${target}" }${mark}
    cooldown: 6h`
const split = (above: string, target: string, to: string, mark = ""): string => `  - name: share
    split: { from: vault, asset: TOK, above: "${above}", target: "${target}", to: { ${to} } }${mark}
    cooldown: 6h`
const payout = (amount: string, cron: string, [first, second] = ["", ""]): string => `  - name: fee
    payout: { from: reserve, to: ops, asset: TOK, amount: "${amount}" }${first}
    schedule:
      cron: "${cron}"${second}
      location: UTC`
const here = " # here"

const cycles: ReadonlyArray<LintCase> = [
  wrong(
    "two sweeps into each other",
    "cycle",
    `${sweep("up", "hot", "vault", "100", "50")}\n${sweep("down", "vault", "hot", "150", "20", here)}`,
    ["to: hot,", "to: cold,"],
    /up pays .+ TOK hot -> vault, down pays .+ TOK vault -> hot, and so on/,
  ),
  wrong(
    "three sweeps in a ring",
    "cycle",
    [sweep("a", "hot", "warm", "100", "10"), sweep("b", "warm", "vault", "200", "20")].join("\n") +
      `\n${sweep("c", "vault", "hot", "300", "30", here)}`,
    ["to: hot,", "to: cold,"],
    /a pays .+ b pays .+ c pays .+ vault -> hot/,
  ),
  wrong(
    "a funder that is filled by whom it funds",
    "cycle",
    `${topUp("keep-hot", "warm", "hot", "500", "900")}\n${topUp("keep-warm", "hot", "warm", "500", "900", here)}`,
    ["from: hot\n", "from: vault\n"],
    /keep-hot pays .+ warm -> hot|keep-warm pays .+ hot -> warm/,
  ),
  wrong(
    "a chain of top-ups that bites its tail",
    "cycle",
    [topUp("one", "vault", "hot", "500", "900"), topUp("two", "hot", "warm", "500", "900")].join("\n") +
      `\n${topUp("three", "warm", "vault", "500", "900", here)}`,
    ["from: warm\n", "from: reserve\n"],
    /trigger each other forever/,
  ),
  wrong(
    "a rebalance against a top-up",
    "cycle",
    `${topUp("keep-hot", "vault", "hot", "300", "600")}
  - name: even
    rebalance:
      asset: TOK
      weights: { vault: 95, hot: 5 }
      tolerance: 1%${here}`,
    ["vault: 95, hot: 5", "warm: 95, reserve: 5"],
    /keep-hot pays .+ vault -> hot, even pays .+ hot -> vault/,
  ),
  wrong(
    "a split that feeds its source",
    "cycle",
    `${split("100", "0", "hot: 1, warm: 1")}\n${sweep("back", "[hot, warm]", "vault", "40", "0", here)}`,
    ["to: vault,", "to: cold,"],
    /share pays .+ vault -> hot.+back pays/,
  ),
  wrong(
    "a tolerance within the fee",
    "cycle",
    `  - name: even
    rebalance:
      asset: TOK
      weights: { hot: 1, warm: 1 }
      tolerance: 0.2%${here}`,
    ["tolerance: 0.2%", "tolerance: 1%"],
    /tolerates 0.2 %, no more than a fee may take/,
  ),
]

const limits: ReadonlyArray<LintCase> = [
  wrong(
    "a top-up that no line allows",
    "denied",
    topUp("keep", "reserve", "hot", "100", "500", here),
    ["to: [warm]", "to: [hot]"],
    /no policy line allows keep to pay TOK reserve -> hot/,
    { policy: line("reserve", "warm", "500", "5_000", 10) },
  ),
  wrong(
    "a split with a receiver that no line allows",
    "denied",
    `  - name: share
    split:
      from: vault
      asset: TOK
      above: "100"
      to:
        hot: 1
        ops: 1${here}`,
    ["to: [hot]", "to: [hot, ops]"],
    /no policy line allows share to pay TOK vault -> ops/,
    { policy: line("vault", "hot", "500", "5_000", 10) },
  ),
  wrong(
    "a rebalance of which one way is not allowed",
    "denied",
    `  - name: even
    rebalance:
      asset: TOK
      weights: { hot: 1, warm: 1 }${here}
      tolerance: 5%`,
    ["from: [hot]", "from: [hot, warm]"],
    /no policy line allows even to pay TOK warm -> hot/,
    { policy: line("hot", "warm, hot", "500", "5_000", 10) },
  ),
  wrong(
    "a line of no transfers",
    "denied",
    topUp("keep", "reserve", "hot", "100", "500", here),
    ["transfersPer24h: 0", "transfersPer24h: 1"],
    /policy line 1 allows keep no transfer of TOK reserve -> hot; raise its transfersPer24h/,
    { policy: line("reserve", "hot", "500", "5_000", 0) },
  ),
  wrong(
    "a target above one transfer",
    "unreachable",
    topUp("keep", "reserve", "hot", "100", "500", here),
    ['perTransfer: "450"', 'perTransfer: "500"'],
    /an empty account needs 500 TOK, above the 450 TOK per transfer of policy line 1/,
    { policy: line("reserve", "hot", "450", "5_000", 10) },
  ),
  wrong(
    "a target above one transfer, paid in parts",
    "unreachable",
    `${topUp("keep", "reserve", "hot", "100", "500", here)}\n    onShort: partial`,
    ['perTransfer: "401"', 'perTransfer: "500"'],
    /an empty account needs 500 TOK, above the 401 .* line 1: it is paid in parts;/,
    { policy: line("reserve", "hot", "401", "5_000", 10), severity: "warning" },
  ),
  wrong(
    "a sweep whose least is above one transfer",
    "unreachable",
    `${sweep("skim", "hot", "cold", "900", "600", here)}\n    min: { TOK: "150" }`,
    ['TOK: "150" }', 'TOK: "100" }'],
    /the minimum of 150 TOK is above the 100 TOK per transfer of policy line 1, so it is never paid/,
    { policy: line("hot", "cold", "100", "5_000", 10) },
  ),
  wrong(
    "a split above a day",
    "unreachable",
    `  - name: share
    split:
      from: vault
      asset: TOK
      above: "1_000"${here}
      to: { hot: 1, ops: 1 }`,
    ['per24h: "600"', 'per24h: "1_000"'],
    /share pays 998 TOK at least at once, above the 600 TOK per 24 h of policy line 1/,
    { policy: line("vault", "hot, ops", "500", "600", 10) },
  ),
  wrong(
    "a payout above one transfer",
    "unreachable",
    payout("500", "0 9 1 * *", [here, ""]),
    ['amount: "500"', 'amount: "400"'],
    /fee, reserve -> ops: 500 TOK is above the 400 TOK per transfer/,
    { policy: line("reserve", "ops", "400", "5_000", 10) },
  ),
  wrong(
    "a payout on a day that five months lack",
    "skipped_months",
    payout("10", "0 9 31 * *", ["", here]),
    ['"0 9 31 * *"', '"0 9 last * *"'],
    /fee is not paid in each month: "0 9 31 \* \*" lacks a day in February, April, June, September, November; write last/,
    { severity: "warning" },
  ),
  wrong(
    "a payout on a day that February has in leap years",
    "skipped_months",
    payout("10", "0 9 29 1-3 *", ["", here]),
    ['"0 9 29 1-3 *"', '"0 9 15,last 1-3 *"'],
    /lacks a day in February; write last/,
    { severity: "warning" },
  ),
  wrong(
    "a payout on each day that fits the day or the weekday",
    "either_day",
    payout("10", "0 9 22-28 * 5", ["", here]),
    ['"0 9 22-28 * 5"', '"0 9 * * 5"'],
    /fee is paid on each day that fits the day or the weekday of "0 9 22-28 \* 5", 124 days in 2025, not .*; write \* for one of/,
    { severity: "warning" },
  ),
  wrong(
    "an alert that compares with a balance older than what is kept",
    "kept",
    `  - name: drain
    notify: { when: { change: { party: hot, asset: TOK, over: 7d, below: "-10%" } } }`,
    ["keep: 6d", "keep: 7d"],
    /drain compares with the balance of 7 d before, and rows are kept for 6 d: .*; keep them for 7 d or longer/,
    { policy: `${ample}\nstore: { keep: 6d } # here`, severity: "warning" },
  ),
]

const many = Array.from({ length: 25 }, (_, i) => `p${i}`)

const funds: ReadonlyArray<LintCase> = [
  wrong(
    "a sweep under its payer's floor",
    "floor",
    sweep("skim", "reserve", "cold", "600", "90", here),
    ['target: "90"', 'target: "100"'],
    /skim leaves 90 TOK with reserve, whose floor is 100 TOK/,
  ),
  wrong(
    "a split under the rule's own floor",
    "floor",
    `${split("600", "90", "hot: 1, ops: 1", here)}\n    floor: { TOK: "200" }`,
    ['floor: { TOK: "200" }', 'floor: { TOK: "80" }'],
    /share leaves 90 TOK with vault, whose floor is 200 TOK/,
  ),
  wrong(
    "a funder that is emptied before it can pay",
    "starved",
    `${topUp("keep", "reserve", "hot", "100", "500", here)}\n${sweep("skim", "reserve", "cold", "450", "300")}`,
    ['above: "450"', 'above: "502"'],
    /keep takes 400\.82 TOK at least.+from reserve, which skim empties above 450 TOK and keeps 100 TOK/,
  ),
  wrong(
    "a payer that is emptied before it can pay out",
    "starved",
    `${payout("500", "0 9 1 * *", [here, ""])}\n${sweep("skim", "reserve", "cold", "450", "300")}`,
    ['above: "450"', 'above: "602"'],
    /fee takes 501 TOK at least, fee included, from reserve/,
  ),
  wrong(
    "more receivers at once than the network lets a key pay",
    "split_size",
    `  - name: share
    split:
      from: vault
      asset: TOK
      above: "1_000"
      to: { hot: 1, ops: 1 }${here}`,
    [many.map((name) => `, ${name}: 1`).join(""), ""],
    /share makes 27 transfers at once; the network lets a key send 20 in 24 h; .* in two steps, unless its parameters/,
    { severity: "warning" },
  ),
  wrong(
    "more receivers at once than the line allows",
    "split_size",
    `  - name: share
    split:
      from: vault
      asset: TOK
      above: "100"
      to: { hot: 1, ops: 1 }${here}`,
    ["transfersPer24h: 1 ", "transfersPer24h: 2 "],
    /share makes 2 transfers at once; policy line 1 allows 1 in 24 h/,
    { policy: line("vault", "hot, ops", "500", "600", 1) },
  ),
  wrong(
    "a payer that keeps every transfer for people",
    "quota",
    topUp("keep", "reserve", "hot", "100", "500"),
    ["transfersKept: 20", "transfersKept: 10"],
    /reserve keeps 20 transfers for people, and the network lets a key send 20 in 24 h: keep can make none/,
    { kept: "20", severity: "warning" },
  ),
  wrong(
    "a split of a payer that keeps every transfer for people, whatever the number of its receivers",
    "quota",
    `  - name: share
    split:
      from: reserve
      asset: TOK
      above: "1_000"
      target: "100"
      to: { hot: 1, ops: 1 }`,
    ["transfersKept: 20", "transfersKept: 0"],
    /reserve keeps 20 transfers for people, and the network lets a key send 20 in 24 h: share can make none/,
    { kept: "20", severity: "warning" },
  ),
  wrong(
    "more transfers than the network's quota",
    "quota",
    topUp("keep", "reserve", "hot", "100", "500"),
    ["cooldown: 6h", "cooldown: 12h"],
    /rules and policy permit reserve 5 transfers in 24 h; the network lets a key send 20 and 17 are kept/,
    { kept: "17", severity: "warning" },
  ),
  wrong(
    "payouts planned more often than the network lets a key send",
    "quota",
    payout("10", "*/30 * * * *"),
    ["*/30 * * * *", "0 */2 * * *"],
    /fee is planned 48 times in 24 h; the network lets reserve send 20; plan 20 times at most, unless its parameters permit more/,
    { policy: line("reserve", "ops", "100", "10_000", 60), severity: "warning" },
  ),
  wrong(
    "a payout planned more often than its line allows transfers",
    "dense",
    payout("10", "0 * * * *", ["", here]),
    ["0 * * * *", "0 */2 * * *"],
    /fee is planned 24 times in 24 h, 240 TOK in all; policy line 1 allows 20 transfers and 10,000 TOK; plan less, or raise/,
    { policy: line("reserve", "ops", "100", "10_000", 20), severity: "warning" },
  ),
  wrong(
    "payouts that together pay more than their line allows",
    "dense",
    `${payout("100", "0 6-11 * * *", ["", here])}\n${payout("200", "30 6-8 * * *").replace("fee", "bonus")}`,
    ['amount: "200"', 'amount: "100"'],
    /fee and bonus are planned 9 times in 24 h, 1,200 TOK in all; policy line 1 allows 10 transfers and 1,000 TOK/,
    { policy: line("reserve", "ops", "200", "1_000", 10), severity: "warning" },
  ),
  wrong(
    "payouts that together leave too little for people",
    "quota",
    `${payout("10", "0 6-10 * * *")}\n${payout("20", "30 8-12 * * *").replace("fee", "bonus")}`,
    ["30 8-12 * * *", "30 8-11 * * *"],
    /fee and bonus are planned 10 times in 24 h; the network lets reserve send 20 and 11 are kept for people/,
    { kept: "11", severity: "warning" },
  ),
]

/** A quota is a matter of the party; the ring of many names its parties first. */
const placed = (each: LintCase): LintCase => {
  if (each.lint === "quota") return { ...each, text: each.text.replace("# kept", "# here") }
  if (each.mend[1] !== "" || each.lint !== "split_size") return each
  const parties = many.map((name, i) => `  ${name}: { publicKey: "${String(i + 10).padStart(64, "0")}" }\n`).join("")
  const text = each.text.replace("rules:\n", `${parties}rules:\n`).replace("ops: 1 }", `ops: 1${each.mend[0]} }`)
  return { ...each, text: text.replace("cold, ops]", `cold, ops, ${many.join(", ")}]`) }
}

export const lintCases: ReadonlyArray<LintCase> = [...cycles, ...limits, ...funds].map(placed)
