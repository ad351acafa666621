import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { metricGroups } from "../../src/telemetry/metricTable.ts"
import { root } from "../support/Cofferer.ts"
import { parsePage } from "../tidy/Markdown.ts"

const read = (path: string): string => readFileSync(join(root, path), "utf8")
const folder = "config/monitoring"

interface Rule {
  readonly alert?: string
  readonly expr: string
  readonly labels?: { readonly severity: string }
  readonly annotations?: { readonly summary: string; readonly runbook: string }
}
const { groups } = parse(read(`${folder}/alerts.yaml`)) as { readonly groups: ReadonlyArray<{ rules: Array<Rule> }> }
const rules = groups.flatMap((group) => group.rules)
const alerts = rules.filter(({ alert }) => alert !== undefined)

interface Panel {
  readonly type: string
  readonly title: string
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}
const { panels, uid } = JSON.parse(read(`${folder}/grafana/dashboard.json`)) as {
  readonly panels: ReadonlyArray<Panel>
  readonly uid: string
}
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

const metrics = Object.values<Readonly<Record<string, { readonly name: string; readonly labels: object }>>>(
  metricGroups,
).flatMap((group) => Object.values(group))
const nameOf = (text: string): string => text.replace(/_(bucket|sum|count)$/, "")
const namesIn = (texts: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(texts.flatMap((text) => [...text.matchAll(/(?<!:)\bcofferer_(\w+)/g)].map(([, name = ""]) => nameOf(name))))

describe("rules and dashboard", () => {
  it("use metrics that there are", () => {
    // These are of the process, where it runs several treasuries.
    const known = new Set([...metrics.map(({ name }) => name), "treasury_up", "treasury_standby"])
    const used = namesIn([...rules.map(({ expr }) => expr), ...queries])
    assert.isAbove(used.size, 30)
    assert.deepStrictEqual(
      [...used].filter((name) => !known.has(name)),
      [],
    )
  })

  it("use label values that there are", () => {
    const wrong = [...rules.map(({ expr }) => expr), ...queries].flatMap((text) =>
      [...text.matchAll(/\bcofferer_(\w+)\{([^}]*)\}/g)].flatMap(([, name = "", matchers = ""]) => {
        const labels = metrics.find((metric) => metric.name === nameOf(name))?.labels ?? {}
        return [...matchers.matchAll(/(\w+)[=!~]+"([^"]*)"/g)].flatMap(([, label = "", value = ""]) => {
          const values: unknown =
            label === "treasury" ? "treasury" : Object.entries(labels).find(([key]) => key === label)?.[1]
          if (values === undefined) return [`${name} has no label ${label}`]
          return Array.isArray(values) ? value.split("|").filter((one) => !values.includes(one)) : []
        })
      }),
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("show every metric", () => {
    const shown = namesIn([...rules.map(({ expr }) => expr), ...queries])
    assert.deepStrictEqual(
      metrics.map(({ name }) => name).filter((name) => !shown.has(name)),
      [],
    )
  })
})

describe("the dashboard", () => {
  it("has a row for each question, and the data source that is provisioned", () => {
    const rows = panels.filter(({ type }) => type === "row").map(({ title }) => title)
    assert.deepStrictEqual(rows, Object.keys(metricGroups))
    const { datasources } = parse(read(`${folder}/grafana/datasource.yaml`)) as {
      readonly datasources: ReadonlyArray<{ readonly uid: string }>
    }
    assert.deepStrictEqual([datasources[0]?.uid], [uid])
  })
})

describe("an alert", () => {
  it("is one of 28 and more, each by its treasury", () => {
    assert.isAtLeast(alerts.length, 28)
    const unlike = alerts.filter(({ alert, expr }) => alert !== "CoffererWatchdog" && !/\bby \(treasury\b/.test(expr))
    assert.deepStrictEqual(unlike, [])
    assert.strictEqual(new Set(alerts.map(({ alert }) => alert)).size, alerts.length)
  })

  it.each(alerts.map(({ alert, ...rule }) => [String(alert), rule] as const))(
    "%s has a severity, a summary and its line in the runbook",
    (alert, { labels, annotations }) => {
      assert.include(["page", "ticket", "info"], labels?.severity)
      assert.isAbove(annotations?.summary.length ?? 0, 20)
      const [path = "", anchor = ""] = annotations?.runbook.split("#") ?? []
      const text = read(path)
      assert.include(parsePage(text).anchors, anchor)
      const section = text.split("\n### ").find((part) => {
        const title = part.split("\n")[0] ?? ""
        return title.toLowerCase().replaceAll(" ", "-") === anchor
      })
      assert.include(section, `| \`${alert}\` | ${labels?.severity} | `)
    },
  )

  it("is in the runbook only where there is one", () => {
    const named = [...read("docs/monitoring.md").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
    assert.sameMembers(
      named,
      alerts.map(({ alert }) => alert),
    )
  })
})

describe("the compose file", () => {
  interface Service {
    readonly image?: string
    readonly build?: string
    readonly profiles?: ReadonlyArray<string>
    readonly command?: ReadonlyArray<string>
    readonly volumes: ReadonlyArray<string>
    readonly environment?: Readonly<Record<string, string>>
    readonly secrets?: ReadonlyArray<string>
    readonly depends_on?: Readonly<Record<string, unknown>>
  }
  const {
    services,
    secrets,
    volumes: declared,
  } = parse(read("config/compose.yaml"), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>
    readonly secrets: Readonly<Record<string, { readonly file: string }>>
    readonly volumes: object
  }
  const beside = Object.entries(services).filter(([name]) => name !== "cofferer")

  it("starts Cofferer alone, and the others by their profiles", () => {
    const {
      undefined: alone,
      monitoring,
      replicas,
    } = Object.groupBy(Object.keys(services), (name) => String(services[name]?.profiles))
    assert.deepStrictEqual(alone, ["cofferer"])
    assert.deepStrictEqual(monitoring, ["prometheus", "alertmanager", "grafana"])
    assert.deepStrictEqual(replicas, ["postgres", "replica-1", "replica-2", "replica-3"])
  })

  it("pins versions, and mounts files that there are and volumes that it declares", () => {
    for (const [name, { image, build, volumes }] of beside) {
      if (build === undefined) assert.match(image ?? "", /^(\w+\/)?\w+:v?\d+\.\d+(\.\d+)?$/, name)
      for (const volume of volumes.map((one) => one.split(":")[0] ?? "")) {
        if (!volume.startsWith("./")) assert.property(declared, volume)
        // What the operator writes is not there yet.
        else if (volume !== "./treasuries") read(join("config", volume))
      }
    }
  })

  it("listens on loopback alone, each at an address of its own", () => {
    const replicas: Array<string | undefined> = []
    for (const [name, { command = [], environment = {} }] of beside) {
      assert.include([...command, ...Object.values(environment)].join(" "), "127.0.0.1", name)
      if (name.startsWith("replica")) replicas.push(environment["COFFERER_LISTEN"])
    }
    assert.deepStrictEqual(replicas, ["127.0.0.1:9464", "127.0.0.1:9465", "127.0.0.1:9466"])
  })

  it("gives each replica data of its own, and all of them one folder and one database", () => {
    const replicas = beside.filter(([name]) => name.startsWith("replica"))
    assert.lengthOf(new Set(replicas.map(([, { volumes }]) => volumes.find((one) => one.endsWith(":/data")))), 3)
    for (const [, one] of replicas) {
      assert.include(one.volumes, "./treasuries:/config:ro")
      assert.deepStrictEqual(one.command, ["run", "/config"])
      assert.deepStrictEqual(Object.keys(one.depends_on ?? {}), ["postgres"])
    }
    assert.deepStrictEqual(services["postgres"]?.secrets, Object.keys(secrets))
    assert.strictEqual(services["postgres"]?.environment?.["POSTGRES_PASSWORD_FILE"], "/run/secrets/postgres")
    assert.strictEqual(secrets["postgres"]?.file, "./treasuries/secrets/postgres")
  })
})
