import type { Difference } from "./compare.ts"
import type { Compared } from "./replay.ts"

/** Why the sandbox answers otherwise, and which differences that explains. At most five. */
interface Reason {
  readonly text: string
  readonly explains: (difference: Difference, request: Compared) => boolean
}

export const reasons: ReadonlyArray<Reason> = [
  {
    text: "The network's validators send transactions of their own; the sandbox has no validators.",
    explains: ({ path }) => path === "transactions of validators",
  },
  {
    text: "The sandbox has no markets: of an order it knows the name, and shows nothing of its content.",
    explains: ({ path, sandbox }) => path === "transactions[].command.orderSubmission" && sandbox === "nothing",
  },
]

/** "same", the numbers of the reasons, or what no reason explains. */
export const resultOf = (request: Compared): string => {
  if (request.differences.length === 0) return "same"
  const numbers = new Set<number>()
  for (const difference of request.differences) {
    const n = reasons.findIndex((reason) => reason.explains(difference, request))
    if (n < 0) {
      return `DIFFERENT: ${difference.path} was ${difference.recorded} and is ${difference.sandbox}`.slice(0, 300)
    }
    numbers.add(n + 1)
  }
  return `reason ${[...numbers].sort().join(", ")}`
}

/** The table as it stands in conformance.md. */
export const tableOf = (requests: ReadonlyArray<Compared>): string => {
  const count = (result: string) => requests.filter((request) => resultOf(request) === result).length
  const rows = requests.map((request, n) => `| ${n + 1} | ${request.file} | ${request.name} | ${resultOf(request)} |`)
  const list = reasons.map(({ text }, n) => `${n + 1}. ${text}`)
  return [
    "# What the sandbox answers to the recorded requests",
    "",
    "Each recorded request was sent again to a sandbox that began with the state of the recorded network, blocks",
    "being made up to each recorded height. Compared are the HTTP status, the code, and every field of the body with",
    "its type and place; the values of times, block hashes, heights and cursors, and the counters of /statistics, are",
    "a network's own. Streams are compared by the frames of each block, whatever their order within it. Written by the",
    "conformance test; `vitest run test/recordings/conformance.test.ts -u` writes it anew.",
    "",
    `${requests.length} requests and streams, ${count("same")} the same.`,
    "",
    ...(list.length === 0 ? ["No difference needs a reason.", ""] : ["Reasons for a difference:", "", ...list, ""]),
    "| # | recording | request | result |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n")
}
