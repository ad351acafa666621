import { execFileSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { DockerfileParser } from "dockerfile-ast"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** One instruction of a Dockerfile. */
export interface Step {
  readonly keyword: string
  /** Name of the stage that it stands in. */
  readonly stage: string
  readonly flags: ReadonlyMap<string, string>
  /** The arguments without flags: of the exec form its strings, else the words. */
  readonly words: ReadonlyArray<string>
  readonly isExec: boolean
  /** The instruction as written, with its lines joined. */
  readonly text: string
}

export const readSteps = (dockerfile: string): ReadonlyArray<Step> => {
  let stage = ""
  return DockerfileParser.parse(dockerfile)
    .getInstructions()
    .map((instruction) => {
      const keyword = instruction.getKeyword()
      const text = instruction.getTextContent().replaceAll(/\\\n\s*/g, "")
      const rest = text.slice(keyword.length).trim()
      const flags = new Map(
        [...rest.matchAll(/(?:^|(?<=\s))--([a-z-]+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
      )
      const body = keyword === "RUN" ? rest : rest.replaceAll(/(?:^|(?<=\s))--[a-z-]+=\S+\s*/g, "").trim()
      const list = body.replace(/^CMD\s+/, "")
      const isExec = list.startsWith("[")
      const words: ReadonlyArray<string> = isExec ? JSON.parse(list) : body.split(/\s+/)
      if (keyword === "FROM") stage = words.at(-1)!
      return { keyword, stage, flags, words, isExec, text }
    })
}

/**
 * Lays out below `into` the file tree of the last stage, as its COPY instructions make it. What the first stage
 * bundles is bundled from this checkout and its packages: the same versions, without the network.
 */
export const assemble = (steps: ReadonlyArray<Step>, into: string): void => {
  const stage = steps.at(-1)!.stage
  let folder = "/"
  for (const { keyword, flags, words } of steps.filter((step) => step.stage === stage)) {
    if (keyword === "WORKDIR") folder = posix.resolve(folder, words[0]!)
    if (keyword !== "COPY") continue
    const target = posix.resolve(folder, words.at(-1)!)
    const mode = flags.has("chmod") ? Number.parseInt(flags.get("chmod")!, 8) : undefined
    for (const source of words.slice(0, -1)) {
      if (flags.has("from")) {
        execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", ".ci/bundle.ts", join(into, target)], {
          cwd: root,
        })
      } else copy(source, join(into, words.at(-1)!.endsWith("/") ? posix.join(target, source) : target), mode)
    }
  }
}

const copy = (source: string, target: string, mode: number | undefined): void => {
  cpSync(join(root, source), target, { recursive: true })
  if (mode !== undefined) changeMode(target, mode)
}

const changeMode = (path: string, mode: number): void => {
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) changeMode(join(path, name), mode)
  chmodSync(path, mode)
}

/** Folders for `run.sh`: the image, its volume, a configuration, and the variables that the Dockerfile sets. */
export const makeContainer = (steps: ReadonlyArray<Step>, into: string): void => {
  assemble(steps, join(into, "image"))
  for (const name of ["data", "config"]) mkdirSync(join(into, name))
  const stage = steps.at(-1)!.stage
  const variables = steps.filter((s) => s.keyword === "ENV" && s.stage === stage).flatMap((s) => s.words)
  writeFileSync(join(into, "env"), `${variables.join("\n")}\n`)
}
