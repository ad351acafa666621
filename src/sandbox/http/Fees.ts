import { Effect } from "effect"
import { accountTypeNumbers } from "../../domain/AccountType.ts"
import { transferFee } from "../Payments.ts"
import { nodeError, ok, refuse } from "./Answer.ts"
import { enums, scalar } from "./Query.ts"
import type { Route } from "./Route.ts"

const types = new Map(Object.entries(accountTypeNumbers))

const bad = (message: string, inner = "") => refuse(nodeError("InvalidArgument", { code: 10_000, message, inner }))

/** What a transfer would cost on top. Discounts are off. */
export const estimateFee: Route = {
  operation: "estimateFee",
  method: "GET",
  path: "/api/v2/transfers/estimate-fee",
  specified: false,
  answer: (world, ask) =>
    Effect.gen(function* () {
      const asset = (yield* scalar(ask.query, "asset_id")) ?? ""
      const amount = (yield* scalar(ask.query, "amount")) ?? ""
      const from = (yield* scalar(ask.query, "from_account")) ?? ""
      const to = (yield* scalar(ask.query, "to_account")) ?? ""
      const type = (yield* enums(ask.query, "from_account_type", types))[0]
      if (asset === "") return yield* bad("missing asset ID")
      if (!/^[0-9]{1,78}$/.test(amount)) return yield* bad("invalid transfer amount")
      const fee = yield* world.node.read((chain) => {
        const listed = chain.assets.get(asset)
        if (listed === undefined) return undefined
        return type === "ACCOUNT_TYPE_VESTED_REWARDS" && from === to ? 0n : transferFee(chain, listed, BigInt(amount))
      })
      if (fee === undefined) {
        const inner = "no resource corresponding to this id"
        return yield* refuse(nodeError("NotFound", { code: 200_002, message: "failed to get asset for ID", inner }))
      }
      return ok({ fee: fee.toString(), discount: "0" })
    }),
}

/** The discount that a party has earned: none here. */
export const feeDiscount: Route = {
  operation: "estimateFee",
  method: "GET",
  path: "/api/v2/transfers/total-fee-discount",
  specified: false,
  answer: () => Effect.succeed(ok({ totalDiscount: "0" })),
}
