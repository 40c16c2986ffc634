/** A payout to an account of this service: booked on both sides at once, without a bank. */
import { kycOf } from '../people.ts'
import { balanceOf, ended, orderOf } from './payments.ts'
import { present, type Chapter } from './stage.ts'

export const inside: Chapter = {
  name: 'inside',
  title: 'a payout to an IBAN of this service, which no bank carries',
  run: async ({ client, say, show, ...stage }) => {
    const { guid } = await client.customers.create({ email: 'grace@example.com', kyc: kycOf('Grace Hopper') })
    const { ibans } = await client.accounts.createForCustomer(guid)
    const { iban } = present(ibans[0], 'the IBAN of the customer')
    say('The partner pays its own customer, by the IBAN that this service issued.')
    const payee = await client.beneficiaries.create({ name: 'Grace Hopper', iban, currency: 'EUR' })
    const before = (await balanceOf(client)).posted
    const { reference } = await client.payouts.create(orderOf(payee.id, '25.00'))
    const payout = await ended({ client, say, show, ...stage }, reference)
    show('the payout', payout.status, 'Completed')
    const { data } = await client.transactions.list({ customerId: guid, category: 'Deposit' })
    const credit = present(data[0], 'the credit of the customer')
    show('what the customer got', `${credit.amount} ${credit.currency} ${credit.status}`, '25.00 EUR Completed')
    show('the balance of the partner, which has both sides', (await balanceOf(client)).posted, before)
  },
}
