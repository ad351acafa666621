import { Context } from "effect"

/** Hears of the moment in which a request leaves, after it waited for its turn. Default: nobody does. */
export const SendMoment = Context.Reference<() => void>("cofferer/gateway/SendMoment", {
  defaultValue: () => () => {},
})
