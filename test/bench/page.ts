import { cellsOf, columns, numberText, type Run } from "./Benchmark.ts"
import { benchmarks } from "./benchmarks.ts"

export const pageFile = "docs/performance.md"
export const chartFile = "docs/images/performance.svg"
export const baselineFile = "test/bench/baseline.json"

const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  rows.map((row) => `| ${row.join(" | ")} |`).join("\n")

const section = (run: Run, { name, about, limits }: (typeof benchmarks)[number]): ReadonlyArray<string> => {
  const figures = run.figures.filter((one) => one.name.split(" ")[0] === name)
  if (figures[0] === undefined) return []
  const rows = figures.map((one) => cellsOf(one).map((cell, i) => (i === 0 ? cell.slice(name.length + 1) : cell)))
  const head = [columns, ["---", "--:", "--:", "--:"]]
  return [`## ${name}`, `${figures[0].date}: ${about}.`, table([...head, ...rows]), `What limits it: ${limits}`]
}

/** docs/performance.md of a run. */
export const pageOf = (run: Run): string => {
  const parts = [
    "# Speed, measured",
    "How fast each part is beside other implementations of the same work, and what limits it.",
    `Measured with Node ${run.node.slice(1)} on ${run.machine}, on the day that each section names. To measure it yourself:`,
    "    npm run bench                       # everything, about a quarter of an hour\n    npm run bench -- pow submit         # these alone\n    npm run bench -- --against test/bench/baseline.json",
    "The last command names each figure that is more than a tenth worse than on this page, and exits with 1. " +
      "`--write` makes this page, its chart and that file from a run, and `--json` prints the figures.",
    "The variants of one task run in short slices in turn, so that other load on the machine affects all of " +
      "them equally. A figure is the median of its slices; the next column has the extremes. A ratio compares " +
      "slices of the same round. Processor time is that of the thread that does the work. This machine also did " +
      "other work: ratios hold, times by the clock are better on a quiet machine.",
    "![How many times the speed of each peer](images/performance.svg)",
    ...benchmarks.flatMap((one) => section(run, one)),
  ]
  return `${parts.join("\n\n")}\n`
}

const escapeXml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const rowPixels = 22
const [left, width] = [330, 420]

/** A chart of all ratios: a bar for each peer, on a scale that doubles; the line in the middle is the peer itself. */
export const chartOf = (run: Run): string => {
  const ratios = run.figures.filter(({ unit, name }) => unit === "times" && name.includes(" against "))
  const most = Math.max(1, ...ratios.map(({ value }) => Math.abs(Math.log2(value))))
  const middle = left + width / 2
  const bars = ratios.map((one, row) => {
    const y = 44 + row * rowPixels
    const length = (Math.log2(one.value) / most) * (width / 2)
    const x = Math.min(middle, middle + length)
    const color = one.value >= 1 ? "#2a7de1" : "#b0b7c3"
    return [
      `<text x="${left - 10}" y="${y + 13}" text-anchor="end">${escapeXml(one.name)}</text>`,
      `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.abs(length).toFixed(1)}" height="16" fill="${color}"/>`,
      `<text x="${left + width + 10}" y="${y + 13}">${numberText(one.value)}</text>`,
    ].join("\n")
  })
  const height = 54 + ratios.length * rowPixels
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 ${height}" font-family="sans-serif" font-size="13">
<title>Times the speed of each peer</title>
<rect width="820" height="${height}" fill="#fff"/>
<text x="${middle}" y="24" text-anchor="middle">times the speed of the peer (right: faster than the peer)</text>
${bars.join("\n")}
<line x1="${middle}" y1="34" x2="${middle}" y2="${height - 6}" stroke="#333"/>
</svg>
`
}
