/** Provokes the refusals about who controls a wallet. */
import { randomUUID } from 'node:crypto'
import { dayMs } from '../../service/src/kernel/index.ts'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import { type Client, success, textAt } from '../support/client.ts'
import { startTestService } from '../support/service.ts'

type Stage = { readonly client: Client; readonly db: Database }

const address = `0x${'5'.repeat(40)}`

export const walletExamples = {
  // The sandbox asks for no proof.
  ownership_proof_required: async () => {
    const service = await startTestService({ env: { WALLET_PROOF_ABOVE: '0' } })
    try {
      const wallet = { name: 'Grace Hopper', currency: 'USDC', walletAddress: address }
      const beneficiaryId = textAt(success(await service.client.post('/v1/beneficiaries', wallet)), 'id')
      const payment = { beneficiaryId, amount: 5, currency: 'USDC', idempotencyKey: randomUUID() }
      return await service.client.post('/v1/payouts/token', payment)
    } finally {
      await service.dispose()
    }
  },
  ownership_proof_expired: async ({ client, db }: Stage) => {
    const path = '/v1/wallets/ownership-proofs'
    const id = textAt(success(await client.post(path, { address })), 'id')
    await db.run(sql`
      update wallets.ownership_proofs set expires_at = ${new Date(Date.now() - dayMs)} where id = ${id}`)
    return client.post(`${path}/${id}/sign`, { signature: `0x${'1'.repeat(130)}` })
  },
}
