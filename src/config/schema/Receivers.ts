import { Schema } from "effect"
import { nameRemedy } from "../yaml/decodeAll.ts"
import { exactlyOne, HttpText, ListenText, oneOf, PortText, text, UrlText } from "./Fields.ts"

const optional = Schema.optional
const keyForm = /^(0x)?[0-9a-fA-F]{64}$/

/** Path of a file that holds a secret. A key in its place is refused: every error would print it. */
export const File = Schema.String.check(
  Schema.isNonEmpty({ expected: "the path of a file" }),
  Schema.makeFilter(
    (path: string) =>
      !keyForm.test(path) || "this is a key, not the path of a file; put it into a file and write its path",
    { toJsonSchema: () => ({ not: { pattern: keyForm.source } }) },
  ),
)

/** A secret is named by the file that holds it; the treasury file itself never holds one. */
export const SecretFile = Schema.Struct({ file: File })

/** Place of the stores; without it each is a SQLite file. */
export const DatabaseText = Schema.Struct({ postgres: Schema.Struct({ urlFile: File }) })

/** Settings of a process, of one treasury or of several. */
export const processFields = {
  listen: optional(ListenText),
  metrics: optional(ListenText),
  tracing: optional(Schema.Struct({ url: UrlText, headers: optional(Schema.Record(Schema.String, SecretFile)) })),
  logLevel: optional(oneOf("debug", "info", "warning", "error")),
}

/** Variables of a receiver's `text`. */
const textVariables = ["severity", "treasury", "kind", "subject", "detail", "fields"] as const
export type TextVariable = (typeof textVariables)[number]

/** `{severity}` in a text; `fill` gives its value. */
export const fillText = (template: string, fill: (name: string) => string): string =>
  template.replace(/\{([^{}]*)\}/g, (_, name: string) => fill(name))

const TextTemplate = Schema.String.check(
  Schema.isNonEmpty({ expected: "a text with variables such as {subject}" }),
  Schema.makeFilter(
    (value: string) => {
      const unknown: Array<string> = []
      fillText(value, (name) => {
        if (!(textVariables as ReadonlyArray<string>).includes(name)) unknown.push(name)
        return ""
      })
      const [first] = unknown
      return first === undefined ? true : `unknown variable "{${first}}"; ${nameRemedy(first, textVariables, "")}`
    },
    { toJsonSchema: () => ({ pattern: `^(\\{(${textVariables.join("|")})\\}|\\{(?![^{}]*\\})|[^{])*$` }) },
  ),
)

const Flag = oneOf("true", "false")
const Url = Schema.Union([HttpText, SecretFile])
const Headers = Schema.Record(Schema.String, SecretFile)
const common = { text: optional(TextTemplate), allowPrivate: optional(Flag) }
const Mailbox = text(/^[^\s@,<>"]+@[^\s@,<>"]+$/, "a mail address such as ops@harbor.example")

/** Keys of each kind of receiver. */
const fields = {
  log: optional(Schema.Union([Schema.Struct({}), Schema.Literal("")])),
  webhook: optional(Schema.Struct({ url: Url, headers: optional(Headers), secret: optional(SecretFile), ...common })),
  alertmanager: optional(Schema.Struct({ url: Url, headers: optional(Headers), ...common })),
  slack: optional(Schema.Struct({ url: Url, ...common })),
  discord: optional(Schema.Struct({ url: Url, ...common })),
  pagerduty: optional(Schema.Struct({ key: SecretFile, url: optional(HttpText), ...common })),
  telegram: optional(
    Schema.Struct({
      token: SecretFile,
      chat: text(/^(-?[0-9]{1,20}|@[A-Za-z0-9_]{1,64})$/, 'a chat id such as "-1001234567890", or "@channel"'),
      url: optional(HttpText),
      ...common,
    }),
  ),
  email: optional(
    Schema.Struct({
      host: text(/^[A-Za-z0-9.:_-]{1,253}$/, "the name of a mail server"),
      port: optional(PortText),
      tls: optional(oneOf("implicit", "starttls", "none")),
      user: optional(Schema.String),
      password: optional(SecretFile),
      from: Mailbox,
      to: Schema.Array(Mailbox).check(Schema.isMinLength(1, { expected: "at least one mail address" })),
      ...common,
    }),
  ),
  command: optional(
    Schema.Struct({ program: File, args: optional(Schema.Array(Schema.String)), text: optional(TextTemplate) }),
  ),
}
const kinds = Object.keys(fields)

/** A receiver as written: of exactly one kind. */
export const AlertReceiver = Schema.Struct(fields).check(exactlyOne("the receiver", kinds))

/** A receiver with its name; paths of files are absolute. */
export const NamedReceiver = Schema.Struct({ name: Schema.String, ...fields })
export type ReceiverConfig = typeof NamedReceiver.Type

/** The same with each file of a secret replaced. */
export type WithSecrets<T, Secret> = T extends { readonly file: string }
  ? Secret
  : T extends string | undefined | ReadonlyArray<string>
    ? T
    : { readonly [K in keyof T]: WithSecrets<T[K], Secret> }

const isSecretFile = (value: object): value is { readonly file: string } =>
  "file" in value && typeof value.file === "string"

/** Replaces each file of a secret within a value of the configuration. */
export const mapSecrets = <T, Secret>(
  value: T,
  change: (file: string, path: ReadonlyArray<string>) => Secret,
  path: ReadonlyArray<string> = [],
): WithSecrets<T, Secret> => {
  const changed = (inner: unknown, at: ReadonlyArray<string>): unknown => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner
    if (isSecretFile(inner)) return change(inner.file, [...at, "file"])
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, changed(one, [...at, key])]))
  }
  return changed(value, path) as WithSecrets<T, Secret>
}

/** Files of the secrets within a value of the configuration. */
export const secretFilesIn = (value: unknown): ReadonlyArray<string> => {
  const files: Array<string> = []
  mapSecrets(value, (file) => files.push(file))
  return files
}
