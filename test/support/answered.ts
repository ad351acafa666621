import { askAll, questionsOf } from "../../src/rules/kinds/code.ts"
import type { Snapshot } from "../../src/rules/Snapshot.ts"
import type { Subject } from "../../src/rules/Subject.ts"

/** The moment with the answers of the subjects' code, which runs in this process. */
export const answered = (subjects: ReadonlyArray<Subject>, snapshot: Snapshot): Snapshot => {
  const { answers, waited } = askAll(questionsOf(subjects, snapshot))
  if (waited.length > 0) throw new Error("code of another process is not asked here")
  return { ...snapshot, answers }
}
