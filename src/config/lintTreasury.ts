import type { Finding } from "../rules/lint/Finding.ts"
import { lint } from "../rules/lint/lint.ts"
import { networkTransfersPerDay } from "../rules/worstCase.ts"
import type { Problem } from "./ConfigError.ts"
import type { Treasury } from "./Treasury.ts"

/** Whether the file describes an embedded network, whose quotas are its own. */
export const isEmbedded = ({ document }: Pick<Treasury, "document">): boolean =>
  (document.value as { sandbox?: unknown } | null)?.sandbox !== undefined

/** What is wrong, or worth a second look, with the rules and the policy of a treasury together. */
export const lintTreasury = (treasury: Treasury): ReadonlyArray<Finding> =>
  lint({ ...treasury, transfersPerDay: isEmbedded(treasury) ? undefined : networkTransfersPerDay })

/** Where a finding stands, with its remedy. */
export const problemOf = ({ document }: Pick<Treasury, "document">, { path, message, remedy }: Finding): Problem =>
  document.problem(path, message, remedy)

/** What keeps a treasury whose every value is sound from being used. */
export const lintProblems = (treasury: Treasury): ReadonlyArray<Problem> =>
  lintTreasury(treasury)
    .filter(({ severity }) => severity === "error")
    .map((finding) => problemOf(treasury, finding))
