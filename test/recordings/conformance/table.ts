import type { Compared } from "./replay.ts"

/** "same", or the first difference. */
export const resultOf = ({ differences: [first] }: Compared): string => {
  if (first === undefined) return "same"
  return `DIFFERENT: ${first.path} was ${first.recorded} and is ${first.sandbox}`.slice(0, 300)
}

/** The table as it stands in conformance.md. */
export const tableOf = (requests: ReadonlyArray<Compared>): string => {
  const count = (result: string) => requests.filter((request) => resultOf(request) === result).length
  const rows = requests.map((request, n) => `| ${n + 1} | ${request.file} | ${request.name} | ${resultOf(request)} |`)
  return [
    "# What the sandbox answers to the recorded requests",
    "",
    "Each recorded request was sent again to a sandbox that began with the state of the recorded network, blocks",
    "being made up to each recorded height. Compared are the HTTP status, the code, and every field of the body with",
    "its type and place; the values of times, block hashes, heights and cursors, and the counters of /statistics, are",
    "a network's own. Written by the conformance test; `vitest run test/recordings/conformance.test.ts -u` writes it anew.",
    "",
    `${requests.length} requests, ${count("same")} the same.`,
    "",
    "| # | recording | request | result |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n")
}
