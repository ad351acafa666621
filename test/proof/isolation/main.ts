import { setTimeout as sleep } from "node:timers/promises"
import { makeDice } from "../../support/Dice.ts"
import { readFlags } from "../../support/Flags.ts"
import { faults } from "./faults.ts"
import { makeWorld, pace } from "./World.ts"

const usage = `usage: node test/proof/isolation/main.ts [--rounds N] [--minutes M] [--treasuries N] [--seed S]
  [--only TEXT]

Many treasuries in one process on SQLite: in each round one at random is broken, and mended after some seconds. Counts
payments of the others that come later than those of a quiet time before, by two seconds, and payments of any that are
lost or executed twice, by the ledger. No round begins after so many minutes. Mounts small disks: needs root.`

const { values, whole, fail } = readFlags("isolation", usage, {
  rounds: "50",
  minutes: "20",
  treasuries: "20",
  seed: "1",
  only: "",
})

if (process.getuid?.() !== 0) fail("needs root, to mount small disks")
const [rounds, minutes, treasuries] = (["rounds", "minutes", "treasuries"] as const).map((name) =>
  whole(name, values[name]),
) as [number, number, number]
const kinds = Object.keys(faults).filter((kind) => kind.includes(values.only))
if (kinds.length === 0) fail(`no fault is called ${values.only}`)

const warmMillis = 60_000
const quietMillis = 60_000
const brokenMillis = 6_000
/** After it is mended, a treasury may wait for its next start or its next try. */
const mendedBlocks = 100 * pace
const lateSeconds = 2
/** A machine on which quiet payments take longer is too busy to show who is late. */
const quietSecondsMax = 10
const dice = makeDice(`isolation ${values.seed}`)
const world = await makeWorld({ treasuries, blocks: (minutes + 5) * 60 * pace })

interface Broken {
  readonly kind: string
  readonly name: string
  readonly from: number
  until: number
}

/**
 * Seconds from each fall of a treasury to the payment that follows; undefined where none does. A fall before the last
 * one was paid may need no payment of its own.
 */
const delaysOf = async (since: number, until: number) => {
  const paid = await world.paid()
  return world.falls
    .filter(({ block }) => block >= since && block < until)
    .flatMap(({ treasury, block }) => {
      const name = world.names[treasury]!
      const heights = paid.get(name)!
      const last = block - treasuries * pace
      if (!heights.some((one) => one > last && one <= block)) return []
      const height = heights.find((one) => one > block)
      return [{ name, block, seconds: height === undefined ? undefined : (height - block) / pace }]
    })
}

const worst = (delays: ReadonlyArray<{ readonly seconds: number | undefined }>) =>
  Math.max(...delays.map(({ seconds }) => seconds ?? Number.POSITIVE_INFINITY))

const play = async (round: number, broken: Array<Broken>) => {
  // Each kind once before any comes again.
  const kind = kinds[round % kinds.length]!
  const name = dice.pick(world.names)!
  const one: Broken = { kind, name, from: await world.height(), until: Number.POSITIVE_INFINITY }
  broken.push(one)
  const mend = await faults[kind]!(world, name)
  await sleep(brokenMillis)
  await mend()
  one.until = await world.height()
  console.log(`${round + 1} of ${rounds}: ${name}, ${kind}, blocks ${one.from} to ${one.until}`)
}

try {
  for (const name of world.names)
    await world.daemon.line((line) => line["msg"] === "daemon ready" && line["treasury"] === name)
  // The first round of falls comes while all of them still start.
  await sleep(warmMillis)
  const quietFrom = await world.height()
  await sleep(quietMillis)
  const end = performance.now() + minutes * 60_000
  const broken: Array<Broken> = []
  const from = await world.height()
  for (let round = 0; round < rounds && performance.now() < end; round++) await play(round, broken)
  const until = await world.height()
  // The last falls get their payments, and the last broken treasury its time.
  await sleep(20_000)
  world.calm()
  await sleep(100_000)
  const quiet = await delaysOf(quietFrom, from - 10 * pace)
  const bound = worst(quiet) + lateSeconds
  const isWhole = ({ name, block }: { readonly name: string; readonly block: number }) =>
    !broken.some((one) => one.name === name && block >= one.from - 20 * pace && block <= one.until + mendedBlocks)
  const others = (await delaysOf(from, until)).filter(isWhole)
  const late = others.filter(({ seconds }) => seconds === undefined || seconds > bound)
  console.log(`quiet: ${quiet.length} payments, at most ${worst(quiet)} s; late from ${bound} s on`)
  for (const kind of kinds) {
    const during = broken.filter((one) => one.kind === kind)
    const beside = others.filter(({ block }) => during.some((one) => block >= one.from && block <= one.until))
    console.log(`${kind}: ${during.length} rounds, ${beside.length} payments beside, at most ${worst(beside)} s`)
  }
  for (const { name, block, seconds } of late) {
    const beside = broken.findLast((one) => one.from <= block + bound * pace)
    console.log(
      `late: ${name}, block ${block}, ${seconds ?? "no"} s; ${beside?.kind} of ${beside?.name} from ${beside?.from}`,
    )
  }
  const lost = await world.verdict()
  for (const text of lost) console.log(text)
  console.log(
    `${broken.length} rounds, ${treasuries} treasuries, ${others.length} payments of others: ${late.length} late, ${lost.length} lost or duplicate`,
  )
  const isBusy = worst(quiet) > quietSecondsMax
  if (isBusy) console.log("the machine is too busy to show who is late")
  process.exitCode = late.length + lost.length > 0 || isBusy || others.length < broken.length ? 1 : 0
} finally {
  await world.close()
}
process.exit()
