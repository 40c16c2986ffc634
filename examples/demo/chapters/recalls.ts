/** Money that should not have left: asked back, returned as a new transaction, and refused once. */
import { ended, orderOf, payeeOf, payoutOf } from './payments.ts'
import { refusalOf, type Chapter, type Stage } from './stage.ts'

export const recalls: Chapter = {
  name: 'recalls',
  title: 'a recall that brings the money back, and one that is refused',
  run: async (stage) => {
    const payee = await payeeOf(stage.client, 'Grace Hopper')
    await returned(stage, payee)
    await refused(stage, payee)
  },
}

async function settledPayout(stage: Stage, payee: string, amount: string) {
  const { reference } = await stage.client.payouts.create(orderOf(payee, amount))
  await ended(stage, reference)
  return payoutOf(stage.client, reference)
}

async function returned(stage: Stage, payee: string): Promise<void> {
  const { client, say, show, until } = stage
  say('An invoice was paid twice. The partner asks for the money of the second payout.')
  const payout = await settledPayout(stage, payee, '12.50')
  const request = { reason: 'DUPL', text: 'Paid on Monday already.' } as const
  const recall = await client.payouts.createRecall(payout.id, request)
  say(`  the bank may be asked until ${recall.requestDueOn}`)
  const back = await until('the money of the recall is back', async () => {
    const found = await client.payouts.getRecall(payout.id, recall.id)
    return found.returnedAt !== undefined && found
  })
  show('the recall', `${back.status}, ${back.settledAmount} came back`, 'Accepted, 12.50 came back')
  show('the payout', (await payoutOf(client, payout.reference)).status, 'Returned')
  const { data: related } = await client.transactions.listRelated(payout.reference)
  const links = related.map(({ relation, reference }) => `${relation} ${reference === back.returnReference}`)
  show('the transaction that brought it', links.join(), 'Return true')
}

async function refused(stage: Stage, payee: string): Promise<void> {
  const { client, show, until } = stage
  // The sandbox bank refuses the recall of a payout of this amount.
  const payout = await settledPayout(stage, payee, '4001.11')
  const recall = await client.payouts.createRecall(payout.id, { reason: 'TECH' })
  const answered = await until('the recall has an answer', async () => {
    const found = await client.payouts.getRecall(payout.id, recall.id)
    return found.answer !== undefined && found
  })
  show('a recall that the payee refuses', `${answered.status} ${answered.answer?.code}`, 'Refused NOAS')
  const again = client.payouts.createRecall(payout.id, { reason: 'TECH' })
  show('the same reason again', await refusalOf(again), '409 recall_exists')
}
