import type { Writable } from "node:stream"

const width = 30
const clearLine = `\r${String.fromCharCode(27)}[K`

/** A bar on a terminal's standard error; nothing where there is none. */
export const progressBar = (terminal: Writable | undefined, title: string) => {
  let drawn = -1
  return {
    /** Draws the share that is done, 0 to 1, where it is another percent. */
    show: (share: number): void => {
      const percent = Math.floor(Math.min(1, Math.max(0, share)) * 100)
      if (percent === drawn) return
      drawn = percent
      const done = Math.round((percent / 100) * width)
      terminal?.write(`${clearLine}${title} [${"#".repeat(done)}${" ".repeat(width - done)}] ${percent} %`)
    },
    /** Takes the bar away. */
    end: (): void => {
      if (drawn >= 0) terminal?.write(clearLine)
    },
  }
}
