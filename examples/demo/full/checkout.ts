/** The payers of the day: one at the bank's page, one by transfer, and those who reject, go away, pay too little or too late. */
import { randomUUID } from 'node:crypto'
import type { Client } from '@partner-payments/sdk'
import { kycOf } from '../people.ts'
import type { Check } from '../reconcile.ts'
import type { Stage } from './stage.ts'

type Session = Awaited<ReturnType<Client['checkout']['create']>>
type Payer = {
  readonly what: string
  readonly pay: (stage: Stage, session: Session) => Promise<unknown>
  readonly status: Session['status']
  readonly transaction: string
}

const run = (
  { client }: Stage,
  { sessionId }: Session,
  body: Parameters<Client['simulations']['runCheckoutSession']>[1],
) => client.simulations.runCheckoutSession(sessionId, body)

/** Pays as a browser does: three forms, each answered with the next page. */
async function payAtBank(_stage: Stage, { url }: Session): Promise<void> {
  for (const [path, fields] of [
    ['pay', { country: 'FR' }],
    ['bank/sign-in', { name: 'Grace Hopper' }],
    ['bank/approve', {}],
  ] as const) {
    const answer = await fetch(`${url}/${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      redirect: 'manual',
    })
    if (answer.status !== 303) throw new Error(`the form ${path} was answered with ${answer.status}`)
  }
}

async function expireThenPay(stage: Stage, session: Session): Promise<void> {
  await stage.client.checkout.expire(session.sessionId)
  await run(stage, session, { step: 'credit' })
}

const payers: readonly Payer[] = [
  { what: 'pays at the bank', pay: payAtBank, status: 'Completed', transaction: 'Completed' },
  {
    what: 'makes a transfer',
    pay: (stage, session) => run(stage, session, { step: 'credit', debtorName: 'Grace Hopper' }),
    status: 'Completed',
    transaction: 'Completed',
  },
  {
    what: 'rejects at the bank',
    pay: (stage, session) => run(stage, session, { outcome: 'failed' }),
    status: 'Failed',
    transaction: 'Unsuccessful',
  },
  {
    what: 'pays a cent too little',
    pay: (stage, session) => run(stage, session, { step: 'credit', amount: '49.89' }),
    status: 'Failed',
    transaction: 'Unsuccessful',
  },
  { what: 'pays after the end', pay: expireThenPay, status: 'Expired', transaction: 'Expired' },
  {
    what: 'goes away',
    pay: (stage, session) => run(stage, session, { outcome: 'abandoned' }),
    status: 'Processing',
    transaction: 'Pending',
  },
]

export async function checkoutOfTheDay(stage: Stage): Promise<readonly Check[]> {
  const outcomes = await Promise.all(payers.map((payer) => payOne(stage, payer)))
  const differences = outcomes.flatMap((difference) => difference ?? [])
  return [
    { title: 'checkout', agreed: `${payers.length} payers, each session and its transaction as expected`, differences },
  ]
}

async function payOne(stage: Stage, payer: Payer): Promise<string | undefined> {
  const { client, print, until } = stage
  const order = `order-${randomUUID()}`
  const created = await client.customers.create({ email: `${order}@example.com`, kyc: kycOf('Grace Hopper') })
  const request = {
    ...{ amount: '49.90', currency: 'EUR', idempotencyKey: order, websiteReference: order },
    customerId: created.guid,
  }
  const session = await client.checkout.create(request)
  await payer.pay(stage, session)
  await until(`the session of a payer who ${payer.what} is ${payer.status}`, async () => {
    const { status } = await client.checkout.get(session.sessionId)
    return status === payer.status
  })
  const { status, sessionId } = await client.transactions.get(session.reference)
  print('checkout', `${session.amount} EUR  ${session.creditorReference}  the payer ${payer.what}: ${payer.status}`)
  if (status !== payer.transaction) return `a payer who ${payer.what}: ${status}, expected ${payer.transaction}`
  return sessionId === session.sessionId ? undefined : `${session.reference} names the session ${sessionId}`
}
