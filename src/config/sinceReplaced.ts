import type { YamlDocument } from "./Yaml.ts"

type Path = ReadonlyArray<PropertyKey>

/** Where other parts speak of what the parties were before. */
const ofParties = /^(.*: )?"[^"]*" (is no party|has no signer)/

/** The remedy, with the overlay that took away what is now missing: what it replaces is not merged. */
export const sinceReplaced = (
  { replaced }: Pick<YamlDocument, "replaced">,
  path: Path,
  message: string,
  remedy: string,
): string => {
  const part = [...(replaced?.keys() ?? [])].find((name) =>
    name === "parties" && ofParties.test(message)
      ? true
      : message.endsWith("is missing") && name.split(".").every((step, i) => path[i] === step),
  )
  return part === undefined ? remedy : `${remedy}; ${replaced?.get(part)} replaces ${part} as a whole`
}
