import type { IntentState } from "../../src/domain/Intent.ts"
import { judge, type Verdict } from "../crash/judge.ts"
import type { Line } from "../support/Cofferer.ts"

type Rows = ReadonlyArray<ReadonlyArray<unknown>>

/** One treasury at the end of a run. */
interface TreasuryEnd {
  readonly name: string
  /** Answers a query; `$` stands for the condition of the treasury's rows. */
  readonly rows: (sql: string) => Rows | Promise<Rows>
  /** What its processes logged. */
  readonly lines: ReadonlyArray<Line>
  /** Transfers of its keys that the ledger executed, each as often as it did. */
  readonly executed: ReadonlyArray<string>
}

/** Payments of a treasury that are lost or were executed twice, by its rows and the ledger. */
export const verdictOf = async ({ name, rows, lines, executed }: TreasuryEnd): Promise<Verdict> =>
  judge({
    intents: (await rows("SELECT id, state, detail FROM intents WHERE $")).map(([id, state, detail]) => ({
      id: String(id),
      state: state as IntentState,
      detail: String(detail),
    })),
    attempts: (await rows("SELECT intent_id, transfer_id FROM attempts WHERE $")).map(([id, transfer]) => ({
      intentId: String(id),
      transferId: String(transfer),
    })),
    decided: new Set(
      (await rows("SELECT DISTINCT subject FROM journal WHERE kind = 'intent' AND $")).map(([id]) => String(id)),
    ),
    told: new Set(
      lines
        .filter((line) => line["msg"] === "payment proposed" && line["treasury"] === name)
        .map((line) => String(line["intent"])),
    ),
    executed,
    halts: (await rows("SELECT reason, detail FROM halts WHERE ended_at IS NULL AND $")).map(
      ([reason, detail]) => `${reason}: ${detail}`,
    ),
    alerts: { raised: 0, wrong: [] },
    broken: undefined,
  })
