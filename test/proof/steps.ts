import { keptMutants } from "../mutants/kept.ts"
import { mechanicalMutants } from "../mutants/mechanical.ts"
import type { Step } from "./runSteps.ts"

const parts = (last: number, size: number): ReadonlyArray<readonly [first: number, until: number]> =>
  Array.from({ length: Math.ceil(last / size) }, (_, i) => [i * size + 1, Math.min(last, (i + 1) * size)])

/** One script of package.json with its arguments. */
const step = (name: string, script: string, text: string): Step => ({
  name,
  command: ["npm", "run", "-s", script, "--", ...text.split(" ")],
})

/** A range of seeds or mutants as steps of about twenty minutes: a restart repeats one of them at most. */
const ranged = (name: string, script: string, last: number, size: number, text: string): ReadonlyArray<Step> =>
  parts(last, size).map(([first, until]) =>
    step(`${name} ${first}-${until}`, script, `--first ${first} --until ${until} ${text}`),
  )

const seeded = (name: string, script: string, seeds: number, text: string): ReadonlyArray<Step> =>
  parts(seeds, 1).map(([seed]) => step(`${name} ${seed}`, script, `${text} --seed ${seed}`))

/** Every long proof of the project. Simulations keep their figures, mutants what they tried, in the directory. */
export const stepsOf = (dir: string): ReadonlyArray<Step> => {
  const worlds = (gateways: string, seeds: number, size: number) =>
    ranged(gateways, "sim", seeds, size, `--gateways ${gateways} --figures ${dir}/${gateways}.json`)
  const mutants = (kind: string, count: number, size: number, text: string) =>
    ranged(kind, "mutants", count, size, `--${kind} ${text} --table ${dir}/${kind}.jsonl`)
  return [
    { name: "coverage", command: ["npm", "run", "-s", "coverage"] },
    { name: "lies", command: ["npm", "run", "-s", "lies"] },
    step("lies-http", "lies", "--http"),
    ...["statements", "limits", "month", "calm", "year"].map((name) => step(name, "sim", `--${name}`)),
    step("reads", "crash", "--reads"),
    { name: "outages", command: ["node", "--disable-warning=ExperimentalWarning", "test/proof/outages/main.ts"] },
    { name: "replicas", command: ["node", "--disable-warning=ExperimentalWarning", "test/proof/replicas/main.ts"] },
    { name: "isolation", command: ["node", "--disable-warning=ExperimentalWarning", "test/proof/isolation/main.ts"] },
    { name: "replicas frozen", command: ["npx", "vitest", "run", "--project", "proof"] },
    ...seeded("kills", "crash", 2, "--kills 250"),
    ...seeded("power", "crash", 4, "--power 25"),
    {
      name: "rounds",
      command: [
        "env",
        "COFFERER_TEST_ROUNDS=500",
        "npx",
        "vitest",
        "run",
        "--project",
        "deep",
        "threadDeaths",
        "lostStore",
      ],
    },
    {
      name: "solves",
      command: ["env", "COFFERER_TEST_ROUNDS=10000", "npx", "vitest", "run", "--project", "deep", "solves"],
    },
    step("bench", "bench", "--against test/bench/baseline.json"),
    ...worlds("honest", 10_000, 1_000),
    ...worlds("hostile", 10_000, 1_000),
    ...ranged("treasuries", "sim", 1_000, 200, `--treasuries 2 --figures ${dir}/treasuries.json`),
    ...worlds("both", 2_000, 1_000),
    ...worlds("lying", 2_000, 500),
    ...mutants("kept", keptMutants.length, 10, "--seeds 300"),
    ...mutants("mechanical", mechanicalMutants().length, 100, "--seeds 0 --workers 2"),
  ]
}
