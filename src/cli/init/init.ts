import { existsSync, lstatSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ProcessContext } from "../../config/Environment.ts"
import { maxFeeDefault, shareOf } from "../../config/resolve/resolvePolicy.ts"
import { Hex64Text, Name } from "../../config/schema/Fields.ts"
import { treasuryOf } from "../../config/Treasury.ts"
import { parseYaml } from "../../config/yaml/Yaml.ts"
import { formatLevel, parseAmount } from "../../domain/Amount.ts"
import { shellWord } from "../../domain/text.ts"
import { isLarger, percent, type Share } from "../../rules/Account.ts"
import { makeKey, type NewKey, readKeyFile } from "../../signer/KeyFile.ts"
import { failWith, outputFlag, printResult } from "../common/output.ts"
import { optionalOf, optionalText, pathArgument } from "../common/setup.ts"
import { askMissing, confirmWrite, gatewaysOf, type InitAnswers, missingFlags } from "./answers.ts"

const nameFlag = (name: string, usual: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withSchema(Name),
    Flag.withDescription(`${description}; default ${usual}`),
    Flag.withDefault(usual),
  )

const flags = {
  file: pathArgument("file", "Treasury file to write; it must not exist; default treasury.yaml").pipe(
    Argument.withDefault("treasury.yaml"),
  ),
  name: optionalText("name", "Name of the treasury; default: the name of the file"),
  gateway: Flag.String("gateway").pipe(
    Flag.withDescription("Address of a gateway, such as https://gateway.example; may be repeated"),
    Flag.atLeast(0),
  ),
  asset: optionalText("asset", "Symbol or id of the asset that the rule pays"),
  below: optionalText("below", "Balance below which the rule pays, in units of the asset"),
  target: optionalText("target", "Balance that the rule restores, in units of the asset"),
  mode: Flag.Literals("mode", ["observe", "shadow", "live"]).pipe(
    Flag.withDescription("Mode of the treasury; shadow decides and pays nothing; default shadow"),
    Flag.withDefault("shadow" as const),
  ),
  payer: nameFlag("payer", "reserve", "Party that pays"),
  payerKey: optionalText("payer-key", "Key file of the payer, made if it does not exist; default secrets/PAYER"),
  payee: nameFlag("payee", "hot", "Party that the rule keeps funded"),
  payeePublicKey: optionalOf(
    "payee-public-key",
    Hex64Text,
    "Public key of that party; default: the key in secrets/PAYEE, made if it does not exist",
  ),
  output: outputFlag,
}

const isName = Schema.is(Name)

/** Default name of the treasury: the file's; for treasury.yaml its folder's; "treasury" if neither is a valid name. */
const nameOf = (file: string): string => {
  const name = basename(file).replace(/\.ya?ml$/, "")
  const folder = basename(dirname(resolve(file)))
  return [name === "treasury" ? folder : name, name].find((one) => isName(one)) ?? "treasury"
}

/** A key that the treasury uses: made here, or found in its file. */
interface Key {
  readonly publicKey: string
  /** Undefined for a party whose key is elsewhere. */
  readonly file: string | undefined
  /** Set if the file does not exist yet. */
  readonly made: NewKey | undefined
}

const keyIn = Effect.fnUntraced(function* (file: string) {
  if (existsSync(file)) return { publicKey: (yield* readKeyFile(file)).publicKey, file, made: undefined } as Key
  const made = makeKey()
  return { publicKey: made.publicKey, file, made } as Key
})

/** The path as the treasury file names it: relative if it is below the folder of the file. */
const pathFrom = (file: string, key: string): string => {
  const path = relative(dirname(resolve(file)), resolve(key))
  return path.startsWith("..") || isAbsolute(path) ? resolve(key) : path
}

const write = (file: string, text: string) =>
  Effect.try({
    try: () => writeFileSync(file, text, { flag: "wx", mode: 0o644 }),
    catch: (error) => {
      const { code } = error as NodeJS.ErrnoException
      // Nothing is overwritten: a partial file would make the next try fail.
      if (code !== "EEXIST") rmSync(file, { force: true })
      return failWith("failure", `cannot write ${file} (${code}); name a file in a directory of this user with space`)
    },
  })

const nextSteps = (file: string, { mode }: Pick<InitAnswers, "mode">, keys: ReadonlyArray<Key>) => {
  const typed = shellWord(file)
  const secrets = keys.flatMap(({ file: secret, made }) => (made === undefined || secret === undefined ? [] : [secret]))
  return [
    ...(secrets.length === 0 ? [] : [`back up ${secrets.join(" and ")}: whoever has a key can move its money`]),
    `cofferer check ${typed}     prints the most that the file permits in 24 hours`,
    `cofferer run ${typed}       starts the daemon, in mode ${mode}`,
    ...(mode === "live" ? [] : [`when its decisions are right, write "mode: live" in ${file} and restart`]),
  ]
}

export const init = Command.make(
  "init",
  flags,
  Effect.fn(function* (chosen) {
    const { file, output } = chosen
    // A file, a folder or a link: nothing is overwritten, and no link is followed.
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) {
      const message = `${file} exists, and nothing is overwritten; name another file: cofferer init FILE`
      return yield* failWith("failure", message)
    }
    const canAsk = (yield* ProcessContext).isInteractive && output === "text"
    const missing = missingFlags(chosen)
    if (missing.length > 0 && !canAsk) {
      const what = `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`
      return yield* failWith("usage", `${what}; on a terminal "cofferer init" asks for them`)
    }
    const isAsked = missing.length > 0
    const answers = yield* askMissing({ ...chosen, name: Option.getOrElse(chosen.name, () => nameOf(file)) })
    const { asset } = answers
    const target = parseAmount(answers.target, asset.decimals)
    if ("error" in target) return yield* failWith("usage", `--target: ${target.error}`)
    const secrets = join(dirname(file), "secrets")
    const payer = yield* keyIn(Option.getOrElse(chosen.payerKey, () => join(secrets, chosen.payer)))
    const payee: Key = Option.isSome(chosen.payeePublicKey)
      ? { publicKey: chosen.payeePublicKey.value, file: undefined, made: undefined }
      : yield* keyIn(join(secrets, chosen.payee))
    const text = treasuryFileText({
      ...answers,
      gateways: gatewaysOf(answers.gateway),
      payer: { name: chosen.payer, publicKey: payer.publicKey, keyFile: pathFrom(file, payer.file!) },
      payee: { name: chosen.payee, publicKey: payee.publicKey },
      targetUnits: target.units,
    })
    // Checked before anything is written: a wrong answer leaves no file behind.
    yield* Effect.flatMap(parseYaml(file, text), treasuryOf)
    if (isAsked && !(yield* confirmWrite(text))) return yield* failWith("failure", "stopped; nothing was written")
    for (const key of [payer, payee]) if (key.made !== undefined) yield* key.made.writeTo(key.file!)
    yield* write(file, text)
    const next = nextSteps(file, answers, [payer, payee])
    const describe = (name: string, { publicKey, file: secret, made }: Key) => {
      const from = secret === undefined ? "" : ` (${made === undefined ? "existing key" : "new key"} in ${secret})`
      return `${name}: public key ${publicKey}${from}`
    }
    const result = {
      file,
      treasury: answers.name,
      chainId: answers.chainId,
      mode: answers.mode,
      asset,
      parties: [
        { name: chosen.payer, publicKey: payer.publicKey, file: payer.file ?? null },
        { name: chosen.payee, publicKey: payee.publicKey, file: payee.file ?? null },
      ],
      next,
    }
    return yield* printResult(output, result, () =>
      [
        `wrote ${file}: mode ${answers.mode}, chain ${answers.chainId}, asset ${asset.symbol}`,
        describe(chosen.payer, payer),
        describe(chosen.payee, payee),
        "next:",
        ...next.map((step, i) => `  ${i + 1}. ${step}`),
      ].join("\n"),
    )
  }),
).pipe(Command.withDescription("Write a first treasury file and its keys, and ask on a terminal for missing values"))

/** The answers to every question of `init`. */
interface NewTreasury extends Omit<InitAnswers, "gateway"> {
  /** Addresses by name. */
  readonly gateways: ReadonlyArray<readonly [name: string, url: string]>
  readonly payer: { readonly name: string; readonly publicKey: string; readonly keyFile: string }
  readonly payee: { readonly name: string; readonly publicKey: string }
  /** The target in base units. */
  readonly targetUnits: bigint
}

const commentColumn = 37
const paymentsPerDay = 4

const noted = (line: string, comment: string): string => `${line.padEnd(commentColumn - 2)}  # ${comment}`

const maxFeeLine = (fee: Share | undefined): string => {
  const usual = `  maxFee: ${maxFeeDefault}`
  if (fee === undefined) return noted(usual, "the gateway does not report its fee: see network.fee above")
  const now = percent(fee).replace(" ", "")
  return isLarger(fee, shareOf(maxFeeDefault))
    ? noted(`  maxFee: ${now}`, "as the network has it; a higher fee is not paid")
    : noted(usual, `the network takes ${now} now; a higher fee than this is not paid`)
}

const quoted = (text: string): string => JSON.stringify(text)
const amount = (units: bigint, decimals: number): string => quoted(formatLevel(units, decimals).replaceAll(",", "_"))

/** A commented treasury file: one payer, one account that is kept funded, and a policy that permits just that. */
const treasuryFileText = (it: NewTreasury): string => {
  const { asset, payer, payee, targetUnits } = it
  const perTransfer = amount(targetUnits, asset.decimals)
  const perDay = amount(targetUnits * BigInt(paymentsPerDay), asset.decimals)
  return `${[
    '# Written by "cofferer init". config/treasury.example.yaml shows every key with its unit and default.',
    "version: 1",
    `name: ${it.name}`,
    noted(`mode: ${it.mode}`, "observe | shadow | live; only live signs and pays"),
    "network:",
    noted(`  chainId: ${quoted(it.chainId)}`, "from the gateway; any other chain halts"),
    noted("  gateways:", "https, or http on loopback; the majority must agree before money moves"),
    ...it.gateways.map(([name, url]) => `    ${name}: ${quoted(url)}`),
    ...(it.feeFactor === undefined
      ? [
          '  # fee: { factor: "0.001", maxQuantum: "1" }   # this gateway reports no fee: without this nothing is signed',
        ]
      : []),
    noted("assets:", "pinned by id: another asset of the same name changes nothing"),
    `  ${asset.symbol}: { id: "${asset.id}", decimals: ${asset.decimals} }`,
    noted("parties:", "only a party that pays has a signer; paths are relative to this file"),
    `  ${payer.name}: { publicKey: "${payer.publicKey}", signer: { file: ${quoted(payer.keyFile)} } }`,
    `  ${payee.name}: { publicKey: "${payee.publicKey}" }`,
    noted("rules:", "docs/rules.md explains every kind of rule"),
    noted(`  - name: keep-${payee.name}-funded`, "below the trigger, bring the balance to the target"),
    `    topUp: { from: ${payer.name}, levels: [{ party: ${payee.name}, asset: ${asset.symbol}, below: ${quoted(it.below)}, target: ${quoted(it.target)} }] }`,
    noted("    for: 30s", "below the trigger this long, and in two observations"),
    noted("    cooldown: 10m", "between two payments to the same account"),
    noted("policy:", "enforced by the signer; what no line allows is not signed"),
    maxFeeLine(it.feeFactor),
    noted("  allow:", `the most that one payment and 24 hours may take: here ${paymentsPerDay} full payments`),
    `    - { from: ${payer.name}, to: [${payee.name}], asset: ${asset.symbol}, perTransfer: ${perTransfer}, per24h: ${perDay}, transfersPer24h: ${paymentsPerDay} }`,
    "alerts:",
    noted("  receivers: { log: { log: {} } }", "the log alone; add webhook, slack, pagerduty, email or a command"),
  ].join("\n")}\n`
}
