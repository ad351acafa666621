import type { Drawing, HoldSpan, Line } from "./Drawing.ts"

const left = 92
const plotHeight = 112
const lane = 12
/** Ticks and holds of one set of rules. */
const strip = 24

/** Height of a panel with this many sets of rules. */
const panelHeight = (sides: number): number => plotHeight + 32 + sides * strip

/** Labels of the first and the second set of rules in the drawing. */
const letters = ["A", "B"] as const

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

const scaleOf = (lines: ReadonlyArray<Line>, offset: number): Scale => {
  const known = lines.flatMap(({ lows, highs }) => [...lows, ...highs]).filter((value) => !Number.isNaN(value))
  const levels = lines.flatMap(({ least, most, floor }) => [least, most, floor].filter((value) => value !== undefined))
  const all = [...(known.length === 0 ? [0] : known), ...levels]
  const lowest = all.reduce((a, b) => Math.min(a, b))
  const highest = all.reduce((a, b) => Math.max(a, b))
  // A balance far above zero gets an axis that begins near it, since its changes could not be seen otherwise; but none
  // over so small a range that floating point cannot divide it.
  const isFar = lowest > highest * 0.6 && highest - lowest > highest * 1e-6
  const pad = (highest - lowest) * 0.08
  const low = isFar ? lowest - pad : Math.min(0, lowest)
  const high = Math.max(highest + (isFar ? pad : (highest - low) * 0.06), low + 1e-9)
  const step = stepOf(high - low)
  const marks: Array<number> = []
  for (let mark = Math.ceil(low / step) * step; mark <= high; mark += step) marks.push(mark)
  return { y: (value) => offset + plotHeight - ((value - low) / (high - low)) * plotHeight, marks }
}

const fixed = (n: number): string => n.toFixed(1)

/** Columns in which a balance is known, but for those inside a level stretch. */
const places = ({ lows, highs }: Line): ReadonlyArray<number> => {
  const isLevel = (i: number) =>
    [i - 1, i + 1].every((beside) => lows[beside] === lows[i] && highs[beside] === highs[i]) && lows[i] === highs[i]
  return lows.flatMap((low, i) => (Number.isNaN(low) || isLevel(i) ? [] : [i]))
}

/** The area between the lowest and the highest balance of each column, which is a line where little happens. */
const areaOf = (line: Line, { y }: Scale): string => {
  const known = places(line)
  if (known.length === 0) return ""
  const there = known.map((i) => `${fixed(left + i)},${fixed(y(line.highs[i]!))}`)
  const back = known.toReversed().map((i) => `${fixed(left + i)},${fixed(y(line.lows[i]!))}`)
  const path = `M${[...there, ...back].join("L")}Z`
  return `<path d="${path}" class="first first-line" stroke-width="1.2" stroke-linejoin="round"/>`
}

/** The second set of rules: a dashed line over the area of the first, so that both are seen where they are the same. */
const dashesOf = (line: Line, { y }: Scale): string => {
  const points = places(line).flatMap((i) => {
    const [high, low] = [fixed(y(line.highs[i]!)), fixed(y(line.lows[i]!))]
    const x = fixed(left + i)
    return high === low ? [`${x},${high}`] : [`${x},${high}`, `${x},${low}`]
  })
  if (points.length === 0) return ""
  const dashes = `stroke-width="1.6" stroke-dasharray="7 4" stroke-linejoin="round"`
  return `<path d="M${points.join("L")}" fill="none" class="second-line" ${dashes}/>`
}

const levelLine = (at: number, width: number, attributes: string): string =>
  `<line x1="${left}" x2="${left + width}" y1="${fixed(at)}" y2="${fixed(at)}" ${attributes}/>`

const bandText = ({ least, most }: Line, scale: Scale, width: number, offset: number): string => {
  if (least === undefined && most === undefined) return ""
  const high = most === undefined ? offset : Math.max(offset, scale.y(most))
  const low = least === undefined ? offset + plotHeight : scale.y(least)
  const area = `<rect x="${left}" y="${fixed(high)}" width="${width}" height="${fixed(Math.max(0, low - high))}" class="band"/>`
  const edges = [least, most].flatMap((at) =>
    at === undefined ? [] : [levelLine(scale.y(at), width, 'class="edge" stroke-dasharray="5 3"')],
  )
  return [area, ...edges].join("")
}

/** Ends of the second band that the first does not have. */
const otherEnds = (first: Line | undefined, second: Line): ReadonlyArray<number> =>
  (["least", "most"] as const).flatMap((end) => (second[end] === first?.[end] ? [] : (second[end] ?? [])))

const otherBand = (first: Line | undefined, second: Line, { y }: Scale, width: number): string =>
  otherEnds(first, second)
    .map((at) => levelLine(y(at), width, 'class="second-line" stroke-dasharray="1 4"'))
    .join("")

const holdText = ({ reason, from, until }: HoldSpan, y: number): string =>
  `<rect x="${fixed(left + from)}" y="${y}" width="${fixed(Math.max(1, until - from))}" height="${lane}" class="${reasonClass(reason)}"><title>${escape(reason)}</title></rect>`

/** Times in which an alert on the account fired: an area for the first set, an outline for the second. */
const alertText = ({ rule, from, until }: Line["alerts"][number], offset: number, isFirst: boolean): string => {
  const attributes = isFirst
    ? 'class="alert" fill-opacity="0.25"'
    : 'class="alert-line" fill="none" stroke-dasharray="3 2"'
  return `<rect x="${fixed(left + from)}" y="${offset}" width="${fixed(Math.max(1, until - from))}" height="${plotHeight}" ${attributes}><title>${escape(rule)}</title></rect>`
}

/** Ticks of payments: down and red where the account paid, up and green where it received. */
const ticksOf = ({ paid, received }: Line, y: number): string => {
  const tick = (x: number, isUp: boolean) =>
    `<polygon transform="translate(${fixed(left + x)},${y})" points="${isUp ? "0,0 4,8 -4,8" : "0,8 4,0 -4,0"}" class="${isUp ? "got" : "paid"}"/>`
  return [...paid.map((x) => tick(x, false)), ...received.map((x) => tick(x, true))].join("")
}

const countsText = ({ paid, received }: Line): string =>
  [received.length > 0 ? `${received.length} received` : "", paid.length > 0 ? `${paid.length} paid` : ""]
    .filter((one) => one !== "")
    .join(", ")

const gridText = ({ y, marks }: Scale, width: number): string =>
  marks
    .map((mark) => {
      const label = `<text x="${left - 8}" y="${fixed(y(mark))}" dy="4" text-anchor="end" class="word">${short(mark)}</text>`
      return `${levelLine(y(mark), width, 'class="grid"')}${label}`
    })
    .join("")

const floorText = (line: Line, { y }: Scale, width: number): string => {
  if (line.floor === undefined) return ""
  const at = y(line.floor)
  const label = `<text x="${left + width - 4}" y="${fixed(at - 3)}" text-anchor="end" class="paid">floor</text>`
  return `${levelLine(at, width, 'class="floor" stroke-dasharray="2 3"')}${label}`
}

/** Letters where the lines end, apart from one another. */
const endsText = (lines: ReadonlyArray<Line | undefined>, { y }: Scale, width: number): string => {
  const ends = lines.map((line) => line?.highs.findLast((value) => !Number.isNaN(value)))
  const [first, second] = ends.map((value) => (value === undefined ? undefined : y(value)))
  const middle =
    first === undefined || second === undefined || Math.abs(first - second) > 12 ? undefined : (first + second) / 2
  const isFirstAbove = (first ?? 0) <= (second ?? 0)
  return [first, second]
    .map((at, i) => {
      if (at === undefined) return ""
      const apart = middle === undefined ? at : middle + ((i === 0) === isFirstAbove ? -6 : 6)
      return `<text x="${left + width + 5}" y="${fixed(apart)}" dy="4" font-weight="bold" class="${i === 0 ? "first" : "word"}">${letters[i]}</text>`
    })
    .join("")
}

/** One account: its balances, and under them the payments and holds of each set of rules. */
const panelText = (lines: ReadonlyArray<Line | undefined>, offset: number, width: number): string => {
  const known = lines.filter((line) => line !== undefined)
  const scale = scaleOf(known, offset)
  const [first, second] = lines
  const strips = lines.map((line, i) => {
    const y = offset + plotHeight + 2 + i * strip
    const letter = `<text x="${left - 8}" y="${y + 15}" text-anchor="end" font-weight="bold" class="aside">${letters[i]}</text>`
    const holds = (line?.holds ?? []).map((span) => holdText(span, y + 11)).join("")
    return `${lines.length > 1 ? letter : ""}${line === undefined ? "" : ticksOf(line, y)}${holds}`
  })
  const counts = lines.flatMap((line, i) => {
    const text = line === undefined ? "" : countsText(line)
    return text === "" ? [] : [lines.length > 1 ? `${letters[i]}: ${text}` : text]
  })
  const name = `<text x="${left}" y="${offset - 6}" font-weight="bold" class="word">${escape(known[0]?.name ?? "")}</text>`
  const count = `<text x="${left + width}" y="${offset - 6}" text-anchor="end" class="aside">${counts.join("; ")}</text>`
  const frame = `<rect x="${left}" y="${offset}" width="${width}" height="${plotHeight}" fill="none" class="frame"/>`
  return [
    first === undefined ? "" : bandText(first, scale, width, offset),
    ...lines.flatMap((line, i) => (line?.alerts ?? []).map((span) => alertText(span, offset, i === 0))),
    gridText(scale, width),
    floorText(known[0]!, scale, width),
    first === undefined ? "" : areaOf(first, scale),
    second === undefined ? "" : `${otherBand(first, second, scale, width)}${dashesOf(second, scale)}`,
    frame,
    ...strips,
    lines.length > 1 ? endsText(lines, scale, width) : "",
    name,
    count,
  ].join("")
}

/** Class, property, and its colours on a light and on a dark page. */
const colours: ReadonlyArray<readonly [name: string, property: "fill" | "stroke", light: string, dark: string]> = [
  ["page", "fill", "#ffffff", "#16191d"],
  ["word", "fill", "#222222", "#e6e6e6"],
  ["aside", "fill", "#555555", "#a8adb3"],
  ["grid", "stroke", "#dddddd", "#343a40"],
  ["frame", "stroke", "#999999", "#70767d"],
  ["band", "fill", "#e3f1e5", "#1d3323"],
  ["edge", "stroke", "#4d8f5b", "#6fbf80"],
  ["first", "fill", "#1f5f8b", "#6db3e8"],
  ["first-line", "stroke", "#1f5f8b", "#6db3e8"],
  ["second-line", "stroke", "#222222", "#f4f4f4"],
  ["floor", "stroke", "#b3261e", "#ff8178"],
  ["paid", "fill", "#b3261e", "#ff8178"],
  ["got", "fill", "#1b7a36", "#63cf83"],
  ["alert", "fill", "#e8710a", "#ff9d4d"],
  ["alert-line", "stroke", "#e8710a", "#ff9d4d"],
]

/** Reasons differ in lightness too; each has its own colour, and its name stands in the legend. */
const reasons: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  short: ["#b3261e", "#ff8178"],
  limit: ["#8c3fa0", "#c58bd6"],
  quota: ["#5b4fc4", "#a69cff"],
  policy: ["#6d1b1b", "#c95f5f"],
  cooldown: ["#7fa7c9", "#4f7796"],
  awaiting_approval: ["#d9679e", "#f08fbe"],
  stale: ["#8a8a8a", "#9a9a9a"],
  outside_hours: ["#c9b458", "#a8953f"],
  maintenance: ["#c98a2b", "#d9a04a"],
  too_small: ["#a8c0a0", "#71906a"],
  asset_status: ["#3b7f7f", "#5cb0b0"],
}
const otherReason = ["#555555", "#bbbbbb"] as const

/** The class of a reason's colour. */
const reasonClass = (reason: string): string => (reason in reasons ? `r-${reason}` : "r-other")

/** Colours of a chart by class, for a light page and for a dark one. */
const styleText = (): string => {
  const all = [
    ...colours,
    ...Object.entries(reasons).map(([reason, pair]) => [`r-${reason}`, "fill", ...pair] as const),
    ["r-other", "fill", ...otherReason] as const,
  ]
  const rules = (dark: 0 | 1) =>
    all.map(([name, property, ...colour]) => `.${name}{${property}:${colour[dark]}}`).join("")
  return `<style>${rules(0)}@media (prefers-color-scheme: dark){${rules(1)}}</style>`
}

const right = 24
const titleHeight = 84
const nameHeight = 18

/** Drawing of one set of rules, and its name in the chart. */
interface Drawn {
  readonly drawing: Drawing
  readonly name: string
}

/** Times under the panels: five of them, as days where the span is long. */
const timesText = ({ from, to, columns }: Drawing, y: number): string => {
  const isLong = to - from > 3 * 86_400_000
  return [0, 1, 2, 3, 4]
    .map((i) => {
      const iso = new Date(from + ((to - from) * i) / 4).toISOString()
      const anchor = i === 0 ? "start" : i === 4 ? "end" : "middle"
      const x = left + (columns * i) / 4
      const text = isLong ? iso.slice(0, 10) : iso.slice(5, 16).replace("T", " ")
      return `<text x="${x}" y="${y}" text-anchor="${anchor}" class="word">${text}</text>`
    })
    .join("")
}

/** True if the second set of rules has another band for an account than the first. */
const hasOtherBand = ([first, second]: ReadonlyArray<Drawing>): boolean =>
  (second?.lines ?? []).some(
    (line) =>
      otherEnds(
        first?.lines.find(({ key }) => key === line.key),
        line,
      ).length > 0,
  )

/** Legend: marks, and each reason with its colour. */
const legendText = (drawings: ReadonlyArray<Drawing>, y: number): string => {
  const lines = drawings.flatMap((drawing) => drawing.lines)
  const columns = drawings[0]?.columns ?? 0
  const reasons = [...new Set(lines.flatMap(({ holds }) => holds.map(({ reason }) => reason)))]
  let x = left
  const word = (at: number, row: number, text: string) =>
    `<text x="${at}" y="${row}" class="word">${escape(text)}</text>`
  const items = [
    `<polygon transform="translate(${x + 5},${y - 9})" points="0,0 4,8 -4,8" class="got"/>${word(x + 14, y, "received")}`,
    `<polygon transform="translate(${x + 85},${y - 9})" points="0,8 4,0 -4,0" class="paid"/>${word(x + 94, y, "paid")}`,
    `<rect x="${x + 140}" y="${y - 10}" width="14" height="11" class="band edge"/>${word(x + 160, y, "band")}`,
  ]
  x += 220
  if (lines.some(({ alerts }) => alerts.length > 0)) {
    const box = `<rect x="${x}" y="${y - 10}" width="14" height="11" class="alert" fill-opacity="0.25"/>`
    items.push(`${box}${word(x + 18, y, "alert")}`)
    x += 71
  }
  if (hasOtherBand(drawings)) {
    const line = `<line x1="${x}" x2="${x + 16}" y1="${y - 4}" y2="${y - 4}" class="second-line" stroke-dasharray="1 4"/>`
    items.push(`${line}${word(x + 22, y, `band of ${letters[1]}`)}`)
    x += 100
  }
  let row = y
  for (const reason of reasons) {
    const text = reason.replaceAll("_", " ")
    const width = 26 + text.length * 7
    if (x + width > left + columns) {
      x = left + 220
      row += 18
    }
    const box = `<rect x="${x}" y="${row - 10}" width="14" height="11" class="${reasonClass(reason)}"/>`
    items.push(`${box}${word(x + 18, row, text)}`)
    x += width + 10
  }
  return items.join("")
}

/** Line, letter and name of each of two sets of rules. */
const namesText = (drawn: ReadonlyArray<Drawn>, y: number): string =>
  drawn
    .map(({ name }, i) => {
      const at = y + i * nameHeight
      const attributes =
        i === 0
          ? 'class="first-line" stroke-width="3"'
          : 'class="second-line" stroke-width="1.6" stroke-dasharray="7 4"'
      const sample = `<line x1="${left}" x2="${left + 32}" y1="${at - 4}" y2="${at - 4}" ${attributes}/>`
      const letter = `<text x="${left + 40}" y="${at}" font-weight="bold" class="${i === 0 ? "first" : "word"}">${letters[i]}</text>`
      return `${sample}${letter}<text x="${left + 56}" y="${at}" class="word">${escape(name)}</text>`
    })
    .join("")

/**
 * Balances with their bands, payments as ticks and holds as bars under them: one panel an account. A second set of
 * rules over the same past is drawn over the first.
 */
export const chart = (drawn: readonly [Drawn, ...ReadonlyArray<Drawn>], title: string): string => {
  const drawings = drawn.map(({ drawing }) => drawing)
  const { columns } = drawn[0].drawing
  const accounts = [...new Map(drawings.flatMap(({ lines }) => lines.map(({ key, name }) => [key, name] as const)))]
    .toSorted(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([key]) => key)
  const isTwo = drawn.length > 1
  const top = titleHeight + (isTwo ? drawn.length * nameHeight : 0)
  const panel = panelHeight(drawn.length)
  const width = left + columns + right
  const bottom = top + accounts.length * panel
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${bottom + 36}" viewBox="0 0 ${width} ${bottom + 36}" font-family="system-ui, sans-serif" font-size="12">`,
    styleText(),
    `<rect width="100%" height="100%" class="page"/>`,
    `<text x="${left}" y="24" font-size="16" font-weight="bold" class="word">${escape(title)}</text>`,
    isTwo ? namesText(drawn, 46) : "",
    legendText(drawings, top - titleHeight + 46),
    ...accounts.map((key, i) =>
      panelText(
        drawings.map(({ lines }) => lines.find((line) => line.key === key)),
        top + i * panel + 18,
        columns,
      ),
    ),
    timesText(drawn[0].drawing, bottom + 16),
    "</svg>",
  ]
  return `${parts.filter((part) => part !== "").join("\n")}\n`
}
