import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Metrics, type MetricsOptions, toOpenMetrics } from "../../src/telemetry/Metrics.ts"
import { metricGroups } from "../../src/telemetry/metricTable.ts"

const options: MetricsOptions = {
  treasury: "harbor",
  mode: "live",
  gateways: ["a", "b"],
  rules: ["keep-hot-funded"],
  payers: ["reserve"],
  assets: ["USDT"],
  receivers: ["log"],
  version: "1",
  revision: "",
}

const withMetrics = <A, E>(use: (metrics: Metrics["Service"]) => Effect.Effect<A, E>) =>
  Effect.provide(Effect.flatMap(Metrics, use), Metrics.layer(options))

const words: Readonly<Record<string, string>> = {
  treasury: "the treasury's name",
  gateway: "each gateway",
  rule: "each rule",
  payer: "each party that pays",
  asset: "each pinned asset",
  receiver: "each receiver",
}

const labelText = (label: string, values: string | ReadonlyArray<string>): string =>
  values === "found"
    ? `\`${label}\``
    : typeof values === "string"
      ? `\`${label}\`: ${words[values]}`
      : `\`${label}\`: ${values.join(", ")}`

const pageText = (): string => {
  const groups = Object.entries(metricGroups).map(([question, group]) => {
    const rows = Object.values(group).map(({ name, type, help, labels }) => {
      const said = Object.entries(labels as Record<string, string | ReadonlyArray<string>>).map(([label, values]) =>
        labelText(label, values),
      )
      return `| \`cofferer_${name}\` | ${type} | ${help} | ${said.join("<br>")} |`
    })
    return `## ${question}\n\n| metric | type | meaning | labels |\n|---|---|---|---|\n${rows.join("\n")}\n`
  })
  return `# Metrics

Every metric of \`/metrics\`, generated from the code, by the question that it answers.

Names, types and labels are stable. A label with listed or named values has each combination from the start, at zero. A
gauge is absent while its value is unknown. No label contains an id or a hash. Amounts are doubles; \`status --output json\`
has the exact ones. Counters begin again with the process; gauges are read from the database at each scrape. The
names in a treasury file and closed lists bound the number of series. \`process_*\` and \`nodejs_*\` come from the runtime. A
request with \`Accept: application/openmetrics-text\` gets OpenMetrics 1.0. [Monitoring](monitoring.md) has rules and a
dashboard.

${groups.join("\n")}`
}

describe("metrics", () => {
  it.effect("watch the process once, however often a treasury starts", () =>
    Effect.gen(function* () {
      const watch = withMetrics(({ registry }) =>
        Effect.succeed(registry.getSingleMetric("nodejs_eventloop_lag_seconds")),
      )
      assert.strictEqual(yield* watch, (yield* watch) ?? "none")
    }),
  )

  it("are listed in their page", async () => {
    // Written again by: npx vitest run --project quick test/telemetry/Metrics.test.ts -u
    await expect(pageText()).toMatchFileSnapshot("../../docs/metrics.md")
  })

  it.effect("have every closed combination of labels from the start", () =>
    withMetrics(
      Effect.fnUntraced(function* ({ text }) {
        const shown = yield* Effect.promise(text)
        for (const series of [
          'cofferer_mode{treasury="harbor",mode="live"} 1',
          'cofferer_mode{treasury="harbor",mode="shadow"} 0',
          'cofferer_pauses{treasury="harbor",scope="maintenance"} 0',
          'cofferer_signer_requests_total{treasury="harbor",decision="permitted",reason="none"} 0',
          'cofferer_signer_requests_total{treasury="harbor",decision="refused",reason="floor"} 0',
          'cofferer_paid_amount_total{treasury="harbor",asset="USDT"} 0',
          'cofferer_stage_duration_seconds_count{treasury="harbor",stage="total"} 0',
          'cofferer_mempool_submissions_total{treasury="harbor",gateway="b",send="first",outcome="refused",code="other"} 0',
        ]) {
          assert.include(shown, `\n${series}\n`)
        }
        assert.include(shown, 'outcome="duplicate",code="89"} 0\n')
        assert.include(shown, 'outcome="ambiguous",code="0"} 0\n')
        assert.notInclude(shown, 'outcome="accepted",code="none"')
        assert.notInclude(shown, 'decision="permitted",reason="floor"')
        assert.notMatch(shown, /^cofferer_(store_free_bytes|gateway_height|mempool_acceptance_ratio)\b/m)
      }),
    ),
  )

  it.effect("are OpenMetrics where that is asked for, and Prometheus' own form afterwards", () =>
    withMetrics(
      Effect.fnUntraced(function* ({ text }) {
        const shown = yield* Effect.promise(text)
        const open = toOpenMetrics(shown)
        assert.include(open, "\n# TYPE cofferer_loop_failures counter\ncofferer_loop_failures_total{")
        assert.include(open, "\n# TYPE process_cpu_user_seconds counter\nprocess_cpu_user_seconds_total ")
        assert.match(open, /[^\n]\n# EOF\n$/)
        assert.notInclude(open, "\n\n")
        assert.include(yield* Effect.promise(text), "\n# TYPE cofferer_loop_failures_total counter\n")
      }),
    ),
  )
})
