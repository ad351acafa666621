import type { Benchmark } from "./Benchmark.ts"
import { backtest } from "./backtest/bench.ts"
import { decode } from "./decode/bench.ts"
import { encode } from "./encode/bench.ts"
import { engine } from "./engine/bench.ts"
import { latency } from "./latency/bench.ts"
import { memory } from "./memory/bench.ts"
import { poller } from "./poller/bench.ts"
import { pow } from "./pow/bench.ts"
import { sandbox } from "./sandbox/bench.ts"
import { scale } from "./scale/bench.ts"
import { sign } from "./sign/bench.ts"
import { startup } from "./startup/bench.ts"
import { store } from "./store/bench.ts"
import { submit } from "./submit/bench.ts"

/** In the order in which they run, and in which docs/performance.md tells of them. */
export const benchmarks: ReadonlyArray<Benchmark> = [
  pow,
  sign,
  encode,
  decode,
  poller,
  engine,
  store,
  submit,
  sandbox,
  latency,
  scale,
  startup,
  memory,
  backtest,
]
