import { escape, left, letters, panelHeight, panelText, reasonClass, styleText } from "./chartPanel.ts"
import type { Drawing } from "./Drawing.ts"

const right = 24
const titleHeight = 84
const nameHeight = 18

/** One set of rules over the past, and what a reader knows it by. */
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

/** Whether the second set of rules has another band for an account than the first. */
const hasOtherBand = ([first, second]: ReadonlyArray<Drawing>): boolean =>
  (second?.lines ?? []).some(({ key, least, most }) => {
    const same = first?.lines.find((line) => line.key === key)
    return (least !== undefined && least !== same?.least) || (most !== undefined && most !== same?.most)
  })

/** What is what: marks, and each reason with its colour. */
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

/** Which line is whose, where there are two. */
const namesText = (drawn: ReadonlyArray<Drawn>, y: number): string =>
  drawn
    .map(({ name }, i) => {
      const at = y + i * nameHeight
      const look =
        i === 0
          ? 'class="first-line" stroke-width="3"'
          : 'class="second-line" stroke-width="1.6" stroke-dasharray="7 4"'
      const sample = `<line x1="${left}" x2="${left + 32}" y1="${at - 4}" y2="${at - 4}" ${look}/>`
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
