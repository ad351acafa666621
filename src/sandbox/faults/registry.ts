import { sha3_256 } from "@noble/hashes/sha3.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import type { Fault, FaultRegistry } from "../Chain.ts"
import type { FaultSpec } from "../Faults.ts"

export const arm = (
  registry: FaultRegistry,
  spec: FaultSpec,
  now: { readonly millis: number; readonly height: number },
): Fault => {
  const until = spec.durationMillis === undefined ? {} : { untilMillis: now.millis + spec.durationMillis }
  const fault: Fault = { ...spec, ...until, id: registry.nextId++, armedHeight: now.height, hits: 0, draws: 0 }
  registry.armed.push(fault)
  return fault
}

/** Takes one fault away, or all of them. Returns how many went. */
export const disarm = (registry: FaultRegistry, id: number | undefined): number => {
  const before = registry.armed.length
  registry.armed = id === undefined ? [] : registry.armed.filter((fault) => fault.id !== id)
  return before - registry.armed.length
}

/** Removes faults that are over. */
export const expire = (registry: FaultRegistry, nowMillis: number): void => {
  registry.armed = registry.armed.filter(({ untilMillis }) => untilMillis === undefined || untilMillis > nowMillis)
}

/** The armed faults that hit a request, oldest first; the draws are seeded, so a run repeats. */
export const hitsOf = (
  registry: FaultRegistry,
  at: { readonly isMeant: (fault: FaultSpec) => boolean; readonly seed: string; readonly nowMillis: number },
): ReadonlyArray<Fault> => {
  expire(registry, at.nowMillis)
  return registry.armed.filter((fault) => at.isMeant(fault) && draw(at.seed, fault) < fault.rate)
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
