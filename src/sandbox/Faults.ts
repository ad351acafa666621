import { sha3_256 } from "@noble/hashes/sha3.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"

/** The operations that a fault can hit: one per path that the sandbox serves. */
export const operations = [
  "submit",
  "balanceChanges",
  "assets",
  "asset",
  "height",
  "statistics",
  "accounts",
  "transfers",
  "transfer",
  "parameters",
  "parameter",
  "health",
  "time",
  "info",
  "epoch",
] as const
export type Operation = (typeof operations)[number]

/**
 * accept_drop_answer: the request has its effect, the answer never comes.
 * drop_before: the connection ends before the request had any effect.
 * delay: the answer comes late. http_status: an error answer comes instead, without effect.
 */
export const faultKinds = ["accept_drop_answer", "drop_before", "delay", "http_status"] as const
export type FaultKind = (typeof faultKinds)[number]

export const faultStatuses = [403, 429, 500, 502, 503, 504] as const
export type FaultStatus = (typeof faultStatuses)[number]

/** What is to go wrong. Without count and duration it goes on until it is taken away. */
export interface FaultSpec {
  readonly operation: Operation | "any"
  readonly kind: FaultKind
  /** Probability that a request is hit: above 0, at most 1. */
  readonly rate: number
  /** How many requests it hits before it ends. */
  readonly count?: number
  readonly durationMillis?: number
  /** Of `http_status`. */
  readonly status?: FaultStatus
  /** Of `delay`. */
  readonly delayMillis?: number
}

export interface Fault extends FaultSpec {
  readonly id: number
  /** Unix milliseconds after which it is over. */
  readonly untilMillis?: number
  hits: number
  draws: number
}

export interface FaultRegistry {
  nextId: number
  armed: Array<Fault>
}

export const emptyFaults = (): FaultRegistry => ({ nextId: 1, armed: [] })

export const arm = (registry: FaultRegistry, spec: FaultSpec, nowMillis: number): Fault => {
  const until = spec.durationMillis === undefined ? {} : { untilMillis: nowMillis + spec.durationMillis }
  const fault: Fault = { ...spec, ...until, id: registry.nextId++, hits: 0, draws: 0 }
  registry.armed.push(fault)
  return fault
}

/** Takes one fault away, or all of them. Returns how many went. */
export const disarm = (registry: FaultRegistry, id: number | undefined): number => {
  const before = registry.armed.length
  registry.armed = id === undefined ? [] : registry.armed.filter((fault) => fault.id !== id)
  return before - registry.armed.length
}

/** The first armed fault that hits this request; the draw is seeded, so a run repeats. */
export const hitBy = (
  registry: FaultRegistry,
  at: { readonly operation: Operation; readonly seed: string; readonly nowMillis: number },
): Fault | undefined => {
  if (registry.armed.length === 0) return undefined
  registry.armed = registry.armed.filter((fault) => fault.untilMillis === undefined || fault.untilMillis > at.nowMillis)
  return registry.armed.find(
    (fault) => (fault.operation === "any" || fault.operation === at.operation) && draw(at.seed, fault) < fault.rate,
  )
}

/** Counts a hit and retires the fault after its last one. */
export const spend = (registry: FaultRegistry, fault: Fault): void => {
  fault.hits++
  if (fault.count !== undefined && fault.hits >= fault.count) disarm(registry, fault.id)
}

const draw = (seed: string, fault: Fault): number => {
  if (fault.rate >= 1) return 0
  const hash = sha3_256(utf8ToBytes(`fault\0${seed}\0${fault.id}\0${fault.draws++}`))
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0) / 2 ** 32
}

/** For the log: what is about to go wrong. */
export const describeFault = (spec: FaultSpec): string => {
  const which =
    spec.operation === "any"
      ? "every answer"
      : spec.operation === "submit"
        ? "the next answer"
        : `${spec.operation}: the next answer`
  const times = spec.count === undefined ? " until further notice" : spec.count === 1 ? "" : `, ${spec.count} times`
  switch (spec.kind) {
    case "accept_drop_answer":
      return spec.operation === "submit"
        ? `${which} will be lost after the network took the payment${times}`
        : `${which} will be lost${times}`
    case "drop_before":
      return `${which} will not come, and the request has no effect${times}`
    case "delay":
      return `${which} will come ${spec.delayMillis ?? 0} ms late${times}`
    case "http_status":
      return `${which} will be HTTP ${spec.status ?? 503}${times}`
  }
}
