import { existsSync } from "node:fs"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { keyFileOf } from "../layers.ts"
import { makeKey, openKeyFile, readKeyFile } from "../signer/KeyFile.ts"
import { withLastFiles } from "./common/client.ts"
import { failWith, outputFlag, printResult, table } from "./common/output.ts"
import { commonFlags, fileArgument, pathArgument, setup } from "./common/setup.ts"

const newKey = (description: string) =>
  Command.make(
    "new",
    {
      file: pathArgument("file", "Key file to write; it must not exist"),
      output: outputFlag,
    },
    Effect.fn(function* ({ file, output }) {
      const { publicKey, writeTo } = makeKey()
      yield* writeTo(file).pipe(Effect.mapError(({ message }) => failWith("failure", message)))
      return yield* printResult(output, { file, publicKey }, () => publicKey)
    }),
  ).pipe(Command.withDescription(description))

const show = Command.make(
  "show",
  { file: pathArgument("file", "Key file"), output: outputFlag },
  Effect.fn(function* ({ file, output }) {
    const { publicKey } = yield* readKeyFile(file)
    return yield* printResult(output, { file, publicKey }, () => publicKey)
  }),
).pipe(Command.withDescription("Print the public key of a key file"))

const keyFileState = (file: string | undefined, publicKey: string) => {
  if (file === undefined) return Effect.succeed("no private key here")
  if (!existsSync(file)) return Effect.succeed("missing")
  return openKeyFile(file, publicKey).pipe(
    Effect.as("ok"),
    Effect.catchTag("ConfigError", ({ problems: [problem] }) => Effect.succeed(problem?.message ?? "unusable")),
  )
}

const list = Command.make(
  "list",
  { file: fileArgument, ...commonFlags },
  Effect.fn(function* (chosen) {
    const { treasury, dataDir } = yield* setup(yield* withLastFiles(chosen))
    const parties = yield* Effect.forEach([...treasury.parties.values()], (party) => {
      const keyFile = keyFileOf(party, dataDir)
      return Effect.map(keyFileState(keyFile, party.publicKey), (state) => ({
        kind: "party" as const,
        name: party.name,
        publicKey: party.publicKey,
        file: keyFile ?? null,
        state,
      }))
    })
    const operators = [...treasury.approvals.values()].flatMap((group) =>
      [...group.of].map(([name, publicKey]) => ({
        kind: "operator" as const,
        name,
        publicKey,
        file: null,
        state: `signs for group ${group.name}`,
      })),
    )
    const keys = [...parties, ...operators]
    return yield* printResult(chosen.output, keys, () =>
      table([
        ["name", "kind", "public key", "state"],
        ...keys.map(({ name, kind, publicKey, file, state }) => [
          name,
          kind,
          publicKey,
          file === null ? state : `${state} (${file})`,
        ]),
      ]),
    )
  }),
).pipe(Command.withDescription("List the public keys of a treasury file, and the state of each key file"))

const operator = Command.make("operator").pipe(
  Command.withDescription("Make keys with which operators approve payments"),
  Command.withSubcommands([newKey("Make a key file for an operator, with mode 0600, and print its public key")]),
)

/** Keys of parties move money; keys of operators only approve. */
export const keys = Command.make("keys").pipe(
  Command.withDescription("Make and list keys of parties and operators"),
  Command.withSubcommands([
    newKey("Make a key file for a party's signer, with mode 0600, and print its public key"),
    show,
    list,
    operator,
  ]),
)
