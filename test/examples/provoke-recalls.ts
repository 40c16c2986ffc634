/** Causes the problems of recalls. */
import { randomUUID } from 'node:crypto'
import { dayMs } from '../../service/src/kernel/index.ts'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import { type Answer, type Client, success, textAt } from '../support/client.ts'
import { idOfPayout, settledPayout, type World } from '../support/world.ts'

type Stage = {
  readonly service: { readonly credentials: { readonly partnerId: string } }
  readonly client: Client
  readonly world: World
  readonly db: Database
}

const recall = (client: Client, id: string, reason = 'DUPL'): Promise<Answer> =>
  client.post(`/v1/payouts/${id}/recall`, { reason })

export const recallExamples = {
  payout_not_recallable: ({ client, world }: Stage) => recall(client, world.cancelled),
  recall_exists: async ({ client, world }: Stage) => {
    // Its recall is not answered.
    const id = await settledPayout(client, world.beneficiary, '4001.12')
    success(await recall(client, id))
    return recall(client, id, 'FRAD')
  },
  recall_not_supported: async ({ client, world }: Stage) => {
    const token = { beneficiaryId: world.tokenBeneficiary, currency: 'USDC', idempotencyKey: randomUUID(), amount: 1 }
    const paid = success(await client.post('/v1/payouts/token', token))
    return recall(client, await idOfPayout(client, textAt(paid, 'reference')))
  },
  recall_deadline_passed: async ({ client, db, service, world }: Stage) => {
    const id = await settledPayout(client, world.beneficiary, '5.00')
    await db.run(sql`
      update payouts.payouts set updated_at = ${new Date(Date.now() - 800 * dayMs)}
      where partner_id = ${service.credentials.partnerId} and id = ${id}`)
    return recall(client, id)
  },
}
