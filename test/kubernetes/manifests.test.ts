import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor"
import { Effect } from "effect"
import { Deployment } from "kubernetes-models/apps/v1/Deployment"
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy"
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget"
import { Service } from "kubernetes-models/v1/Service"
import { readEnvironment } from "../../src/config/Environment.ts"
import { root } from "../support/Cofferer.ts"
import { manifestTexts, readManifests } from "./manifests.ts"

const read = (path: string): string => readFileSync(join(root, path), "utf8")
const models = { Deployment, NetworkPolicy, PodDisruptionBudget, Service, ServiceMonitor }

/** The values at paths below a kind's spec: names and indices, separated by dots. */
type Get = (kind: keyof typeof models, ...paths: ReadonlyArray<string>) => ReadonlyArray<unknown>
const getOf = (texts: ReadonlyArray<string>): Get => {
  const manifests = readManifests(texts)
  const step = (value: unknown, name: string) => (value as Readonly<Record<string, unknown>> | undefined)?.[name]
  return (kind, ...paths) => {
    const manifest = manifests.find((one) => one.kind === kind)
    return paths.map((path) => path.split(".").reduce(step, manifest as unknown))
  }
}
const inPod = (get: Get, ...paths: ReadonlyArray<string>) =>
  get("Deployment", ...paths.map((path) => `spec.template.spec.${path}`))
const inContainer = (get: Get, ...paths: ReadonlyArray<string>) =>
  inPod(get, ...paths.map((path) => `containers.0.${path}`))
const envOf = (get: Get): Record<string, string> => {
  const [env] = inContainer(get, "env") as [ReadonlyArray<{ name: string; value: string }>]
  return Object.fromEntries(env.map(({ name, value }) => [name, value]))
}
const mountsOf = (get: Get): ReadonlyArray<string> =>
  (inContainer(get, "volumeMounts") as [ReadonlyArray<{ mountPath: string }>])[0].map(({ mountPath }) => mountPath)
const same = (found: ReadonlyArray<unknown>, ...expected: ReadonlyArray<unknown>) => isDeepStrictEqual(found, expected)
const probes = ["startupProbe", "livenessProbe", "readinessProbe"]

/** [what holds, how it is seen, an edit after which it does not hold] */
const rules: ReadonlyArray<readonly [string, (get: Get) => boolean, readonly [string, string]]> = [
  ["run three replicas", (get) => same(get("Deployment", "spec.replicas"), 3), ["replicas: 3", "replicas: 1"]],
  [
    "stop one at a time, and none for a new one",
    (get) =>
      same(get("Deployment", "spec.strategy.rollingUpdate"), { maxSurge: 0, maxUnavailable: 1 }) &&
      same(get("PodDisruptionBudget", "spec.maxUnavailable"), 1),
    ["  maxUnavailable: 1", "  maxUnavailable: 2"],
  ],
  [
    "give it longer to drain than it takes",
    (get) => Number(inPod(get, "terminationGracePeriodSeconds")[0]) > 10,
    ["PeriodSeconds: 30", "PeriodSeconds: 10"],
  ],
  [
    "mean the same pods everywhere",
    (get) => {
      const labels = [
        ...get("Deployment", "spec.selector.matchLabels", "spec.template.metadata.labels"),
        ...inPod(get, "topologySpreadConstraints.0.labelSelector.matchLabels"),
        ...get("PodDisruptionBudget", "spec.selector.matchLabels"),
        ...get("NetworkPolicy", "spec.podSelector.matchLabels"),
        ...get("Service", "spec.selector", "metadata.labels"),
        ...get("ServiceMonitor", "spec.selector.matchLabels"),
      ]
      return labels.every((one) => one !== undefined && isDeepStrictEqual(one, labels[0]))
    },
    ["podSelector: { matchLabels: { app.kubernetes.io/name", "podSelector: { matchLabels: { app"],
  ],
  [
    "ask each probe for what it means",
    (get) => same(inContainer(get, ...probes.map((one) => `${one}.httpGet.path`)), "/livez", "/livez", "/readyz"),
    ["livenessProbe: { httpGet: { path: /livez", "livenessProbe: { httpGet: { path: /readyz"],
  ],
  [
    "name one port of metrics",
    (get) => {
      const [name, port] = inContainer(get, "ports.0.name", "ports.0.containerPort")
      const names = [
        ...inContainer(get, ...probes.map((one) => `${one}.httpGet.port`)),
        ...get("Service", "spec.ports.0.name", "spec.ports.0.targetPort"),
        ...get("ServiceMonitor", "spec.endpoints.0.port"),
        ...get("NetworkPolicy", "spec.ingress.0.ports.0.port"),
      ]
      return names.every((one) => one === name) && envOf(get)["COFFERER_METRICS"] === `0.0.0.0:${port}`
    },
    ["0.0.0.0:9465", "0.0.0.0:9464"],
  ],
  [
    "set variables that Cofferer has",
    (get) => Effect.runSync(Effect.isSuccess(readEnvironment(envOf(get)))),
    ["COFFERER_DATA_DIR", "COFFERER_DATADIR"],
  ],
  [
    "run the image's user, whose group alone reads the secrets",
    (get) => {
      const [user, group] = inPod(get, "securityContext.runAsUser", "securityContext.runAsGroup")
      const isImages = read("Dockerfile").includes(`\nUSER ${user}:${group}\n`)
      return isImages && same(inPod(get, "securityContext.fsGroup", "volumes.1.secret.defaultMode"), group, 0o440)
    },
    ["defaultMode: 288", "defaultMode: 420"],
  ],
  [
    "allow the container nothing that it does not need",
    (get) => {
      const context = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } }
      const ofPod = [
        "securityContext.runAsNonRoot",
        "securityContext.seccompProfile.type",
        "automountServiceAccountToken",
      ]
      return (
        same(inContainer(get, "securityContext"), context) && same(inPod(get, ...ofPod), true, "RuntimeDefault", false)
      )
    },
    ["readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"],
  ],
  [
    "keep data in a folder of its own below a volume, which root owns",
    (get) => mountsOf(get).includes(dirname(envOf(get)["COFFERER_DATA_DIR"] ?? "")),
    ["value: /data/cofferer", "value: /data"],
  ],
  [
    "run the folder that is mounted",
    (get) => same(inContainer(get, "args"), ["run", "/config"]) && mountsOf(get).includes("/config"),
    ["[run, /config]", "[run, /config/treasury.yaml]"],
  ],
  [
    "leave room beside the heap, and limit no processor",
    (get) => {
      const heap = Number(/--max-old-space-size=(\d+)/.exec(read("src/cofferer.sh"))?.[1])
      return same(inContainer(get, "resources.limits"), { memory: `${heap + 512}Mi` })
    },
    ["memory: 1536Mi", "memory: 1024Mi"],
  ],
  [
    "keep it from the cloud's metadata",
    (get) =>
      same(get("NetworkPolicy", "spec.policyTypes"), ["Ingress", "Egress"]) &&
      same(get("NetworkPolicy", "spec.egress.1.to.0.ipBlock.except"), ["169.254.0.0/16"]),
    [", except: [169.254.0.0/16]", ""],
  ],
]

describe("the manifests for Kubernetes", () => {
  it("are valid by the schemas of Kubernetes and of the Prometheus Operator", () => {
    const manifests = readManifests(manifestTexts)
    assert.sameMembers(
      manifests.map(({ kind }) => kind),
      Object.keys(models),
    )
    for (const { kind, ...rest } of manifests) {
      const Model = models[kind as keyof typeof models] as unknown as { readonly apiVersion: string } & (new (
        data: object,
      ) => { readonly validate: () => void })
      new Model({ kind, ...rest }).validate()
      assert.throws(() => new Model({ kind, ...rest, spec: "three" }).validate())
    }
  })

  it.each([...rules])("%s", (_, holds, [from, to]) => {
    assert.isTrue(holds(getOf(manifestTexts)))
    const broken = manifestTexts.map((text) => text.replace(from, to))
    assert.notDeepEqual(broken, manifestTexts, "the edit no longer applies")
    assert.isFalse(holds(getOf(broken)), "the rule does not see the edit")
  })
})
