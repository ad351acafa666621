import type { BadAnswer } from "./BadAnswer.ts"
import { framing } from "./framing.ts"
import { shapes } from "./shapes.ts"
import { statuses } from "./statuses.ts"
import { values } from "./values.ts"

/** All bad answers, by family. */
export const corpus: Readonly<Record<string, ReadonlyArray<BadAnswer>>> = { values, shapes, framing, statuses }
