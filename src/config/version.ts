import { Schema } from "effect"
import { readOwn } from "./files.ts"

const Package = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** Version of this program, from its package.json. */
export const version: string = Schema.decodeSync(Package)(readOwn("../../package.json")).version
