import { Clock, Effect } from "effect"
import type { News, Told, ToldEvent } from "../../Bus.ts"
import { type ErrorClass, nodeError, plainError, refuse } from "../Answer.ts"
import { full, type Printer, terse } from "../Printer.ts"
import { coreOwner, type Hand, kinds, payloadJson } from "./eventJson.ts"
import { follow, frameMax, hear, type Line, pack, type StreamRoute } from "./StreamRoute.ts"

/** What a client wants to hear of. */
interface Wish {
  /** Numbers of kinds; empty: all. */
  readonly types: ReadonlyArray<number>
  readonly partyId: string
  readonly marketId: string
  /** Events in a message; 0: as many as there are, and no answer is awaited. */
  readonly batchSize: number
}

const typeNumbers = new Map(Object.values(kinds).map(({ name, number }) => [name, number]))
const allTypes = 1
const typeMax = 999
/** A kind whose name looks right: of the many that never happen here, none is worth a line. */
const unheardOf = typeMax

const typeOf = (value: unknown): number | undefined => {
  if (typeof value === "number" && Number.isInteger(value)) return value
  if (typeof value !== "string" || !/^BUS_EVENT_TYPE_[A-Z0-9_]+$/.test(value)) return undefined
  if (value === "BUS_EVENT_TYPE_ALL") return allTypes
  return value === "BUS_EVENT_TYPE_UNSPECIFIED" ? 0 : (typeNumbers.get(value) ?? unheardOf)
}

/** Undefined where the network's gateway could not read it: then the node never hears of it. */
const readWish = (text: string): Wish | undefined => {
  let fields: unknown
  try {
    fields = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) return undefined
  const field = (camel: string, snake: string): unknown => Reflect.get(fields, camel) ?? Reflect.get(fields, snake)
  const listed = field("type", "type") ?? []
  if (!Array.isArray(listed)) return undefined
  const types = listed.flatMap((value) => typeOf(value) ?? [])
  const partyId = field("partyId", "party_id") ?? ""
  const marketId = field("marketId", "market_id") ?? ""
  const batchSize = Number(field("batchSize", "batch_size") ?? 0)
  if (types.length < listed.length || typeof partyId !== "string" || typeof marketId !== "string") return undefined
  if (!Number.isSafeInteger(batchSize)) return undefined
  return { types: types.includes(allTypes) ? [] : types, partyId, marketId, batchSize: Math.max(0, batchSize) }
}

/** The parties, in the core's words, that an event is about. */
const partiesOf = (event: ToldEvent): ReadonlyArray<string> => {
  switch (event._tag) {
    case "account":
      return [coreOwner(event.account.party)]
    case "movements":
      return event.movements.flatMap(({ from, to }) => [coreOwner(from.party), coreOwner(to.party)])
    case "transfer":
      return [event.transfer.from, event.transfer.to]
    case "withdrawal":
      return [event.withdrawal.party]
    case "result":
      return [event.result.party]
    default:
      return []
  }
}

const isMeant = (event: ToldEvent, wish: Wish): boolean => {
  if (wish.types.length > 0 && !wish.types.includes(kinds[event._tag].number)) return false
  if (wish.marketId !== "" && !(event._tag === "account" && event.account.market === wish.marketId)) return false
  return wish.partyId === "" || partiesOf(event).includes(wish.partyId)
}

/** All readers of a block share its texts. */
const written = new WeakMap<Told, Map<Printer, string>>()

const textOf = (told: Told, news: News, hand: Hand): string => {
  const texts = written.get(told) ?? new Map<Printer, string>()
  const known = texts.get(hand.print)
  if (known !== undefined) return known
  const { number, name, key } = kinds[told.event._tag]
  const text = JSON.stringify({
    id: `${news.height}-${told.seq}`,
    block: news.hash,
    type: hand.print.choice(name, number),
    [key]: payloadJson(told.event, news, hand),
    version: 1,
    chainId: news.chainId,
    txHash: told.txHash,
  })
  written.set(told, texts.set(hand.print, text))
  return text
}

const refusal = (kind: ErrorClass, code: number, message: string, inner: string) =>
  refuse(nodeError(kind, { code, message, inner }))

const frame = (events: string): string => `{"result":{"events":[${events}]}}`

type Texts = Effect.Effect<ReadonlyArray<string>>

const asTheyCome = (line: Line, next: Texts) =>
  Effect.forever(Effect.flatMap(next, (texts) => Effect.forEach(pack(texts), (events) => line.say(frame(events)))))

/** A client that does not answer a batch in time is told so; one whose answer cannot be read is not. */
const inBatches = Effect.fnUntraced(function* (line: Line, next: Texts, batchSize: number) {
  let size = batchSize
  let held: ReadonlyArray<string> = []
  while (true) {
    // More than a message can hold need not be collected: it ends the stream in any case.
    while (held.length < size && held.join().length < frameMax) held = [...held, ...(yield* next)]
    const sentMillis = yield* Clock.currentTimeMillis
    yield* line.say(frame(held.slice(0, size).join(",")))
    held = held.slice(size)
    const answer = yield* hear(line, sentMillis)
    if (answer === undefined) return yield* refuse(plainError("DeadlineExceeded", "context deadline exceeded", true))
    const again = readWish(answer)
    if (again === undefined) return
    if (again.batchSize > 0) size = again.batchSize
  }
})

/** All that happens, filtered by what the client asks for in its first message. Without one, silence and an end. */
const eventBus = (path: StreamRoute["path"], print: Printer): StreamRoute => ({
  path,
  plain: false,
  open: (world) =>
    Effect.succeed((line) =>
      Effect.gen(function* () {
        const hand: Hand = { print, profile: world.profile }
        const first = yield* hear(line, line.sinceMillis)
        const wish = first === undefined ? undefined : readWish(first)
        if (wish === undefined) return
        if (wish.types.some((type) => type < 1 || type > typeMax)) {
          return yield* refusal("InvalidArgument", 10_015, "malformed request", "invalid proto event type")
        }
        yield* follow(
          world,
          () => undefined,
          (_, next) => {
            const texts = Effect.map(next, (news) =>
              news.events.filter(({ event }) => isMeant(event, wish)).map((told) => textOf(told, news, hand)),
            )
            return wish.batchSize > 0 ? inBatches(line, texts, wish.batchSize) : asTheyCome(line, texts)
          },
        )
      }),
    ),
})

export const eventBuses: ReadonlyArray<StreamRoute> = [
  eventBus("/api/v2/stream/event/bus", terse),
  eventBus("/stream/event/bus", full),
]
