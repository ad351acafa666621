import { randomBytes } from "node:crypto"
import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { hexLineOf, keyOf } from "../signer/KeyFile.ts"
import { failWith, outputFlag, printResult } from "./common/output.ts"

/** Writes a new key where nothing lies yet, for its owner alone, and returns its public key. */
const writeNew = (file: string): string => {
  const seed = randomBytes(32)
  const hex = hexLineOf(seed)
  try {
    const publicKey = keyOf(seed)!.publicKey
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const fd = openSync(file, "wx", 0o600)
    try {
      writeSync(fd, hex)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    return publicKey
  } finally {
    seed.fill(0)
    hex.fill(0)
  }
}

const newKey = (description: string) =>
  Command.make(
    "new",
    {
      file: Argument.String("file").pipe(Argument.withDescription("Where the key is written: nothing may lie there")),
      output: outputFlag,
    },
    Effect.fn(function* ({ file, output }) {
      const publicKey = yield* Effect.try({
        try: () => writeNew(file),
        catch: (error) => {
          const { code } = error as NodeJS.ErrnoException
          return failWith(
            "failure",
            code === "EEXIST" ? `${file} lies there already` : `cannot write ${file} (${code})`,
          )
        },
      })
      return yield* printResult(output, { file, publicKey }, () => publicKey)
    }),
  ).pipe(Command.withDescription(description))

const operator = Command.make("operator").pipe(
  Command.withDescription("Keys with which operators approve payments"),
  Command.withSubcommands([newKey("Make an operator's key: the file is its owner's alone, the public key is printed")]),
)

/** Keys of parties, which move money, and of operators, which move none. */
export const keys = Command.make("keys").pipe(
  Command.withDescription("Make keys of parties and operators"),
  Command.withSubcommands([
    newKey("Make a party's key for signer: { file }: the file is its owner's alone, the public key is printed"),
    operator,
  ]),
)
