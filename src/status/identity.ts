import { createHash, createHmac, timingSafeEqual } from "node:crypto"

/** A request names a number that was used for no other one, and its answer proves who gave it. */
export const nonceHeader = "x-cofferer-nonce"
export const proofHeader = "x-cofferer-proof"

interface Answered {
  readonly nonce: string
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly status: number
  readonly body: string | Uint8Array
}

/** HMAC-SHA-256 by the data directory's secret over the request and all of its answer, in hex. */
export const proofOf = (key: string, { nonce, method, path, status, body }: Answered): string =>
  createHmac("sha256", key)
    .update(JSON.stringify([nonce, method, path, status, createHash("sha256").update(body).digest("hex")]))
    .digest("hex")

/** Whether an answer is that of the daemon that has the key. */
export const isProven = (key: string, answered: Answered, proof: unknown): boolean => {
  const right = Buffer.from(proofOf(key, answered))
  const given = Buffer.from(typeof proof === "string" ? proof : "")
  return right.length === given.length && timingSafeEqual(right, given)
}
