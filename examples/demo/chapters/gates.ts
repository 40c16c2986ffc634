/** Capabilities of a customer before its identity is known: a gate of the operator, the reasons, and money that waits until it opens. */
import { sam } from '../staff.ts'
import { ended, orderOf, payeeOf } from './payments.ts'
import { refusalOf, type Chapter, type Stage } from './stage.ts'

export const gates: Chapter = {
  name: 'gates',
  title: 'a customer who may receive and not pay, until its data is complete',
  run: async (stage) => {
    const { client, partnerId, operator, say, show } = stage
    say('The operator lets customers whose data is incomplete receive money, and not pay.')
    const gate = ['--partner', partnerId, '--state', 'Incomplete', '--allow', 'OpenAccount,Receive'] as const
    await operator('gate', 'set', ...gate, '--staff', sam, '--note', 'agreed', '--yes')
    const { guid } = await client.customers.create({ customerType: 'Individual', kyc: { fullName: 'Ada Lovelace' } })
    show('what the customer may do', await allowed(stage, guid), 'OpenAccount, Receive')
    const deposit = { customerId: guid, amount: '50.00', currency: 'EUR', outcome: 'completed' } as const
    const { reference } = await client.simulations.createDeposit(deposit)
    show('money for it', (await ended(stage, reference)).status, 'Completed')
    const payee = await payeeOf(client, 'Grace Hopper', undefined, guid)
    show(
      'a payout for it',
      await refusalOf(client.payouts.create(orderOf(payee, '10.00'))),
      '422 customer_not_verified /beneficiaryId',
    )
    await client.customers.update(guid, {
      kyc: {
        dateOfBirth: '1985-12-10',
        citizenshipCountryCode: 'GB',
        residenceAddress: '12 St James Square, London',
        mobilePhone: '+447400123456',
      },
    })
    show('what it may do when its data is complete', await allowed(stage, guid), 'OpenAccount, Receive, Pay, Convert')
    const paid = await client.payouts.create(orderOf(payee, '10.00'))
    show('the payout', (await ended(stage, paid.reference)).status, 'Completed')
  },
}

async function allowed({ client }: Stage, guid: string): Promise<string> {
  const { capabilities } = await client.customers.getCapabilities(guid)
  return capabilities.flatMap(({ name, allowed: may }) => (may ? [name] : [])).join(', ')
}
