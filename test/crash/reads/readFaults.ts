import type { FaultSpec } from "../../../src/sandbox/Faults.ts"

type Fault = Omit<FaultSpec, "rate"> & { readonly rate: number }

/** Enough to strike most rounds of the poller, and to let something through. */
const rate = 0.3
const any = { operation: "any", rate } as const

/**
 * Every fault that can strike a read, one by one. A clock that is off by less than clocks differ could not be told from
 * a right one by a daemon with one gateway, so it is off by more.
 */
export const readFaults: Readonly<Record<string, Fault>> = {
  accept_drop_answer: { ...any, kind: "accept_drop_answer" },
  drop_before: { ...any, kind: "drop_before" },
  delay: { ...any, kind: "delay", delayMillis: 400 },
  delay_beyond_deadline: { ...any, kind: "delay", delayMillis: 1_500 },
  http_429: { ...any, kind: "http_status", status: 429, rate: 0.1 },
  http_500: { ...any, kind: "http_status", status: 500 },
  http_502: { ...any, kind: "http_status", status: 502 },
  http_503: { ...any, kind: "http_status", status: 503 },
  http_504: { ...any, kind: "http_status", status: 504 },
  html_body: { ...any, kind: "html_body" },
  truncated_body: { ...any, kind: "truncated_body" },
  endless_body: { ...any, kind: "endless_body" },
  wrong_content_length: { ...any, kind: "wrong_content_length" },
  gzip_bomb: { ...any, kind: "gzip_bomb" },
  stale_read: { ...any, kind: "stale_read" },
  rolled_back_read: { ...any, kind: "rolled_back_read", blocks: 3 },
  lagging_replica: { ...any, kind: "lagging_replica", blocks: 3 },
  reorganised_pages: { ...any, kind: "reorganised_pages" },
  cursor_cycle: { ...any, kind: "cursor_cycle" },
  clock_fast: { ...any, kind: "clock_skew", skewMillis: 40_000 },
  clock_slow: { ...any, kind: "clock_skew", skewMillis: -40_000 },
}
