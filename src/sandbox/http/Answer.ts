import { Effect, Schema } from "effect"
import type { Operation } from "../Faults.ts"
import type { SandboxError } from "../LedgerFile.ts"
import type { LedgerNode } from "../LedgerNode.ts"
import type { Profile } from "../Profiles.ts"
import type { Scenario } from "../Scenario.ts"

/** Answer of an operation: a body sent as JSON, or plain text. */
export interface HttpAnswer {
  readonly status: number
  readonly body: unknown
  readonly text?: true
  readonly headers?: Readonly<Record<string, string>>
  /** False on answers that do not come from the node behind the HTTP gateway: they carry none of its headers. */
  readonly fromNode: boolean
  /** For a submission: true if the mempool accepted the transaction. */
  readonly accepted?: boolean
}

export const ok = (body: unknown): HttpAnswer => ({ status: 200, body, fromNode: true })

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
export const nodeError = (kind: ErrorClass, detail: Detail): HttpAnswer => ({
  status: statuses[kind].status,
  body: {
    code: statuses[kind].code,
    message: `${kind} error`,
    details: [{ "@type": "type.googleapis.com/vega.ErrorDetail", ...detail }],
  },
  fromNode: true,
})

/** An error without detail: its text is the message. */
export const plainError = (kind: ErrorClass, message: string, fromNode = false): HttpAnswer => ({
  status: statuses[kind].status,
  body: { code: statuses[kind].code, message, details: [] },
  fromNode,
})

export const rateLimited = plainError("ResourceExhausted", "api request rate limit exceeded", true)

export const banned = plainError(
  "PermissionDenied",
  "temporarily banned for continuing to request while rate limited",
  true,
)

/** A request that gets an error answer. */
export class RefusedRequest extends Schema.TaggedError<RefusedRequest>()("Refusal", {
  answer: Schema.Struct({ status: Schema.Int, body: Schema.Unknown, fromNode: Schema.Boolean }),
}) {}

export const refuseRequest = (answer: HttpAnswer): RefusedRequest => new RefusedRequest({ answer })

/** Parameters by their name in snake case: the network takes "filter.partyIds" and "filter.party_ids" alike. */
export type Query = ReadonlyMap<string, ReadonlyArray<string>>

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const parseQuery = (url: string): Query => {
  const at = url.indexOf("?")
  const query = new Map<string, Array<string>>()
  if (at < 0) return query
  for (const [key, value] of new URLSearchParams(url.slice(at + 1))) {
    const name = snake(key)
    query.set(name, [...(query.get(name) ?? []), value])
  }
  return query
}

export const invalidArgument = (message: string): RefusedRequest =>
  refuseRequest(plainError("InvalidArgument", message))

/** The last part of a name, as the network's texts have it. */
const field = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

/** A parameter that may be given once; "" if it is given empty. */
export const scalar = (query: Query, name: string): Effect.Effect<string | undefined, RefusedRequest> => {
  const values = query.get(name)
  if (values !== undefined && values.length > 1) {
    return Effect.fail(invalidArgument(`too many values for field "${field(name)}": ${values.join(", ")}`))
  }
  return Effect.succeed(values?.[0])
}

const integer = (query: Query, name: string, bits: number): Effect.Effect<bigint | undefined, RefusedRequest> =>
  Effect.flatMap(scalar(query, name), (text) => {
    if (text === undefined) return Effect.undefined
    const fault = (why: string) =>
      Effect.fail(invalidArgument(`parsing field "${field(name)}": strconv.ParseInt: parsing "${text}": ${why}`))
    if (!/^[+-]?[0-9]+$/.test(text)) return fault("invalid syntax")
    const n = text.length > 30 ? 2n ** 80n : BigInt(text.replace(/^\+/, ""))
    return BigInt.asIntN(bits, n) === n ? Effect.succeed(n) : fault("value out of range")
  })

export const int32 = (query: Query, name: string): Effect.Effect<number | undefined, RefusedRequest> =>
  Effect.map(integer(query, name, 32), (n) => (n === undefined ? undefined : Number(n)))

export const int64 = (query: Query, name: string): Effect.Effect<bigint | undefined, RefusedRequest> =>
  integer(query, name, 64)

export const bool = (query: Query, name: string): Effect.Effect<boolean | undefined, RefusedRequest> =>
  Effect.flatMap(scalar(query, name), (text) => {
    if (text === undefined) return Effect.undefined
    if (/^(1|t|T|TRUE|true|True)$/.test(text)) return Effect.succeed(true)
    if (/^(0|f|F|FALSE|false|False)$/.test(text)) return Effect.succeed(false)
    return Effect.fail(
      invalidArgument(`parsing field "${field(name)}": strconv.ParseBool: parsing "${text}": invalid syntax`),
    )
  })

export const list = (query: Query, name: string): ReadonlyArray<string> => query.get(name) ?? []

/** Names or numbers of an enumeration, as names; the case of letters counts. */
export const enums = <Name extends string>(
  query: Query,
  name: string,
  known: ReadonlyMap<Name, number>,
): Effect.Effect<ReadonlyArray<Name>, RefusedRequest> =>
  Effect.forEach(list(query, name), (text) => {
    const found = [...known].find(([word, number]) => word === text || String(number) === text)
    return found === undefined
      ? Effect.fail(invalidArgument(`parsing list "${field(name)}": "${text}" is not a valid value`))
      : Effect.succeed(found[0])
  })

/** Inputs of an operation. */
export interface World {
  readonly node: LedgerNode
  readonly scenario: Scenario
  readonly profile: Profile
}

/** A request as far as operations see it. */
export interface RouteRequest {
  readonly query: Query
  readonly params: Readonly<Record<string, string | undefined>>
  /** The body as text; refused where it is larger than the network's gateway takes. */
  readonly body: Effect.Effect<string, RefusedRequest>
}

export interface Route {
  /** Undefined for the sandbox's own paths: no faults, limits and headers of the network apply to them. */
  readonly operation: Operation | undefined
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: `/${string}`
  readonly answer: (world: World, ask: RouteRequest) => Effect.Effect<HttpAnswer, RefusedRequest | SandboxError>
}

export type Answering = (world: World, ask: RouteRequest) => Effect.fn.Return<HttpAnswer, RefusedRequest | SandboxError>

/** An operation of the network that reads. */
export const reads = (operation: Operation, path: Route["path"], answer: Answering): Route => ({
  operation,
  method: "GET",
  path,
  answer: Effect.fnUntraced(answer),
})
