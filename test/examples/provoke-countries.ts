/**
 * Provokes the refusal of a country, in a separate database, because after a change of country rules every name in a
 * database waits until it is screened again.
 */
import type { Answer } from '../support/client.ts'
import { startTestService } from '../support/service.ts'

export async function refusedCountry(): Promise<Answer> {
  const service = await startTestService()
  try {
    const antarctica = ['--countries', 'AQ', '--for', 'payouts', '--action', 'refuse', '--staff', 'Sam Staff']
    await service.operator('screening', 'country', 'set', ...antarctica)
    const wallet = { currency: 'USDC', walletAddress: `0x${'5'.repeat(40)}`, country: 'AQ' }
    return await service.client.post('/v1/beneficiaries', { name: 'Grace Hopper', ...wallet })
  } finally {
    await service.dispose()
  }
}
