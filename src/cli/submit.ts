import { Clock, Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import { deliverOnce, remindersOf } from "../alerts/AlertLoop.ts"
import { ConfigInForce } from "../config/ConfigInForce.ts"
import { secureDataDir } from "../config/ownFiles.ts"
import { decodeYaml } from "../config/yaml/decodeParts.ts"
import { readYaml } from "../config/yaml/Yaml.ts"
import { prepare } from "../daemon.ts"
import { shortId } from "../domain/Hex.ts"
import { isFinalIntent } from "../domain/Intent.ts"
import { SubmitBody, type Submitted, submitPayment } from "../engine/submitPayment.ts"
import { settleTerms } from "../http/termsApproval.ts"
import { daemonLayer } from "../layers.ts"
import { holdsOf } from "../store/controls/Controls.ts"
import { Outbox } from "../store/payments/Outbox.ts"
import { checkKeys } from "./checks.ts"
import { askDaemon, bodyOf, withLastFiles } from "./common/client.ts"
import { failWith, type Output, printResult } from "./common/output.ts"
import { missingSandboxKeys } from "./common/sandboxClient.ts"
import { commonFlags, notRunning, optionalText, pathArgument, setup, userName } from "./common/setup.ts"
import { loggingLayer } from "./run/logging.ts"
import { assetsOf, obeyingHalts, pollOf, settleOpenPayments } from "./run/once.ts"

const absent = ", and the network that the file brings has not run: nothing was submitted"

const takenText = ({ intentId, created, state, needs, listedSince }: Submitted): string => {
  const id = shortId(intentId)
  if (!created) return `already known as ${id}: ${state}`
  const people = needs === null ? "" : `, and needs the approval of ${needs}: "cofferer approve ${id} --key FILE"`
  const lost =
    listedSince === null
      ? "the ledger lists no transfer of this payer yet: if the database was lost, check by hand whether this payment was made before"
      : `if the database was lost: a payment of this idempotencyKey since ${listedSince} is recognized, and not made again`
  return [`queued as ${id}${people}; "cofferer intents show ${id}" shows its progress`, lost].join("\n")
}

/** True if the same payment was submitted before, and ended without moving money. */
const isEndedUnpaid = ({ created, state }: Submitted) => !created && isFinalIntent(state) && state !== "confirmed"

/** Prints the submitted payment. Fails with the halts and pauses that hold it, if any. */
const printTaken = Effect.fnUntraced(function* (output: Output, taken: Submitted) {
  const { intentId, held } = taken
  yield* printResult(output, taken, () => takenText(taken))
  if (isEndedUnpaid(taken)) {
    const unpaid = `${shortId(intentId)} is ${taken.state}, and nothing is paid under its idempotencyKey`
    return yield* failWith("refused", `${unpaid}; if it is still owed, submit it under another one`)
  }
  if (held.length === 0) return undefined
  const waits = `${shortId(intentId)} is queued, and not paid while this holds it`
  return yield* failWith("unhealthy", [`${waits}:`, ...held.map((hold) => `  ${hold}`)].join("\n"))
})

/** Submits a payment to the daemon; if none runs, executes it itself. */
export const submitCommand = Command.make(
  "submit",
  {
    file: pathArgument("payment", "YAML file: idempotencyKey, and transfer: { from, to, asset, amount }"),
    author: optionalText(
      "author",
      "Name of the person who proposes it; an operator of this name cannot approve it; default: your user name",
    ),
    ...commonFlags,
  },
  Effect.fn(function* (chosen) {
    const written = yield* decodeYaml(SubmitBody, yield* readYaml(chosen.file))
    const author = Option.getOrElse(chosen.author, () => written.author ?? userName().replaceAll(/[^\w.@-]/g, "_"))
    const body = { ...written, author }
    const { file: _, ...place } = chosen
    const named = yield* withLastFiles(place)
    const found = yield* setup(named)
    const answer = yield* askDaemon(found.dataDir, "/api/v1/submit", { body })
    if (answer !== undefined) {
      return yield* printTaken(chosen.output, (yield* bodyOf(answer)) as Submitted)
    }
    if (missingSandboxKeys(found, "") !== undefined) return yield* notRunning(named, found.dataDir, absent)
    yield* checkKeys(found, true)
    yield* secureDataDir(found.dataDir)
    const startedAt = yield* Clock.currentTimeMillis
    const pay = Effect.gen(function* () {
      yield* pollOf(found).pipe(
        Effect.catchTag("GatewayError", (error) =>
          notRunning(named, found.dataDir, `, and ${error.message}: nothing was submitted`),
        ),
      )
      yield* settleTerms()
      const inForce = (yield* ConfigInForce).now()
      const taken = yield* submitPayment(inForce.treasury, inForce.mode, body)
      if (taken.held.length > 0) {
        yield* deliverOnce(found.treasury.name, () => remindersOf(inForce.treasury))
        return { taken, final: undefined }
      }
      yield* Effect.andThen(assetsOf(found), settleOpenPayments(found)).pipe(
        Effect.catchTag("GatewayError", (error) =>
          failWith("failure", `queued as ${shortId(taken.intentId)}; a daemon completes it: ${error.message}`),
        ),
      )
      const final = Option.getOrUndefined(yield* (yield* Outbox).byId(taken.intentId))
      const held = final === undefined ? [] : (yield* holdsOf(final)).map(({ text }) => text)
      return { taken: { ...taken, held, state: final?.state ?? taken.state }, final }
    })
    const { taken, final } = yield* Effect.andThen(prepare(found), obeyingHalts(pay, found)).pipe(
      Effect.provide(
        daemonLayer(found).pipe(
          Layer.provideMerge(loggingLayer(found, Option.some("text"), startedAt, { descriptor: 2 })),
        ),
      ),
      Effect.catchTag("SubmitRejected", (error) =>
        failWith(error.byPolicy ? "refused" : "usage", `${error.message}; ${error.remedy}`),
      ),
    )
    if (taken.held.length > 0 || isEndedUnpaid(taken)) return yield* printTaken(chosen.output, taken)
    if (final === undefined) return yield* failWith("failure", "the payment was not recorded")
    if (final.state === "awaiting_approval") return yield* failWith("needsApproval", final.detail)
    if (final.state !== "confirmed") {
      return yield* failWith(final.state === "denied" ? "refused" : "failure", `${final.state}: ${final.detail}`)
    }
    return yield* printResult(
      chosen.output,
      { intentId: final.id, state: final.state },
      () => `confirmed: ${final.detail}`,
    )
  }),
).pipe(Command.withDescription("Submit one payment by hand; the policy applies to it"))
