/** What the service says at the end of the day, held against what was done: through the API and the deliveries alone. */
import type { Balance, Client, Delivery, Transaction } from '@partner-payments/sdk'
import { shortName, statusSaidBy } from './causes.ts'
import type { Day } from './day.ts'
import { amountText, minorOf, sum } from './money.ts'
import type { Payment } from './payments.ts'
import type { Stage } from './setup.ts'

export type Check = {
  readonly title: string
  /** What was compared, when all of it agrees. */
  readonly agreed: string
  /** What does not agree, a line each. */
  readonly differences: readonly string[]
}

export type Page<T> = { readonly data: readonly T[]; readonly nextCursor: string | null }

/** The sandbox's own money at its start, in each of its currencies. */
export const float = { amount: 100_000_000n, currencies: ['EUR', 'GBP', 'USD'] } as const

export async function readAll<T>(read: (cursor: string | undefined) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    items.push(...page.data)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return items
}

export type Reconciliation = {
  readonly checks: readonly Check[]
  readonly transactions: readonly Transaction[]
}

export async function reconcile(stage: Stage, { cast, payments }: Day, restarts: boolean): Promise<Reconciliation> {
  const { client, until } = stage
  const deliveries = await until('every delivery is recorded as delivered', async () => {
    const all = await deliveriesOf(client, cast.subscriptionId)
    return all.every(({ status }) => status === 'Delivered') && all
  })
  const { data: balances } = await client.listAccounts()
  const transactions = await readAll((cursor) => client.listTransactions({ limit: 100, cursor }))
  const checks = [
    balancesAgree(balances, payments),
    transactionsAgree(transactions, payments),
    eventsAgree(stage, transactions, payments),
    deliveriesAgree(stage, deliveries, restarts),
  ]
  return { checks, transactions }
}

const deliveriesOf = (client: Client, subscriptionId: string) =>
  readAll<Delivery>((cursor) => client.listDeliveries(subscriptionId, { limit: 100, cursor }))

const differ = (what: string, actual: string, wanted: string) =>
  actual === wanted ? [] : [`${what}: ${actual}, and should be ${wanted}`]

/** Float + what came in - what went out is posted; what is under way is reserved. */
function balancesAgree(balances: readonly Balance[], payments: readonly Payment[]): Check {
  const words: string[] = []
  const differences = float.currencies.flatMap((currency) => {
    const own = payments.filter((payment) => payment.currency === currency)
    const amounts = (want: (payment: Payment) => boolean) => sum(own.filter(want).map(({ amount }) => amount))
    const incoming = amounts((payment) => !payment.instructed && payment.ending.status === 'Completed')
    const outgoing = amounts((payment) => payment.instructed && payment.ending.status === 'Completed')
    const reserved = amounts((payment) => payment.instructed && payment.ending.status === 'Pending')
    const posted = float.amount + incoming - outgoing
    const balance = balances.find((each) => each.currency === currency)
    if (balance === undefined) return [`there is no balance in ${currency}`]
    words.push(`${currency} ${amountText(posted)}`)
    return [
      ...differ(`${currency} posted`, amountText(minorOf(balance.posted)), amountText(posted)),
      ...differ(`${currency} reserved`, amountText(minorOf(balance.reserved)), amountText(reserved)),
      ...differ(`${currency} available`, amountText(minorOf(balance.available)), amountText(posted - reserved)),
    ]
  })
  const more = balances.length - float.currencies.length
  if (more > 0) differences.push(`${more} more balances than currencies`)
  return { title: 'balances', agreed: words.join(', '), differences }
}

const floatLine = (currency: string) => `PartnerDeposit ${amountText(float.amount)} ${currency} Completed`

/** Every payment is there once, as it was meant to end, and nothing else but the float. */
function transactionsAgree(transactions: readonly Transaction[], payments: readonly Payment[]): Check {
  const lineOf = ({ type, amount, currency, status }: Transaction) =>
    `${type} ${amountText(minorOf(amount))} ${currency} ${status}`
  const wanted = new Map(
    payments.map(({ reference, type, amount, currency, ending }) => [
      reference,
      `${type} ${amountText(amount)} ${currency} ${ending.status}`,
    ]),
  )
  const listed = new Map(transactions.map((transaction) => [transaction.reference, lineOf(transaction)]))
  const others = [...listed].filter(([reference]) => !wanted.has(reference)).map(([, line]) => line)
  const differences = [
    ...[...wanted].flatMap(([reference, line]) => differ(reference, listed.get(reference) ?? 'not listed', line)),
    ...differ('besides', others.toSorted().join(', '), float.currencies.map(floatLine).toSorted().join(', ')),
    ...differ('listed', `${transactions.length}`, `${listed.size}`),
  ]
  const agreed = `${payments.length} as they were meant to end, and the float`
  return { title: 'transactions', agreed, differences }
}

/** Of each transaction exactly the events that its cause has, in order, saying what the transaction says. */
function eventsAgree({ receiver }: Stage, transactions: readonly Transaction[], payments: readonly Payment[]): Check {
  let count = 0
  const differences = payments.flatMap(({ reference, ending }) => {
    const transaction = transactions.find((each) => each.reference === reference)
    const events = receiver.eventsOf(reference).map(({ data }) => data)
    count += events.length
    const names = (list: readonly string[]) => list.map(shortName).join(' ')
    return [
      ...differ(reference, names(events.map(({ eventType }) => eventType)), names(ending.events)),
      ...events.flatMap((data) => {
        const said = data.eventType === 'transaction.status.changed' ? data.status : statusSaidBy[data.eventType]
        const what = `${reference} ${shortName(data.eventType)}`
        return [
          ...differ(
            `${what} amount`,
            `${data.amount} ${data.currency}`,
            `${transaction?.amount} ${transaction?.currency}`,
          ),
          ...(said === undefined ? [] : differ(`${what} status`, said, `${transaction?.status}`)),
        ]
      }),
    ]
  })
  const known = new Set(payments.map(({ reference }) => reference))
  const strangers = receiver.arrivals.filter(({ data }) => !known.has(data.reference))
  differences.push(...strangers.map(({ data }) => `${data.eventType} of ${data.reference}, which nobody made`))
  return { title: 'events', agreed: `${count}, each once, in order, of the status of its transaction`, differences }
}

/** What the service says that it delivered is what came; an event comes again only where the service had died. */
function deliveriesAgree({ receiver }: Stage, deliveries: readonly Delivery[], restarts: boolean): Check {
  const came = Map.groupBy(receiver.arrivals, ({ eventId }) => eventId)
  const again = receiver.arrivals.length - came.size
  const told = new Set(deliveries.map(({ eventId }) => eventId))
  const differences = [
    ...receiver.refused.map((reason) => `refused: ${reason}`),
    ...[...told].filter((eventId) => !came.has(eventId)).map((eventId) => `${eventId} is delivered, and did not come`),
    ...[...came.keys()]
      .filter((eventId) => !told.has(eventId))
      .map((eventId) => `${eventId} came, and is not recorded`),
    ...[...came].flatMap(([eventId, each]) =>
      new Set(each.map(({ body }) => body)).size === 1 ? [] : [`${eventId} came with another body`],
    ),
    ...(restarts || again === 0 ? [] : [`${again} events came twice`]),
  ]
  const agreed = `${came.size}, every signature verified, ${again} repeated under the same eventId`
  return { title: 'deliveries', agreed, differences }
}
