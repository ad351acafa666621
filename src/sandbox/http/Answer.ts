import { Schema } from "effect"

/** What an operation answers: a body that goes out as JSON, or plain text. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly text?: true
  readonly headers?: Readonly<Record<string, string>>
  /** False on answers that do not come from the node behind the HTTP gateway: they carry none of its headers. */
  readonly fromNode: boolean
  /** Of a submission: whether the mempool took the transaction. */
  readonly accepted?: boolean
}

export const ok = (body: unknown): Answer => ({ status: 200, body, fromNode: true })

/** The network's error codes (those of gRPC) and the HTTP statuses that its gateway makes of them. */
const statuses = {
  InvalidArgument: { code: 3, status: 400 },
  NotFound: { code: 5, status: 404 },
  PermissionDenied: { code: 7, status: 403 },
  ResourceExhausted: { code: 8, status: 429 },
  Internal: { code: 13, status: 500 },
  Unavailable: { code: 14, status: 503 },
  DeadlineExceeded: { code: 4, status: 504 },
} as const
type ErrorClass = keyof typeof statuses

/** The reason inside an error answer: the network's own number, its text, and what lies behind it. */
export interface Detail {
  readonly code: number
  readonly message: string
  readonly inner: string
}

/** An error whose useful text stands in its detail; the message is the class alone. */
export const nodeError = (kind: ErrorClass, detail: Detail): Answer => ({
  status: statuses[kind].status,
  body: {
    code: statuses[kind].code,
    message: `${kind} error`,
    details: [{ "@type": "type.googleapis.com/vega.ErrorDetail", ...detail }],
  },
  fromNode: true,
})

/** An error without detail: its text is the message. */
export const plainError = (kind: ErrorClass, message: string, fromNode: boolean): Answer => ({
  status: statuses[kind].status,
  body: { code: statuses[kind].code, message, details: [] },
  fromNode,
})

/** A request that gets an error answer. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  answer: Schema.Struct({ status: Schema.Int, body: Schema.Unknown, fromNode: Schema.Boolean }),
}) {}

export const refuse = (answer: Answer): Refusal => new Refusal({ answer })
