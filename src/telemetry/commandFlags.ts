import { Context } from "effect"

/** Flags that say which treasury this process works on: commands within printed text need them. */
export const CommandFlags = Context.Reference<string>("cofferer/telemetry/CommandFlags", { defaultValue: () => "" })

/** The text with the flags in each quoted command that takes them and names no treasury yet. */
export const withFlags = (text: string, flags: string): string =>
  flags === ""
    ? text
    : text.replace(
        /"cofferer (?!run |init)(?![^"]* (-c|-d|--config|--data|--treasury)[ =])[^"]+(?=")/g,
        (command) => `${command} ${flags}`,
      )
