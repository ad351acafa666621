import { join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { launcherVariable } from "../config/Environment.ts"
import type { Treasury } from "../config/Treasury.ts"
import { shellWord } from "../domain/shellWord.ts"
import { defaultDataDir } from "./setup.ts"

/** Where a command is called, and by what. */
export interface Caller {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

const packageDir = resolve(fileURLToPath(new URL("../..", import.meta.url)))

/** This program as one types it there: npm knows its script in the package's own folder alone. */
const calledAs = ({ cwd, env }: Caller): string => {
  if (cwd === packageDir) return "npm run -s cofferer --"
  if (env["npm_command"] === "exec") return "npx cofferer"
  const launcher = env[launcherVariable] ?? "cofferer"
  const isFound = env["PATH"]?.split(":").some((dir) => join(dir, "cofferer") === launcher) === true
  return isFound ? "cofferer" : shellWord(launcher)
}

/** What a person may type next: the same demonstration again, and commands that look at its data. */
export const tryNow = (
  { treasury, dataDir }: { readonly treasury: Pick<Treasury, "file" | "files">; readonly dataDir: string },
  caller: Caller,
): { readonly again: string; readonly status: string; readonly intents: string } => {
  const nearer = (path: string): string => {
    const near = relative(caller.cwd, path)
    return near.startsWith("..") ? path : near
  }
  const near = nearer(dataDir)
  const data = near === defaultDataDir ? "" : ` --data ${shellWord(near)}`
  const [file, ...overlays] = treasury.files.map(nearer).map(shellWord)
  const isDemo = caller.cwd === packageDir && treasury.files.join() === join(packageDir, "config/sandbox.yaml")
  const over = overlays.map((overlay) => ` -c ${overlay}`).join("")
  const named = overlays.length === 0 && (isDemo || file === "treasury.yaml") ? "" : ` -c ${file}${over}`
  const called = calledAs(caller)
  const command = (words: string): string => `${called} ${words}${named}${data}`
  return {
    again: isDemo && data === "" ? "npm start" : `${called} run --sandbox ${over === "" ? file : named.trim()}${data}`,
    status: command("status"),
    intents: command("intents"),
  }
}
