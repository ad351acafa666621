import { Effect } from "effect"
import { ConfigError, formatProblem, type Problem } from "../config/ConfigError.ts"
import { readSources } from "../config/readSources.ts"
import type { YamlDocument } from "../config/Yaml.ts"
import { publicKeyOf } from "../sandbox/Keys.ts"
import { decodeScenario } from "../sandbox/Scenario.ts"
import { type Chosen, filesOf } from "./setup.ts"

type Values = Readonly<Record<string, unknown>>

const valuesOf = (value: unknown): Values =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : {}

/** A key that the embedded network makes, and the party of the file that it is for. */
interface Made {
  readonly name: string
  readonly written: unknown
  readonly right: string
  readonly made: string
  readonly pays: boolean
}

/** What is known of the keys however much of the file is wrong. */
const madeOf = ({ value }: YamlDocument): ReadonlyArray<Made> => {
  const { parties, sandbox } = valuesOf(value)
  const { seed, parties: listed } = valuesOf(sandbox)
  if (typeof seed !== "string" || !Array.isArray(listed)) return []
  return Object.entries(valuesOf(parties)).flatMap(([name, party]): ReadonlyArray<Made> => {
    const { signer, publicKey } = valuesOf(party)
    const made = signer === undefined ? name : valuesOf(signer)["sandbox"]
    if (typeof made !== "string" || !listed.includes(made)) return []
    return [{ name, written: publicKey, right: publicKeyOf(seed, made), made, pays: signer !== undefined }]
  })
}

/** With the keys that the network makes as remedies, and those that are wrong beside them. */
const withKeys = (document: YamlDocument, problems: ReadonlyArray<Problem>): ReadonlyArray<Problem> => {
  const wrong = madeOf(document).filter(({ written, right }) => written !== right)
  const ofKey = ({ name }: Made) => problems.find(({ message }) => message.startsWith(`parties.${name}.publicKey `))
  const isTold = wrong.some((one) => one.pays || ofKey(one) !== undefined)
  const mended = new Map(wrong.map((one) => [ofKey(one), `write publicKey: "${one.right}"`]))
  return [
    ...problems.map((problem) => ({ ...problem, remedy: mended.get(problem) ?? problem.remedy })),
    ...wrong
      .filter((one) => isTold && ofKey(one) === undefined)
      .map(({ name, made, right }) => {
        const message = `parties.${name}.publicKey is not the key that the sandbox makes for ${made}`
        return document.problem(["parties", name, "publicKey"], message, `write publicKey: "${right}"`)
      }),
  ]
}

const byPlace = (a: Problem, b: Problem): number =>
  a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1

/**
 * Fails with what is wrong in the embedded network and with its keys as well, where anything of the file is: else they
 * would be told only once the rest is mended.
 */
export const withSandboxFaults =
  (chosen: Chosen) =>
  <A, E, R>(work: Effect.Effect<A, E | ConfigError, R>) =>
    Effect.catchIf(
      work,
      (error) => error instanceof ConfigError,
      (error) => Effect.flatMap(faultsBeside(chosen, error), Effect.fail),
    )

const faultsBeside = Effect.fnUntraced(function* (chosen: Chosen, error: ConfigError) {
  const document = yield* readSources(filesOf(chosen)).pipe(Effect.orElseSucceed(() => undefined))
  if (document === undefined || valuesOf(document.value)["sandbox"] === undefined) return error
  const network = yield* decodeScenario(document, "any").pipe(
    Effect.match({ onFailure: ({ problems }) => problems, onSuccess: (): ReadonlyArray<Problem> => [] }),
  )
  const all = withKeys(document, [...error.problems, ...network])
  const texts = new Map(all.map((problem) => [formatProblem(problem), problem]))
  return new ConfigError({ problems: [...texts.values()].toSorted(byPlace) })
})
