import { Schema } from "effect"
import { Text } from "./Numbers.ts"
import { Connection } from "./Paging.ts"

/** Answer of GET /api/v2/network/parameters. All values are text, whatever they mean. */
export const ParametersAnswer = Schema.Struct({
  networkParameters: Connection(Schema.Struct({ key: Schema.NonEmptyString, value: Text })),
})
