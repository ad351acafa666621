import { Context } from "effect"

/** Flags that name this process's treasury among several: commands within printed text work only with them. */
export const CommandFlags = Context.Reference<string>("cofferer/telemetry/CommandFlags", { defaultValue: () => "" })

/** The text with the flags in each quoted command that takes them and names no treasury yet. */
export const withFlags = (text: string, flags: string): string =>
  flags === ""
    ? text
    : text.replace(/"cofferer (?!run |init)(?![^"]* --treasury)[^"]+(?=")/g, (command) => `${command} ${flags}`)
