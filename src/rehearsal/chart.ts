import type { Drawing, HoldSpan, Line } from "./Drawing.ts"

const left = 92
const right = 20
const top = 84
const panel = 168
const plot = 112
const lane = 12

/** Colours that differ in lightness too; each reason has its own, and its name stands in the legend. */
const colours: Readonly<Record<string, string>> = {
  short: "#b3261e",
  limit: "#8c3fa0",
  quota: "#5b4fc4",
  policy: "#6d1b1b",
  cooldown: "#7fa7c9",
  stale: "#8a8a8a",
  outside_hours: "#c9b458",
  maintenance: "#c98a2b",
  too_small: "#a8c0a0",
  asset_status: "#3b7f7f",
}
const otherColour = "#555555"
const alertColour = "#e8710a"
const colourOf = (reason: string): string => colours[reason] ?? otherColour

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c)

/** "12,500" or "0.25": what fits beside an axis. */
const short = (value: number): string =>
  value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0 })

/** The step of an axis that gives at most five lines: 1, 2 or 5 times a power of ten. */
const stepOf = (range: number): number => {
  const raw = range / 4
  const power = 10 ** Math.floor(Math.log10(raw))
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? raw
}

interface Scale {
  readonly y: (value: number) => number
  readonly marks: ReadonlyArray<number>
}

const scaleOf = ({ lows, highs, least, most, floor }: Line, offset: number): Scale => {
  const known = [...lows, ...highs].filter((value) => !Number.isNaN(value))
  const all = [...(known.length === 0 ? [0] : known), ...[least, most, floor].filter((value) => value !== undefined)]
  const lowest = all.reduce((a, b) => Math.min(a, b))
  const highest = all.reduce((a, b) => Math.max(a, b))
  // Where all of it lies far above zero, the axis begins below it: its changes could not be seen otherwise.
  const isFar = lowest > highest * 0.6
  const pad = (highest - lowest) * 0.08
  const low = isFar ? lowest - pad : Math.min(0, lowest)
  const high = Math.max(highest + (isFar ? pad : (highest - low) * 0.06), low + 1e-9)
  const step = stepOf(high - low)
  const marks: Array<number> = []
  for (let mark = Math.ceil(low / step) * step; mark <= high; mark += step) marks.push(mark)
  return { y: (value) => offset + plot - ((value - low) / (high - low)) * plot, marks }
}

const fixed = (n: number): string => n.toFixed(1)

/** The area between the lowest and the highest balance of each column, which is a line where little happens. */
const pathOf = ({ lows, highs }: Line, { y }: Scale): string => {
  const places = lows.flatMap((low, i) => (Number.isNaN(low) ? [] : [i]))
  if (places.length === 0) return ""
  const there = places.map((i) => `${fixed(left + i)},${fixed(y(highs[i]!))}`)
  const back = places.toReversed().map((i) => `${fixed(left + i)},${fixed(y(lows[i]!))}`)
  const path = `M${[...there, ...back].join("L")}Z`
  return `<path d="${path}" fill="#1f5f8b" stroke="#1f5f8b" stroke-width="1.2" stroke-linejoin="round"/>`
}

const bandText = (line: Line, scale: Scale, width: number, offset: number): string => {
  const { least, most } = line
  if (least === undefined && most === undefined) return ""
  const high = most === undefined ? offset : Math.max(offset, scale.y(most))
  const low = least === undefined ? offset + plot : scale.y(least)
  const edge = (at: number | undefined) =>
    at === undefined
      ? ""
      : `<line x1="${left}" x2="${left + width}" y1="${fixed(scale.y(at))}" y2="${fixed(scale.y(at))}" stroke="#4d8f5b" stroke-dasharray="5 3"/>`
  const area = `<rect x="${left}" y="${fixed(high)}" width="${width}" height="${fixed(Math.max(0, low - high))}" fill="#e3f1e5"/>`
  return `${area}${edge(least)}${edge(most)}`
}

const holdText = ({ reason, from, until }: HoldSpan, y: number): string =>
  `<rect x="${fixed(left + from)}" y="${y}" width="${fixed(Math.max(1, until - from))}" height="${lane}" fill="${colourOf(reason)}"><title>${escape(reason)}</title></rect>`

/** Times in which people were told of a condition on the account. */
const alertText = ({ rule, from, until }: Line["alerts"][number], offset: number): string =>
  `<rect x="${fixed(left + from)}" y="${offset}" width="${fixed(Math.max(1, until - from))}" height="${plot}" fill="${alertColour}" fill-opacity="0.25"><title>${escape(rule)}</title></rect>`

/** Ticks of payments: down and red where the account paid, up and green where it got. */
const ticksOf = ({ paid, got }: Line, offset: number): string => {
  const tick = (x: number, colour: string, isUp: boolean) => {
    const y = offset + plot + 2
    const points = isUp ? `0,0 4,8 -4,8` : `0,8 4,0 -4,0`
    return `<polygon transform="translate(${fixed(left + x)},${y})" points="${points}" fill="${colour}"/>`
  }
  return [...paid.map((x) => tick(x, "#b3261e", false)), ...got.map((x) => tick(x, "#1b7a36", true))].join("")
}

const panelText = (line: Line, index: number, width: number): string => {
  const offset = top + index * panel + 18
  const scale = scaleOf(line, offset)
  const grid = scale.marks.map((mark) => {
    const y = fixed(scale.y(mark))
    return `<line x1="${left}" x2="${left + width}" y1="${y}" y2="${y}" stroke="#dddddd"/><text x="${left - 8}" y="${y}" dy="4" text-anchor="end">${short(mark)}</text>`
  })
  const { floor } = line
  const floorLine =
    floor === undefined
      ? ""
      : `<line x1="${left}" x2="${left + width}" y1="${fixed(scale.y(floor))}" y2="${fixed(scale.y(floor))}" stroke="#b3261e" stroke-dasharray="2 3"/><text x="${left + width - 4}" y="${fixed(scale.y(floor) - 3)}" text-anchor="end" fill="#b3261e">floor</text>`
  const holds = line.holds.map((span) => holdText(span, offset + plot + 13)).join("")
  const frame = `<rect x="${left}" y="${offset}" width="${width}" height="${plot}" fill="none" stroke="#999999"/>`
  const counts = [
    line.got.length > 0 ? `${line.got.length} received` : "",
    line.paid.length > 0 ? `${line.paid.length} paid` : "",
  ]
  const title = `<text x="${left}" y="${offset - 6}" font-weight="bold">${escape(line.name)}</text><text x="${left + width}" y="${offset - 6}" text-anchor="end" fill="#555555">${counts.filter((one) => one !== "").join(", ")}</text>`
  return [
    bandText(line, scale, width, offset),
    ...line.alerts.map((span) => alertText(span, offset)),
    ...grid,
    floorLine,
    pathOf(line, scale),
    frame,
    ticksOf(line, offset),
    holds,
    title,
  ].join("")
}

/** Times under the panels: five of them, as days where the span is long. */
const timesText = ({ from, to, columns }: Drawing, y: number): string => {
  const isLong = to - from > 3 * 86_400_000
  return [0, 1, 2, 3, 4]
    .map((i) => {
      const iso = new Date(from + ((to - from) * i) / 4).toISOString()
      const anchor = i === 0 ? "start" : i === 4 ? "end" : "middle"
      const x = left + (columns * i) / 4
      return `<text x="${x}" y="${y}" text-anchor="${anchor}">${isLong ? iso.slice(0, 10) : `${iso.slice(5, 16).replace("T", " ")}`}</text>`
    })
    .join("")
}

const legendText = ({ lines, columns }: Drawing, y: number): string => {
  const reasons = [...new Set(lines.flatMap(({ holds }) => holds.map(({ reason }) => reason)))]
  let x = left
  const items = [
    `<polygon transform="translate(${x + 5},${y - 9})" points="0,0 4,8 -4,8" fill="#1b7a36"/><text x="${x + 14}" y="${y}">received</text>`,
    `<polygon transform="translate(${x + 85},${y - 9})" points="0,8 4,0 -4,0" fill="#b3261e"/><text x="${x + 94}" y="${y}">paid</text>`,
    `<rect x="${x + 140}" y="${y - 10}" width="14" height="11" fill="#e3f1e5" stroke="#4d8f5b"/><text x="${x + 160}" y="${y}">band</text>`,
  ]
  x += 220
  if (lines.some(({ alerts }) => alerts.length > 0)) {
    const box = `<rect x="${x}" y="${y - 10}" width="14" height="11" fill="${alertColour}" fill-opacity="0.25"/>`
    items.push(`${box}<text x="${x + 18}" y="${y}">alert</text>`)
    x += 71
  }
  let row = y
  for (const reason of reasons) {
    const text = reason.replaceAll("_", " ")
    const width = 26 + text.length * 7
    if (x + width > left + columns) {
      x = left + 220
      row += 18
    }
    items.push(
      `<rect x="${x}" y="${row - 10}" width="14" height="11" fill="${colourOf(reason)}"/><text x="${x + 18}" y="${row}">${escape(text)}</text>`,
    )
    x += width + 10
  }
  return items.join("")
}

/** Balances with their bands, payments as ticks and holds as bars under them: one panel an account. */
export const chart = (drawing: Drawing, title: string): string => {
  const { lines, columns } = drawing
  const width = left + columns + right
  const bottom = top + lines.length * panel
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${bottom + 36}" viewBox="0 0 ${width} ${bottom + 36}" font-family="system-ui, sans-serif" font-size="12" fill="#222222">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="${left}" y="24" font-size="16" font-weight="bold">${escape(title)}</text>`,
    legendText(drawing, 46),
    ...lines.map((line, i) => panelText(line, i, columns)),
    timesText(drawing, bottom + 16),
    "</svg>",
  ]
  return `${parts.join("\n")}\n`
}
