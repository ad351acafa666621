import { spawnSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, beforeAll, beforeEach, describe, it } from "vitest"
import { root } from "../support/Cofferer.ts"
import { callCofferer } from "../support/CommandLine.ts"
import { tempDir } from "../support/tempDir.ts"

const dir = tempDir("completion")
const bin = join(dir, "bin")
for (const folder of [bin, join(dir, "fish/completions")]) mkdirSync(folder, { recursive: true })
symlinkSync(join(root, "src/cofferer.sh"), join(bin, "cofferer"))
writeFileSync(join(dir, "harbor.yaml"), "")

const run = (shell: string, args: ReadonlyArray<string>) => {
  const env = { HOME: dir, XDG_CONFIG_HOME: dir, TERM: "dumb", PATH: `${bin}:${process.env["PATH"]}` }
  return spawnSync(shell, args, { cwd: dir, env, encoding: "utf8", timeout: 120_000 })
}

/** Calls the function that the script registers, with the variables that bash sets behind the tab key. */
const bash = (script: string) => `
  . ${script}
  COMP_LINE=$1 COMP_POINT=\${#1}
  read -ra COMP_WORDS <<< "$1"
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  read -ra registered <<< "$(complete -p cofferer)"
  "\${registered[2]}" cofferer "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
  printf '%s\\n' "\${COMPREPLY[@]}"`

/** Presses the tab key in an interactive shell on a terminal of its own, until the expected word stands there. */
const zsh = `
  zmodload zsh/zpty
  zpty shell zsh -f -i
  zpty -w shell "PROMPT= fpath=(${dir} \\$fpath); autoload -U compinit; compinit -u -D; echo rea''dy"
  zpty -r shell out '*ready*'
  zpty -w -n shell "$1"$'\\t'
  zpty -r shell out "*$2*"
  print -r -- $out`

const shells: Readonly<Record<string, { readonly file: string; complete(line: string, word: string): string }>> = {
  bash: {
    file: "cofferer.bash",
    complete: (line) => run("bash", ["--norc", "-c", bash(join(dir, "cofferer.bash")), "bash", line]).stdout,
  },
  zsh: { file: "_cofferer", complete: (line, word) => run("zsh", ["-f", "-c", zsh, "zsh", line, word]).stdout },
  fish: {
    file: "fish/completions/cofferer.fish",
    complete: (line) => run("fish", ["-c", 'complete -C "$argv[1]"', line]).stdout,
  },
}

describe.each(Object.entries(shells))("completion in %s", (shell, { file, complete }) => {
  beforeAll(async () => {
    writeFileSync(join(dir, file), (await callCofferer(["--completions", shell])).stdout)
  })

  const isMissing = run(shell, ["--version"]).error !== undefined
  beforeEach(({ skip }) => skip(isMissing, `needs ${shell}`))

  it.each([
    ["a command", "cofferer reconc", "reconcile"],
    ["a command below another", "cofferer intents aband", "abandon"],
    ["a flag", "cofferer run --sandb", "--sandbox"],
    ["a choice", "cofferer status --output js", "json"],
    ["a file", "cofferer check har", "harbor.yaml"],
    ["a file behind a flag", "cofferer status --config har", "harbor.yaml"],
  ])("finishes %s", (_, line, word) => {
    assert.include(complete(line, word), word)
  })
})
