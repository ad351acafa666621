import { type Code, complaint, folderOf, isNode, member, walk } from "./Source.ts"

/** Lowest first. What a folder imports lies below it or in it. */
export const layers: ReadonlyArray<ReadonlyArray<string>> = [
  ["domain"],
  ["rules", "tx"],
  ["payments"],
  ["config", "telemetry", "sockets"],
  ["store", "backtest"],
  ["gateway", "signer", "pow", "notify"],
  ["poller", "engine", "submitter", "alerts"],
  ["http", "sandbox"],
  ["main.ts", "daemon.ts", "layers.ts", "Supervisor.ts", "cli"],
]

const layerOf = (folder: string): number => layers.findIndex((layer) => layer.includes(folder))
const top = layers.length - 1

export const importsPointDown = (code: Code): ReadonlyArray<string> => {
  const own = folderOf(code.path)
  if (layerOf(own) < 0) return [complaint(code.path, 1, `${own} is in no layer`)]
  return code.imports.flatMap(({ target, specifier, line }) => {
    if (target === undefined) return []
    if (!target.startsWith("src/")) return [complaint(code.path, line, `${specifier} leaves src`)]
    if (!/\.(ts|json|wasm)$/.test(target)) return [complaint(code.path, line, `${specifier} names no file`)]
    const other = folderOf(target)
    if (other === own || layerOf(own) === top) return []
    if (layerOf(other) >= 0 && layerOf(other) < layerOf(own)) return []
    return [complaint(code.path, line, `${own} must not import ${other}`)]
  })
}

const sandboxMayImport =
  /^src\/(sandbox|domain|tx|sockets|gateway\/schema)\/|^src\/(config\/(yaml\/(Yaml|decodeParts|ConfigError|readBytes)|schema\/Fields)|store\/database\/NodeSqlite)\.ts$/

/** The sandbox is a foreign world: what it shared with the program, it could not put to the test. */
export const sandboxStandsAlone = (code: Code): ReadonlyArray<string> =>
  code.imports.flatMap(({ target, specifier, line }) => {
    if (target === undefined) return []
    const own = folderOf(code.path)
    if (own === "sandbox") {
      return sandboxMayImport.test(target) ? [] : [complaint(code.path, line, `sandbox must not import ${specifier}`)]
    }
    const wanted = target.startsWith("src/sandbox/")
    return wanted && own !== "cli" ? [complaint(code.path, line, `only cli and tests import the sandbox`)] : []
  })

/** Who may hold what moves money. */
export const writerIsForSubmitter = (code: Code): ReadonlyArray<string> =>
  code.imports.flatMap(({ target, line }) =>
    target === "src/gateway/GatewayWriter.ts" &&
    !["gateway", "submitter", "cli", "layers.ts"].includes(folderOf(code.path))
      ? [complaint(code.path, line, "only submitter, layers and cli import GatewayWriter")]
      : [],
  )

const pureEffect = new Set([
  "Brand",
  "Schema",
  "SchemaGetter",
  "SchemaIssue",
  "Data",
  "Match",
  "Option",
  "Result",
  "Duration",
  "DateTime",
  "Cron",
  "Graph",
  "BigInt",
])
const pureCrypto = new Set(["createPublicKey", "verify", "createHash", "hash", "KeyObject"])
const purePackage = /^(@noble\/hashes|@bufbuild\/protobuf|unhomoglyph)(\/|$)/

const pureName = (specifier: string, name: string): boolean => {
  if (specifier === "effect") return pureEffect.has(name)
  if (specifier.startsWith("effect/")) return pureEffect.has(specifier.slice("effect/".length))
  if (specifier === "node:crypto") return pureCrypto.has(name)
  return purePackage.test(specifier)
}

/** What tells the time, a random number, or something about the world. */
const impure: Readonly<Record<string, RegExp>> = {
  Date: /^now$/,
  DateTime: /^now/,
  Math: /^random$/,
  performance: /./,
  crypto: /^(getRandomValues|randomUUID|subtle)$/,
  process: /./,
  console: /./,
  globalThis: /./,
}
const impureCalls = new Set(["fetch", "setTimeout", "setInterval", "setImmediate", "queueMicrotask"])

/** domain, rules, tx and payments compute and nothing else: time, balances and luck come in as arguments. */
export const lowLayersArePure = (code: Code): ReadonlyArray<string> => {
  if (!["domain", "rules", "tx", "payments"].includes(folderOf(code.path))) return []
  const complaints = code.imports.flatMap(({ specifier, names, target, line }) =>
    target !== undefined
      ? []
      : names
          .filter((name) => !pureName(specifier, name))
          .map((name) => complaint(code.path, line, `${name} of ${specifier} is not pure`)),
  )
  const at = (offset: number, what: string) =>
    complaints.push(complaint(code.path, code.text.slice(0, offset).split("\n").length, `${what} is not pure`))
  walk(code.tree, (node) => {
    const [object, property] = member(node) ?? []
    if (
      object !== undefined &&
      property !== undefined &&
      Object.hasOwn(impure, object) &&
      impure[object]!.test(property)
    ) {
      at(node.start, `${object}.${property}`)
    }
    const callee = node["callee"]
    if (!isNode(callee)) return
    const name = String(callee["name"])
    const date = node.type === "NewExpression" && name === "Date" && (node["arguments"] as Array<unknown>).length === 0
    if (date || (node.type === "CallExpression" && impureCalls.has(name))) at(node.start, `${name}()`)
  })
  return complaints
}

interface Outside {
  readonly what: string
  readonly module: RegExp
  readonly names?: RegExp
  readonly folders: ReadonlyArray<string>
}

/** Each outside thing, and the folders that touch it. */
const outsides: ReadonlyArray<Outside> = [
  { what: "SQL", module: /^(node:sqlite|effect\/sql(\/.*)?|@effect\/sql-.*)$/, folders: ["store", "sandbox"] },
  {
    what: "HTTP client",
    module: /^(effect\/http(\/.*)?|@effect\/platform-node\/.*|node:https?|undici)$/,
    names: /^(HttpClient.*|FetchHttpClient|NodeHttpClient|Undici|request|get|Agent|\*)$/,
    folders: ["sockets", "gateway", "notify", "cli"],
  },
  { what: "WebSocket client", module: /^(ws|@effect\/platform-node\/NodeWS)$/, folders: ["gateway"] },
  { what: "thread", module: /^(node:)?worker_threads$/, folders: ["pow"] },
  { what: "metrics and log library", module: /^(prom-client|pino)$/, folders: ["telemetry"] },
  {
    what: "file",
    module: /^(node:)?fs(\/promises)?$/,
    folders: ["config", "signer", "sandbox", "http", "store", "cli", "main.ts"],
  },
  {
    what: "private key",
    module: /^(node:crypto|@noble\/ed25519)$/,
    names: /^(createPrivateKey|createSecretKey|sign|signAsync|getPublicKey.*|generateKeyPair.*|createECDH|\*)$/,
    folders: ["signer", "sandbox"],
  },
  {
    what: "wallet library",
    module: /^(age-encryption|@scure\/bip39|micro-key-producer)(\/.*)?$/,
    folders: ["signer"],
  },
  { what: "YAML", module: /^yaml$/, folders: ["config"] },
  { what: "mail", module: /^nodemailer$/, folders: ["notify"] },
  { what: "page library", module: /^(preact|htm)(\/.*)?$/, folders: ["http"] },
  // Rules in code (config/code/codeProcess.ts) and programs that operators are told by (notify/channels.ts).
  { what: "child process", module: /^(node:)?child_process$/, folders: ["config", "notify"] },
]

export const outsideIsTouchedOnce = (code: Code): ReadonlyArray<string> =>
  code.imports.flatMap(({ specifier, names, line }) =>
    outsides
      .filter(({ module, names: wanted, folders }) => {
        const meant = wanted === undefined || names.some((name) => nameMatches(wanted, specifier, name))
        return module.test(specifier) && meant && !folders.includes(folderOf(code.path))
      })
      .map(({ what, folders }) => complaint(code.path, line, `${what} belongs to ${folders.join(", ") || "nobody"}`)),
  )

/** A namespace import of one module stands for that module's name, of a barrel for everything in it. */
const nameMatches = (wanted: RegExp, specifier: string, name: string): boolean => {
  const last = specifier.split("/").at(-1)!
  return name === "*" && /^[A-Z]/.test(last) ? wanted.test(last) : wanted.test(name)
}
