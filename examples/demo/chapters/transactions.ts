/** Transactions for a reconciliation: filters, the links of a return, a timeline with actors, and the stream of changes. */
import type { Client, Transaction, ListTransactionsQuery } from '@partner-payments/sdk'
import { ended, orderOf, payeeOf } from './payments.ts'
import { present, refusalOf, type Chapter, type Stage } from './stage.ts'

export const transactions: Chapter = {
  name: 'transactions',
  title: 'filters, links, timelines, and a stream for a warehouse',
  run: async (stage) => {
    const { client, say, until } = stage
    const payee = await payeeOf(client, 'Grace Hopper')
    say('Four payouts: the bank settles the first two, rejects the third, and returns the fourth after its settlement.')
    const pay = async (amount: string, reference: string) => {
      await client.payouts.create({ ...orderOf(payee, amount), reference })
      return ended(stage, reference)
    }
    const [first] = await Promise.all([
      pay('5.00', 'INVOICE-1'),
      pay('15.00', 'INVOICE-2'),
      pay('4001.01', 'INVOICE-3'),
      pay('4001.05', 'INVOICE-4'),
    ])
    await until('the return has arrived', async () => (await client.transactions.listRelated('INVOICE-4')).data[0])
    await filters(stage, first)
    await links(stage)
    await stream(stage, payee)
  },
}

async function filters({ client, show }: Stage, first: Transaction): Promise<void> {
  const found = async (query: ListTransactionsQuery) => {
    const { data } = await client.transactions.list(query)
    return data
      .map(({ reference }) => reference)
      .toSorted()
      .join(' ')
  }
  const between = { currency: 'EUR', amountMin: '5.00', amountMax: '20.00' } as const
  show('from 5.00 to 20.00 EUR', await found(between), 'INVOICE-1 INVOICE-2')
  show('by the beginning of the reference', await found({ referencePrefix: 'INVOICE-3' }), 'INVOICE-3')
  show('by the end-to-end id', await found({ endToEndId: present(first.endToEndId, 'endToEndId') }), 'INVOICE-1')
  show('what failed', await found({ status: 'Unsuccessful', rail: 'Sepa' }), 'INVOICE-3')
  const refused = await refusalOf(client.transactions.list({ amountMin: '5.00' }))
  show('an amount without its currency', refused, '400 validation_failed /query/currency')
}

async function links({ client, say, show }: Stage): Promise<void> {
  const related = present((await client.transactions.listRelated('INVOICE-4')).data[0], 'the return')
  show(
    'the return of INVOICE-4',
    `${related.relation} of ${related.amount}, ${related.type}`,
    'Return of 4001.05, PartnerDeposit',
  )
  const { data } = await client.transactions.getTimeline('INVOICE-3')
  for (const { sequence, step, actor, reason } of data)
    say(`  ${sequence}. ${step.padEnd(9)} by ${actor}${reason === undefined ? '' : `: ${reason.code}, ${reason.text}`}`)
  const last = data.at(-1)
  show('who ended INVOICE-3', `${last?.step} by ${last?.actor}`, 'Failed by Bank')
}

/** One JSON object on each line. The cursor of the last line continues the stream, after a break or a day later. */
async function linesOf(client: Client, after?: string) {
  const lines: { readonly cursor: string; readonly transaction: Transaction }[] = []
  let rest = ''
  const body = await client.transactions.export(after === undefined ? {} : { after })
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const texts = `${rest}${part}`.split('\n')
    rest = texts.pop() ?? ''
    lines.push(...texts.map((text) => JSON.parse(text) as (typeof lines)[number]))
  }
  return lines
}

async function stream(stage: Stage, payee: string): Promise<void> {
  const { client, say, show, until } = stage
  // A change is streamed when no earlier one can still appear: a second later in the sandbox, else half a minute.
  const all = await until('the stream has everything', async () => {
    const lines = await linesOf(client)
    return lines.length === 8 && lines
  })
  show('the stream', `${all.length} transactions`, '8 transactions')
  say('Another payout. The stream goes on behind the last line that was stored.')
  const { reference } = await ended(stage, (await client.payouts.create(orderOf(payee, '7.00'))).reference)
  const news = await until('the stream has the new payout', async () => {
    const lines = await linesOf(client, all.at(-1)?.cursor)
    return lines.at(-1)?.transaction.status === 'Completed' && lines
  })
  show('what is new', [...new Set(news.map(({ transaction }) => transaction.reference))].join(), reference)
}
