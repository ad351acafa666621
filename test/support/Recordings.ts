import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"

/** One recorded request with its answer. */
export interface Recorded {
  readonly file: string
  readonly name: string
  readonly method: string
  /** Path and query, without the recorder's host. */
  readonly path: string
  /** The body that was sent; null without one. */
  readonly request: unknown
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** The answer's own text where it was kept, else the body written again. */
  readonly text: string
}

/** One recorded transaction: its bytes, its SHA-256, and the id of what it makes where that was stored. */
interface RecordedTransaction {
  readonly file: string
  readonly name: string
  readonly bytes: Uint8Array
  readonly sha256: string
  readonly transferId: string | undefined
}

interface Response {
  readonly method: string
  readonly url: string
  readonly request: unknown
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly raw?: string
}
interface Named {
  readonly name: string
}
interface Submission extends Named {
  readonly tx_bytes?: string
  readonly sha256?: string
  readonly response: Response
}
interface CommandEntry extends Named {
  readonly txBytes: string
  readonly txHash: string
  readonly transferId: string
  readonly response: Response
}
interface LifecycleStep {
  readonly t: number
  readonly status?: string
  readonly assets?: unknown
}

const bytesOf = (file: string): Buffer => readFileSync(new URL(`../recordings/data/${file}`, import.meta.url))
const json = <A>(file: string): ReadonlyArray<A> => JSON.parse(bytesOf(file).toString())

const recorded = (file: string, name: string, r: Response): Recorded => ({
  file,
  name,
  method: r.method,
  path: r.url.replace(/^http:\/\/127\.0\.0\.1:[0-9]+/, ""),
  request: r.request,
  status: r.status,
  headers: r.headers,
  body: r.body,
  text: r.raw ?? JSON.stringify(r.body),
})

/** Ten minutes as a poller sees them, in order. */
export const recordedTimeline = (): ReadonlyArray<Recorded & { readonly at: number; readonly kind: string }> => {
  const lines = gunzipSync(bytesOf("timeline.jsonl.gz")).toString().trim().split("\n")
  return lines.map((line) => {
    const entry: Response & { readonly at: number; readonly kind: string } = JSON.parse(line)
    return { ...recorded("timeline", entry.kind, entry), at: entry.at, kind: entry.kind }
  })
}

/** All recorded requests, those of the timeline included. */
export const recordedAnswers = (): ReadonlyArray<Recorded> => [
  ...json<Submission>("submissions.json").map((s) => recorded("submissions", s.name, s.response)),
  ...json<CommandEntry>("commands.json").map((c) => recorded("commands", c.name, c.response)),
  ...["command-pages", "pages"].flatMap((file) =>
    json<Named & Response>(`${file}.json`).map((page) => recorded(file, page.name, page)),
  ),
  ...["asset-lifecycle-builtin", "asset-lifecycle-erc20"].flatMap((file) =>
    json<LifecycleStep>(`${file}.json`)
      .filter((step) => step.assets !== undefined)
      .map((step) =>
        recorded(file, `assets at ${step.t} s`, {
          method: "GET",
          url: "/api/v2/assets",
          request: null,
          status: 200,
          headers: {},
          body: step.assets,
        }),
      ),
  ),
  ...recordedTimeline(),
]

/** All recorded transactions whose bytes were stored. */
export const recordedTransactions = (): ReadonlyArray<RecordedTransaction> => [
  ...json<Submission>("submissions.json").flatMap((s) =>
    s.tx_bytes === undefined || s.sha256 === undefined
      ? []
      : [
          {
            file: "submissions",
            name: s.name,
            bytes: Uint8Array.from(Buffer.from(s.tx_bytes, "hex")),
            sha256: s.sha256.toLowerCase(),
            transferId: undefined,
          },
        ],
  ),
  ...json<CommandEntry>("commands.json").map((c) => ({
    file: "commands",
    name: c.name,
    bytes: Uint8Array.from(Buffer.from(c.txBytes, "hex")),
    sha256: c.txHash.toLowerCase(),
    transferId: c.transferId,
  })),
]
