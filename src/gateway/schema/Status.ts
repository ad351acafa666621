import { Schema } from "effect"
import { orDefault, SafeInt, Text } from "./Numbers.ts"

/**
 * The body of an error. `message` of a real network is only the class ("Internal error"); the useful words stand in
 * the first detail. Bodies that begin like one but carry something else inside still count as one.
 */
export const StatusBody = Schema.Struct({
  /** Not defaulted: an object without it is no status. */
  code: SafeInt,
  message: Text,
  details: orDefault(Schema.Array(Schema.Struct({ code: orDefault(SafeInt, 0), message: Text, inner: Text })), []),
})
export type StatusBody = typeof StatusBody.Type
