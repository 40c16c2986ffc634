/** The records of the example bank: orders, and the messages about them. */

/** An order as a client sends it. `reference` is the client's name for it: an order with a known one is the same order. */
export type Order = {
  readonly reference: string
  readonly onBehalfOf: string
  readonly amount: string
  readonly currency: string
  readonly endToEnd: string
  readonly payee: { readonly name: string; readonly account: string; readonly bank: string | null }
  readonly purpose: string | null
}

type Outcome =
  | { readonly state: 'taken' }
  | { readonly state: 'declined'; readonly code: string; readonly text: string }

export type BookedOrder = Order &
  Outcome & {
    /** The bank's own id. */
    readonly number: string
    readonly timesReceived: number
    readonly timesExecuted: number
    /** The money has left, and does not come back. */
    readonly isPaid: boolean
  }

type Message = {
  readonly number: number
  readonly reference: string
  readonly onBehalfOf: string
  readonly event: 'paid' | 'failed' | 'sent back'
  /** Booked entries. */
  readonly amount: string
  readonly currency: string
  readonly code?: string
  readonly madeAt: string
}

type Script = {
  readonly outcome: Outcome
  readonly events: readonly Pick<Message, 'event' | 'code'>[]
  /** How often the bank leaves the order out of its answer before it takes it. */
  readonly ignored?: number
}

const taken = { state: 'taken' } as const
const paid = { event: 'paid' } as const

/** Selected by the amount, in any currency. Every other order is paid. */
const scripts: Readonly<Record<string, Script>> = {
  '71.01': { outcome: { state: 'declined', code: 'AC01', text: 'ACCT NOT FOUND IN HOST TABLE 7' }, events: [] },
  '71.02': { outcome: taken, events: [{ event: 'failed', code: 'MS03' }] },
  '71.03': { outcome: taken, events: [paid, { event: 'sent back', code: 'AC04' }] },
  '71.04': { outcome: taken, events: [paid], ignored: 2 },
}
const usual: Script = { outcome: taken, events: [paid] }

export type Records = ReturnType<typeof createRecords>

export function createRecords() {
  const orders = new Map<string, BookedOrder>()
  const ignored = new Map<string, number>()
  const held = new Set<number>()
  let messages: Message[] = []
  let messageNumber = 0

  const say = (
    { reference, onBehalfOf, amount, currency }: Order,
    said: Pick<Message, 'event' | 'code'>,
    isHeld: boolean,
  ) => {
    messageNumber += 1
    const madeAt = new Date().toISOString()
    messages.push({ number: messageNumber, reference, onBehalfOf, amount, currency, ...said, madeAt })
    if (isHeld) held.add(messageNumber)
  }
  const book = (order: Order, { outcome, events }: Script, isHeld: boolean): BookedOrder => {
    for (const said of events) say(order, said, isHeld)
    return {
      ...order,
      ...outcome,
      number: `ORD-${String(orders.size + 1).padStart(6, '0')}`,
      timesReceived: 1,
      timesExecuted: outcome.state === 'taken' ? 1 : 0,
      isPaid: events.at(-1)?.event === 'paid',
    }
  }
  return {
    /** Takes an order. Undefined: the bank has not taken it and does not answer. */
    take: (order: Order, isHeld: boolean): BookedOrder | undefined => {
      const known = orders.get(order.reference)
      const script = scripts[order.amount] ?? usual
      const times = (ignored.get(order.reference) ?? 0) + 1
      ignored.set(order.reference, times)
      if (!known && times <= (script.ignored ?? 0)) return undefined
      const booked = known ? { ...known, timesReceived: known.timesReceived + 1 } : book(order, script, isHeld)
      orders.set(order.reference, booked)
      return booked
    },
    search: (references: readonly string[]) => references.flatMap((reference) => orders.get(reference) ?? []),
    messages: (after: number): readonly Message[] =>
      messages.filter(({ number }) => number > after && !held.has(number)),
    confirm: (numbers: readonly number[]) => {
      const confirmed = new Set(numbers)
      messages = messages.filter(({ number }) => !confirmed.has(number))
    },
    statement: (): readonly BookedOrder[] => [...orders.values()],
    sendHeld: () => held.clear(),
  }
}
