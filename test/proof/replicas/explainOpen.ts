import { cofferer } from "../../support/Cofferer.ts"
import type { Fleet } from "./Fleet.ts"

const entriesMax = 30
const linesMax = 60

/** Answer of a verb at the process that holds the treasury; its error where it has none. */
const answerOf = async (dir: string, treasury: string, ...verb: ReadonlyArray<string>) => {
  const { code, stdout, stderr } = await cofferer([...verb, "-c", dir, "--treasury", treasury])
  return [`${verb.join(" ")} (exit ${code})`, ...`${stdout}${stderr}`.trimEnd().split("\n")]
}

/** Everything known of one treasury: rows as JSON, what its holder answers, and what each process logged of it. */
const explainTreasury = async (fleet: Fleet, treasury: string, intents: ReadonlyArray<string>) => {
  const of = `treasury = '${treasury}'`
  const among = `${of} AND intent_id IN (${intents.map((id) => `'${id}'`).join(", ")})`
  const texts: Array<string> = []
  for (const from of [
    `leases WHERE ${of}`,
    `intents WHERE ${of} AND id IN (${intents.map((id) => `'${id}'`).join(", ")})`,
    `attempts WHERE ${among}`,
    `sends WHERE ${among}`,
    `evidence WHERE ${among}`,
    `halts WHERE ${of}`,
    `pauses WHERE ${of}`,
    `rule_states WHERE ${of}`,
    `settings WHERE ${of}`,
    `watermarks WHERE ${of}`,
    `alerts WHERE ${of} ORDER BY seq DESC LIMIT ${entriesMax}`,
    `journal WHERE ${of} ORDER BY seq DESC LIMIT ${entriesMax}`,
  ]) {
    texts.push(from)
    for (const [row] of await fleet.rows(`SELECT row_to_json(found)::text FROM (SELECT * FROM ${from}) AS found`))
      texts.push(`  ${String(row)}`)
  }
  const pid = await fleet.holderOf(treasury)
  const holder = fleet.fleet.find(({ daemon }) => daemon.child.pid === pid)
  texts.push(`held by replica ${holder?.number}`)
  if (holder !== undefined) {
    const dir = fleet.folder(holder.number)
    texts.push(...(await answerOf(dir, treasury, "status")), ...(await answerOf(dir, treasury, "plan")))
    for (const id of intents) texts.push(...(await answerOf(dir, treasury, "explain", id)))
  }
  for (const { number, daemon } of fleet.fleet) {
    texts.push(`replica ${number}, process ${daemon.child.pid}`)
    const lines = daemon.lines.filter((line) => line["treasury"] === treasury || line["treasury"] === undefined)
    for (const line of lines.slice(-linesMax)) texts.push(`  ${JSON.stringify(line)}`)
  }
  return texts
}

/** Prints what can be known of each treasury with a payment that has no end, before processes and rows are gone. */
export const explainOpen = async (fleet: Fleet): Promise<void> => {
  const open = new Map<string, ReadonlyArray<string>>()
  for (const [treasury, id] of await fleet.open())
    open.set(String(treasury), [...(open.get(String(treasury)) ?? []), String(id)])
  for (const [treasury, intents] of open) {
    const texts = await explainTreasury(fleet, treasury, intents)
    for (const text of [`== ${treasury}: ${intents.join(", ")}`, ...texts]) console.log(text)
  }
}
