import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, expect, it } from "vitest"
import { exitCodes } from "../../src/cli/common/output.ts"
import { root } from "../support/Cofferer.ts"
import { commandHelp, commandTable, commonFlagTable, ownFlagTable } from "./commandTable.ts"
import { conditionTable, daemonTable, keyTable, receiverTable, ruleTable } from "./keyTable.ts"

const commands = await commandHelp()

const exitCodeWords: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: "success",
  failure: "failure",
  usage: "wrong call: unknown command or flag",
  configuration: "invalid treasury file",
  notFound: "not found, or no daemon runs",
  timeOut: "time-out",
  refused: "refused by the policy, or by the payment's state",
  needsApproval: "another operator must run the same command, or the payment waits for approval",
  unhealthy: "unhealthy or halted, or different from the gateway",
  wouldFire: "`plan`: something would be paid",
}

const exitCodeTable = (): string =>
  [
    "| code | meaning |",
    "|---|---|",
    ...Object.entries(exitCodeWords).map(
      ([name, words]) => `| ${exitCodes[name as keyof typeof exitCodes]} | ${words} |`,
    ),
    "",
  ].join("\n")

const kinds = /^(topUp|sweep|rebalance|split|payout|request|withdraw|notify)\b/

/** Generated parts of the pages, by page and name. The rest of a page is written by hand. */
const parts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/configuration-reference.md": {
    keys: keyTable(),
  },
  "docs/scaling.md": { "keys of several": daemonTable() },
  "docs/rules-reference.md": {
    kinds: ruleTable((key) => kinds.test(key)),
    modifiers: ruleTable((key) => !kinds.test(key)),
    conditions: conditionTable(),
  },
  "docs/alerts.md": { receivers: receiverTable() },
  "docs/commands.md": { commands: commandTable(commands), "exit codes": exitCodeTable() },
  "docs/command-flags.md": { "shared flags": commonFlagTable(commands), "own flags": ownFlagTable(commands) },
}

const partForm = /<!-- generated: ([a-z ]+) -->\n[\s\S]*?<!-- end -->/g

const withParts = (path: string, made: Readonly<Record<string, string>>): string =>
  readFileSync(join(root, path), "utf8").replace(
    partForm,
    (_, name: string) => `<!-- generated: ${name} -->\n${made[name] ?? ""}<!-- end -->`,
  )

describe("generated parts of the pages", () => {
  it.each(Object.entries(parts))("are in %s what the code says", async (path, made) => {
    const names = [...readFileSync(join(root, path), "utf8").matchAll(partForm)].map(([, name]) => name)
    assert.deepStrictEqual(names, Object.keys(made))
    // Written again by: npx vitest run --project quick test/docs/generated.test.ts -u
    await expect(withParts(path, made)).toMatchFileSnapshot(join(root, path))
  })
})
