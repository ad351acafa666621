import type { Redacted } from "effect"

/** One gateway as configured. */
export interface GatewayOptions {
  /** Its name in the configuration: the label of its metrics. */
  readonly name: string
  /** Base address; it may have a path, and the paths of the operations come behind it. */
  readonly url: string
  /** Sent with every request, such as credentials. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** From the sending of a request to the last byte of its answer. Default 10 s. */
  readonly requestDeadlineMillis: number
  /** Largest answer that is read. Default 8 MiB: a page of 5000 rows has about 4. */
  readonly bodyBytesMax: number
  /** Requests a second at most; half of the limit that the gateway advertises where that is less. Default 10. */
  readonly requestsPerSecond: number
  /** For how long a read may wait for its turn before it fails as RateLimited. Default 10 s. */
  readonly waitMillisMax: number
}

/** The options of a gateway of which only name and address are given. */
export const gatewayOptions = (
  options: Pick<GatewayOptions, "name" | "url"> & Partial<GatewayOptions>,
): GatewayOptions => ({
  headers: {},
  requestDeadlineMillis: 10_000,
  bodyBytesMax: 8 * 1024 * 1024,
  requestsPerSecond: 10,
  waitMillisMax: 10_000,
  ...options,
})
