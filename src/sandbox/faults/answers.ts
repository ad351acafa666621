import { sha3_256 } from "@noble/hashes/sha3.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import type { Fault } from "../Chain.ts"
import { banned, type HttpAnswer, nodeError, plainError, rateLimited } from "../http/Answer.ts"

interface Listing {
  readonly edges: ReadonlyArray<{ readonly cursor: string }>
  readonly pageInfo: { readonly startCursor: string }
}

const isListing = (value: unknown): value is Listing =>
  typeof value === "object" && value !== null && "edges" in value && Array.isArray(value.edges) && "pageInfo" in value

/** Changes the listings inside an answer; other answers stay as they are. */
export const spoilPages = (
  answer: HttpAnswer,
  fault: Fault,
  ask: { readonly seed: string; readonly after: string },
): HttpAnswer => {
  if (answer.status !== 200 || typeof answer.body !== "object" || answer.body === null) return answer
  const spoilt = Object.entries(answer.body).map(([key, value]: [string, unknown]) => {
    if (!isListing(value)) return [key, value]
    return [key, fault.kind === "cursor_cycle" ? cycle(value, ask.after) : reorganise(value, fault, ask.seed)]
  })
  return { ...answer, body: Object.fromEntries(spoilt) }
}

/** Names the page's first cursor as its end: whoever follows it gets the same page for ever. */
const cycle = (page: Listing, after: string): Listing => {
  const endCursor = after === "" ? page.pageInfo.startCursor : after
  return { ...page, pageInfo: { ...page.pageInfo, ...{ hasNextPage: true, endCursor } } }
}

/** Shuffles the rows by the seed, and replaces the last by a copy of the first. A page of one row stays as it is. */
const reorganise = (page: Listing, fault: Fault, seed: string): Listing => {
  if (page.edges.length < 2) return page
  const rank = (cursor: string, n: number): string =>
    Buffer.from(sha3_256(utf8ToBytes(`page\0${seed}\0${fault.id}\0${fault.hits}\0${n}\0${cursor}`))).toString("hex")
  const ranked = page.edges.map((edge, n) => ({ edge, rank: rank(edge.cursor, n) }))
  const edges = ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ edge }) => edge)
  const kept = edges.slice(0, -1)
  return { ...page, edges: [...kept, kept[0]!] }
}

/** The error answer that a fault gives, in the words of the network, or of a proxy before it. */
export const statusAnswer = (fault: Fault): HttpAnswer => {
  switch (fault.status) {
    case 403:
      return {
        ...banned,
        headers: { "RateLimit-Retry-After": "600" },
      }
    case 429:
      return rateLimited
    case 500:
      return nodeError("Internal", { code: 10_000, message: "internal error", inner: "" })
    case 502:
      return {
        status: 502,
        body: "<html><h1>502 Bad Gateway</h1></html>",
        text: true,
        headers: { "content-type": "text/html" },
        fromNode: false,
      }
    case 504:
      return plainError("DeadlineExceeded", "context deadline exceeded")
    default:
      return plainError("Unavailable", 'connection error: desc = "transport: error while dialing"')
  }
}
