/** Causes the problems of approvals. */
import { type Client, success, textAt } from '../support/client.ts'
import { accountWith, type TestService } from '../support/service.ts'
import { idOfPayout, payoutText, type World } from '../support/world.ts'

type Stage = { readonly service: TestService; readonly client: Client; readonly world: World }

/** Returns the path of a payout that awaits approval. */
async function waiting({ client, world }: Stage): Promise<string> {
  const made = success(await client.post('/v1/payouts/fiat', payoutText(world.beneficiary, '100000.02')))
  return `/v1/payouts/${await idOfPayout(client, textAt(made, 'reference'))}`
}

export const approvalExamples = {
  approver_is_creator: async (stage: Stage) => stage.client.post(`${await waiting(stage)}/approve`),
  approver_limit_exceeded: async (stage: Stage) => {
    const { service } = stage
    const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '100000.00']
    await service.operator('approval', 'set', ...rule, '--per-person', '50000.00')
    const approver = await accountWith(service, ['payouts:write'])
    const refused = await approver.post(`${await waiting(stage)}/approve`)
    // Other examples approve, too.
    await service.operator('approval', 'set', ...rule)
    return refused
  },
}
