import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option, Schema } from "effect"
import { isEmbedded } from "../../config/Treasury.ts"
import { ConfigError, type Problem } from "../../config/yaml/ConfigError.ts"
import { readUtf8 } from "../../config/yaml/readBytes.ts"
import { urlFile } from "../../sandbox/Keys.ts"
import { exchange } from "./client.ts"
import { failWith } from "./output.ts"
import { type Chosen, dataDirOf, optionalText, type Setup } from "./setup.ts"

/** Folder of a data directory in which the play-money network keeps its files. */
export const sandboxDir = "sandbox"

export const urlFlag = optionalText(
  "url",
  "Address of the network; default that of the one that runs in the data directory",
)

const timeoutMillis = 5_000

const urlBytesMax = 1_000

/** Address of the network: as given, or that of the network in the data directory. */
const urlOf = Effect.fnUntraced(function* (chosen: Chosen & { readonly url: Option.Option<string> }) {
  if (Option.isSome(chosen.url)) {
    if (/^http:\/\/./.test(chosen.url.value) && URL.canParse(chosen.url.value)) return chosen.url.value
    return yield* failWith(
      "usage",
      `--url ${chosen.url.value} is not an address; write one such as http://127.0.0.1:3008`,
    )
  }
  const dir = join(yield* dataDirOf(chosen), sandboxDir)
  const file = join(dir, urlFile)
  if (!existsSync(file)) {
    return yield* failWith("notFound", `no play-money network runs in ${dir}; name one with --url or --data`)
  }
  const text = readUtf8(file, urlBytesMax)
  return typeof text === "string" ? text.trim() : yield* failWith("notFound", `${file} ${text.problem}`)
})

const Refused = Schema.Struct({ error: Schema.String })

const isRefused = Schema.is(Refused)

interface SandboxRequest {
  readonly method: "GET" | "POST" | "DELETE"
  readonly path: string
  readonly body?: unknown
}

/** A request to the network's own paths. A refusal fails with the network's words: 404 as not found, else as usage. */
export const askSandbox = Effect.fnUntraced(function* (
  chosen: Chosen & { readonly url: Option.Option<string> },
  request: SandboxRequest,
) {
  const url = yield* urlOf(chosen)
  const { hostname, port } = new URL(url)
  const target = { host: hostname.replace(/^\[|\]$/g, ""), port, method: request.method, path: request.path }
  const answer = yield* exchange({ ...target, timeout: timeoutMillis }, request.body).pipe(
    Effect.mapError(({ kind }) =>
      kind === "late"
        ? failWith("timeOut", `${url} does not answer within ${timeoutMillis / 1000} s`)
        : failWith("notFound", `no play-money network answers at ${url}`),
    ),
  )
  const body = yield* Effect.try({
    try: (): unknown => JSON.parse(answer.text),
    catch: () => failWith("failure", `${url} answered with no JSON: is it a play-money network?`),
  })
  if (answer.status < 300) return body
  if (!isRefused(body)) return yield* failWith("notFound", `${url} has no ${request.path}: is it a play-money network?`)
  return yield* failWith(answer.status === 404 ? "notFound" : "usage", body.error.replace(/\s*\n\s*/g, " "))
})

/** Names the missing keys, which the embedded network makes at its first run; undefined if they exist. */
export const missingSandboxKeys = ({ treasury, mode, dataDir }: Setup, command: string): ConfigError | undefined => {
  if (mode !== "live" || !isEmbedded(treasury)) return undefined
  const problems = [...treasury.parties.values()].flatMap(({ name, signer }): ReadonlyArray<Problem> => {
    if (signer === undefined || !("sandbox" in signer)) return []
    if (existsSync(join(dataDir, sandboxDir, "keys", signer.sandbox))) return []
    const message = `the key ${signer.sandbox} is made by the file's own network, which does not run here`
    return [treasury.document.problem(["parties", name, "signer", "sandbox"], message, `add --sandbox: ${command}`)]
  })
  return problems.length === 0 ? undefined : new ConfigError({ problems })
}
