import { type LintCase, sweep, topUp, wrong } from "./Lints.ts"

const here = " # here"
const low = (below: string, mark = ""): string => `  - name: low
    notify: { when: { balance: { party: hot, asset: TOK, below: "${below}" } } }${mark}`
const told = (when: string, mark = here): string => `  - name: told
    notify: { when: ${when} }${mark}`
const account = "party: hot, asset: TOK"

/** Conditions that cannot be meant, and those that the rules of the file never end. */
export const alerts: ReadonlyArray<LintCase> = [
  wrong(
    "a clear that holds before the alert is over",
    "clear",
    `${low("200")}\n    clear: { balance: { ${account}, above: "150" } }${here}`,
    ['above: "150"', 'above: "250"'],
    /rule low: clear is on the wrong side: hot\/TOK is above 150 holds whenever the alert is over, so it changes nothing/,
  ),
  wrong(
    "a clear that holds only while the alert fires",
    "clear",
    `${low("200")}\n    clear: { balance: { ${account}, below: "150" } }${here}`,
    ['below: "150"', 'above: "250"'],
    /rule low: clear is on the wrong side: hot\/TOK is below 150 never holds once hot\/TOK is below 200 is over/,
  ),
  wrong(
    "a clear to the same side",
    "clear",
    `${low("200")}\n    clear: { balance: { ${account}, below: "250" } }${here}`,
    ['{ balance: { party: hot, asset: TOK, below: "250" } }', '"250"'],
    /rule low: clear is on the wrong side: hot\/TOK is below 250 looks the way in which the alert fires/,
  ),
  wrong(
    "a clear of a change on the wrong side",
    "clear",
    `${told(`{ change: { ${account}, over: 1h, below: "-20%" } }`, "")}
    clear: { change: { ${account}, over: 1h, above: "-30%" } }${here}`,
    ['above: "-30%"', 'above: "-10%"'],
    /told: clear is on the wrong side: hot\/TOK changes in 60 min by above -30 %/,
  ),
  wrong(
    "a clear that some other part of the condition makes void",
    "clear",
    `${told(`{ any: [{ balance: { ${account}, above: "900" } }, { stale: { longerThan: 5m } }] }`, "")}
    clear: { balance: { ${account}, below: "950" } }${here}`,
    ['below: "950"', 'below: "850"'],
    /told: clear is on the wrong side: hot\/TOK is below 950/,
  ),
  wrong(
    "a condition that contradicts itself",
    "condition",
    told(`{ all: [{ balance: { ${account}, below: "10" } }, { balance: { ${account}, above: "20" } }] }`),
    ['above: "20"', 'above: "2"'],
    /rule told: hot\/TOK is below 10 and hot\/TOK is above 20 can never hold; .*any/,
  ),
  wrong(
    "a balance below nothing",
    "condition",
    told(`{ balance: { ${account}, below: 0 } }`),
    ["below: 0", "below: 1"],
    /rule told: hot\/TOK is below 0 can never hold/,
  ),
  wrong(
    "a condition that always holds",
    "condition",
    told(`{ any: [{ balance: { ${account}, below: "20" } }, { balance: { ${account}, above: "10" } }] }`),
    ['above: "10"', 'above: "30"'],
    /rule told: hot\/TOK is below 20 or hot\/TOK is above 10 always holds/,
  ),
  wrong(
    "a clear above what a top-up fills to",
    "clear",
    `${topUp("keep", "reserve", "hot", "300", "600")}\n${low("200")}\n    clear: "700"${here}`,
    ['"700"', '"600"'],
    /rule low is over at 700 TOK, and keep fills hot to 600 TOK: other money alone ends it; set it to 600 TOK or less/,
    { severity: "warning" },
  ),
  wrong(
    "an alert above what a top-up fills to",
    "clear",
    `${topUp("keep", "reserve", "hot", "300", "600")}\n${low("650", here)}`,
    ['below: "650"', 'below: "500"'],
    /rule low is over at 650 TOK, and keep fills hot to 600 TOK/,
    { severity: "warning" },
  ),
  wrong(
    "a clear under what a sweep leaves",
    "clear",
    `${sweep("skim", "hot", "cold", "600", "300")}\n${told(`{ balance: { ${account}, above: "700" } }`, "")}
    clear: "200"${here}`,
    ['clear: "200"', 'clear: "300"'],
    /rule told is over at 200 TOK, and skim leaves 300 TOK with hot/,
    { severity: "warning" },
  ),
]
