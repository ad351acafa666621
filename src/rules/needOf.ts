import { codeNeed } from "./code.ts"
import type { Need, Seen } from "./Need.ts"
import { payoutNeed } from "./payout.ts"
import { rebalanceNeed } from "./rebalance.ts"
import { requestNeed } from "./request.ts"
import type { Subject } from "./Subject.ts"
import { splitNeed } from "./split.ts"
import { sweepNeed } from "./sweep.ts"
import { topUpNeed } from "./topUp.ts"
import { withdrawNeed } from "./withdraw.ts"

/** What the subject's rule kind says of it. */
export const needOf = ({ subject, snapshot, balances, episode }: Seen<Subject["kind"]>): Need => {
  switch (subject.kind) {
    case "topUp":
      return topUpNeed({ subject, snapshot, balances, episode })
    case "sweep":
      return sweepNeed({ subject, snapshot, balances, episode })
    case "rebalance":
      return rebalanceNeed({ subject, snapshot, balances, episode })
    case "split":
      return splitNeed({ subject, snapshot, balances, episode })
    case "payout":
      return payoutNeed({ subject, snapshot, balances, episode })
    case "request":
      return requestNeed({ subject, snapshot, balances, episode })
    case "withdraw":
      return withdrawNeed({ subject, snapshot, balances, episode })
    case "code":
      return codeNeed({ subject, snapshot, balances, episode })
  }
}
