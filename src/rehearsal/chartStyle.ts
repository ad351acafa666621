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
export const reasonClass = (reason: string): string => (reason in reasons ? `r-${reason}` : "r-other")

const rule = (name: string, property: string, colour: string): string => `.${name}{${property}:${colour}}`

/** Colours of a chart by class; those of a dark page where the reader's is one. */
export const styleText = (): string => {
  const all = [
    ...colours,
    ...Object.entries(reasons).map(([reason, pair]) => [`r-${reason}`, "fill", ...pair] as const),
    ["r-other", "fill", ...otherReason] as const,
  ]
  const light = all.map(([name, property, colour]) => rule(name, property, colour)).join("")
  const dark = all.map(([name, property, , colour]) => rule(name, property, colour)).join("")
  return `<style>${light}@media (prefers-color-scheme: dark){${dark}}</style>`
}
