import { type Level, levelsOf, type Rule } from "../rules/Rule.ts"
import type { AccountBalance } from "../store/Observations.ts"

/** A balance is near a level that is off by at most a tenth of it: its next change may reach it. */
const nearParts = 10n

/** Whether an account is near a level of one of the rules: such a level is worth a look each second. */
export const isNear = (rules: ReadonlyArray<Rule>, accounts: ReadonlyArray<AccountBalance>): boolean => {
  const levels = rules.flatMap(levelsOf)
  return levels.length > 0 && accounts.some((account) => levels.some((level) => isNearTo(level, account)))
}

const isNearTo = ({ party, asset, trigger }: Level, account: AccountBalance): boolean => {
  if (account.party !== party.publicKey || account.asset !== asset.id) return false
  if (account.type !== "ACCOUNT_TYPE_GENERAL") return false
  const gap = account.balance > trigger ? account.balance - trigger : trigger - account.balance
  return gap * nearParts <= trigger
}
