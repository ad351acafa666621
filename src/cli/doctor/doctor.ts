import { Effect } from "effect"
import { Command } from "effect/cli"
import { failWith, printResult } from "../common/output.ts"
import { commonFlags, fileArgument, setup } from "../common/setup.ts"
import { type DoctorFinding, doctorChecks, healthy, warn } from "./Finding.ts"
import { daemonFindings, dataDirFindings, keyFindings, portFinding, receiverFindings, wireFormFinding } from "./host.ts"
import { networkFindings } from "./network.ts"

const signs = { ok: "ok  ", warn: "warn", bad: "BAD " } as const

const linesOf = ({ check, severity, text, remedy }: DoctorFinding): ReadonlyArray<string> => {
  const indent = " ".repeat(18)
  return [
    `${signs[severity]}  ${check.replaceAll("_", " ").padEnd(12)}${text}`,
    ...(remedy === null ? [] : [`${indent}fix: ${remedy}`]),
  ]
}

export const doctor = Command.make(
  "doctor",
  { file: fileArgument, ...commonFlags },
  Effect.fn(function* (chosen) {
    const found = yield* setup(chosen)
    const daemon = yield* daemonFindings(found.dataDir).pipe(
      Effect.catch(({ message }) => Effect.succeed([warn("daemon", message, "stop it and start it again")])),
    )
    const isRunning = daemon !== undefined
    const parts = yield* Effect.all([
      networkFindings(found.treasury),
      keyFindings(found),
      dataDirFindings(found),
      Effect.map(portFinding(found, isRunning), (one) => [one]),
      Effect.map(wireFormFinding(found, isRunning), (one) => [one]),
      receiverFindings(found.treasury),
    ])
    const order = (one: DoctorFinding): number => doctorChecks.indexOf(one.check)
    const findings = [...parts.flat(), ...(daemon ?? [healthy("daemon", `none runs in ${found.dataDir}`)])].toSorted(
      (a, b) => order(a) - order(b),
    )
    const failed = findings.filter(({ severity }) => severity === "bad").length
    yield* printResult(chosen.output, { file: found.treasury.file, ok: failed === 0, findings }, () =>
      findings.flatMap(linesOf).join("\n"),
    )
    if (failed > 0) return yield* failWith("unhealthy", `${failed} of ${findings.length} checks failed`)
    return undefined
  }),
).pipe(
  Command.withDescription(
    "Check clock, disk, permissions, port, gateways, keys and receivers, with a fix for each finding",
  ),
)
