import { Effect } from "effect"
import { storeLayer } from "../services.ts"
import { type ExportAsked, type ExportPage, exportPage } from "../status/exports.ts"
import { type CliFailure, failWith } from "./CliFailure.ts"
import { bodyOf, control } from "./controlClient.ts"
import { dataDirOf } from "./dataDirOf.ts"
import type { Chosen } from "./setup.ts"
import { storedSetup } from "./throughDaemon.ts"

const pathOf = ({ what, from, to, after }: ExportAsked): string =>
  `/api/v1/export?what=${what}&from=${from}&to=${to}&after=${after}`

/** Page after page of an export, from the daemon or where none runs from its database: none is held as a whole. */
export const exportPages = Effect.fnUntraced(function* (
  chosen: Chosen,
  asked: Omit<ExportAsked, "after">,
  use: (page: ExportPage) => Effect.Effect<void, CliFailure>,
) {
  const dataDir = yield* dataDirOf(chosen)
  const answer = yield* control(dataDir, "GET", "/api/v1/live")
  if (answer !== undefined) {
    return yield* eachPage(asked, use, (page) =>
      Effect.flatMap(control(dataDir, "GET", pathOf(page)), (reply) =>
        reply === undefined
          ? Effect.fail(failWith("failure", "the daemon went away; what was read is not all"))
          : Effect.map(bodyOf(reply), (body) => body as ExportPage),
      ),
    )
  }
  return yield* eachPage(asked, use, exportPage).pipe(
    Effect.provide(storeLayer(yield* storedSetup(chosen, dataDir))),
    Effect.catchTag("StoreError", (error) => failWith("failure", error.message)),
  )
})

const eachPage = <E, R>(
  asked: Omit<ExportAsked, "after">,
  use: (page: ExportPage) => Effect.Effect<void, CliFailure>,
  read: (asked: ExportAsked) => Effect.Effect<ExportPage, E, R>,
) =>
  Effect.gen(function* () {
    for (let after: string | null = ""; after !== null; ) {
      const page: ExportPage = yield* read({ ...asked, after })
      yield* use(page)
      after = page.next
    }
  })
