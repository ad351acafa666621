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
export const needOf = ({ subject, ...seen }: Seen<Subject["kind"]>): Need => {
  switch (subject.kind) {
    case "topUp":
      return topUpNeed({ subject, ...seen })
    case "sweep":
      return sweepNeed({ subject, ...seen })
    case "rebalance":
      return rebalanceNeed({ subject, ...seen })
    case "split":
      return splitNeed({ subject, ...seen })
    case "payout":
      return payoutNeed({ subject, ...seen })
    case "request":
      return requestNeed({ subject, ...seen })
    case "withdraw":
      return withdrawNeed({ subject, ...seen })
    case "code":
      return codeNeed({ subject, ...seen })
  }
}
