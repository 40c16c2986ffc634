/** Reconciles the payments of the day with the service's records, through the API and the received webhooks only. */
import type { Balance, Client, Delivery, Transaction } from '@partner-payments/sdk'
import { shortName, statusImpliedBy } from './causes.ts'
import type { Day } from './day.ts'
import { amountText, minorOf, sum } from './money.ts'
import type { Payment } from './payments.ts'
import type { Context } from './setup.ts'

export type Check = {
  readonly title: string
  /** A summary of what was compared, shown if everything agrees. */
  readonly agreed: string
  /** One line for each difference. */
  readonly differences: readonly string[]
}

/** The float of the sandbox, in each currency. */
export const float = { amount: 100_000_000n, currencies: ['EUR', 'GBP', 'USD'] } as const

export type Reconciliation = {
  readonly checks: readonly Check[]
  readonly transactions: readonly Transaction[]
}

export async function reconcile(
  context: Context,
  { parties, payments }: Day,
  restarts: boolean,
): Promise<Reconciliation> {
  const { client, until } = context
  const deliveries = await until('every delivery is recorded as delivered', async () => {
    const all = await deliveriesOf(client, parties.subscriptionId)
    return all.every(({ status }) => status === 'Delivered') && all
  })
  const { data: balances } = await client.accounts.list()
  const transactions = await Array.fromAsync(client.transactions.listAll())
  const checks = [
    checkBalances(balances, payments),
    checkTransactions(transactions, payments),
    checkEvents(context, transactions, payments),
    checkDeliveries(context, deliveries, restarts),
  ]
  return { checks, transactions }
}

const deliveriesOf = (client: Client, subscriptionId: string) =>
  Array.fromAsync(client.webhooks.listAllDeliveries(subscriptionId))

const compare = (what: string, actual: string, expected: string) =>
  actual === expected ? [] : [`${what}: ${actual}, expected ${expected}`]

/** Posted is float + incoming - outgoing. Reserved is the sum of pending payouts. */
function checkBalances(balances: readonly Balance[], payments: readonly Payment[]): Check {
  const agreed: string[] = []
  const differences = float.currencies.flatMap((currency) => {
    const own = payments.filter((payment) => payment.currency === currency)
    const total = (matches: (payment: Payment) => boolean) => sum(own.filter(matches).map(({ amount }) => amount))
    const incoming = total((payment) => !payment.instructed && payment.ending.status === 'Completed')
    const outgoing = total((payment) => payment.instructed && payment.ending.status === 'Completed')
    const reserved = total((payment) => payment.instructed && payment.ending.status === 'Pending')
    const posted = float.amount + incoming - outgoing
    const balance = balances.find((each) => each.currency === currency)
    if (balance === undefined) return [`there is no balance in ${currency}`]
    agreed.push(`${currency} ${amountText(posted)}`)
    return [
      ...compare(`${currency} posted`, amountText(minorOf(balance.posted)), amountText(posted)),
      ...compare(`${currency} reserved`, amountText(minorOf(balance.reserved)), amountText(reserved)),
      ...compare(`${currency} available`, amountText(minorOf(balance.available)), amountText(posted - reserved)),
    ]
  })
  const more = balances.length - float.currencies.length
  if (more > 0) differences.push(`${more} unexpected balances`)
  return { title: 'balances', agreed: agreed.join(', '), differences }
}

const floatLine = (currency: string) => `PartnerDeposit ${amountText(float.amount)} ${currency} Completed`

/** Every payment is listed once with its expected status, and nothing else but the float. */
function checkTransactions(transactions: readonly Transaction[], payments: readonly Payment[]): Check {
  const lineOf = ({ type, amount, currency, status }: Transaction) =>
    `${type} ${amountText(minorOf(amount))} ${currency} ${status}`
  const expected = new Map(
    payments.map(({ reference, type, amount, currency, ending }) => [
      reference,
      `${type} ${amountText(amount)} ${currency} ${ending.status}`,
    ]),
  )
  const listed = new Map(transactions.map((transaction) => [transaction.reference, lineOf(transaction)]))
  const others = [...listed].filter(([reference]) => !expected.has(reference)).map(([, line]) => line)
  const differences = [
    ...[...expected].flatMap(([reference, line]) => compare(reference, listed.get(reference) ?? 'not listed', line)),
    ...compare(
      'other transactions',
      others.toSorted().join(', '),
      float.currencies.map(floatLine).toSorted().join(', '),
    ),
    ...compare('number of transactions', `${transactions.length}`, `${listed.size}`),
  ]
  const agreed = `${payments.length} with the expected status, and the float`
  return { title: 'transactions', agreed, differences }
}

/** Each transaction has exactly the expected events, in order, with its amount and status. */
function checkEvents({ receiver }: Context, transactions: readonly Transaction[], payments: readonly Payment[]): Check {
  let count = 0
  const differences = payments.flatMap(({ reference, ending }) => {
    const transaction = transactions.find((each) => each.reference === reference)
    const events = receiver.eventsOf(reference).map(({ data }) => data)
    count += events.length
    const names = (list: readonly string[]) => list.map(shortName).join(' ')
    return [
      ...compare(reference, names(events.map(({ eventType }) => eventType)), names(ending.events)),
      ...events.flatMap((data) => {
        const status = data.eventType === 'transaction.status.changed' ? data.status : statusImpliedBy[data.eventType]
        const what = `${reference} ${shortName(data.eventType)}`
        return [
          ...compare(
            `${what} amount`,
            `${data.amount} ${data.currency}`,
            `${transaction?.amount} ${transaction?.currency}`,
          ),
          ...(status === undefined ? [] : compare(`${what} status`, status, `${transaction?.status}`)),
        ]
      }),
    ]
  })
  const known = new Set(payments.map(({ reference }) => reference))
  const unknown = receiver.arrivals.filter(({ data }) => !known.has(data.reference))
  differences.push(
    ...unknown.map(({ data }) => `${data.eventType} of ${data.reference}, which is no payment of the day`),
  )
  return { title: 'events', agreed: `${count}, each once, in order, with the status of its transaction`, differences }
}

/** Recorded deliveries equal the received ones. An event is received again only after a kill of the service. */
function checkDeliveries({ receiver }: Context, deliveries: readonly Delivery[], restarts: boolean): Check {
  const received = Map.groupBy(receiver.arrivals, ({ eventId }) => eventId)
  const repeated = receiver.arrivals.length - received.size
  const recorded = new Set(deliveries.map(({ eventId }) => eventId))
  const differences = [
    ...receiver.refused.map((reason) => `refused: ${reason}`),
    ...[...recorded]
      .filter((eventId) => !received.has(eventId))
      .map((eventId) => `${eventId} is recorded as delivered, and was not received`),
    ...[...received.keys()]
      .filter((eventId) => !recorded.has(eventId))
      .map((eventId) => `${eventId} was received, and is not recorded`),
    ...[...received].flatMap(([eventId, arrivals]) =>
      new Set(arrivals.map(({ body }) => body)).size === 1 ? [] : [`${eventId} was received with two bodies`],
    ),
    ...(restarts || repeated === 0 ? [] : [`${repeated} events were received twice`]),
  ]
  const agreed = `${received.size}, every signature verified, ${repeated} repeated under the same eventId`
  return { title: 'deliveries', agreed, differences }
}
