/** Verification of payee: a name with a slip, its correction, and the evidence behind the payout. */
import { dutchIban, ended, orderOf, payeeOf, payoutOf } from './payments.ts'
import { type Chapter, refusalOf, type Stage } from './stage.ts'

export const payees: Chapter = {
  name: 'payees',
  title: 'is it the account of the person that you mean?',
  run: async (stage) => {
    const { client, say, show } = stage
    say('Before it pays Grace, the partner asks whether her name and her IBAN belong together.')
    // In the sandbox the first word of the name chooses the answer: docs/sandbox.md.
    const asked = { name: 'CloseMatch Grace Hopper', iban: dutchIban }
    const close = await client.beneficiaries.createVerification(asked)
    show('a name with a slip', `${close.result}: ${close.matchedName}`, 'CloseMatch: Grace Hopper')
    const match = await client.beneficiaries.createVerification({ ...asked, name: close.matchedName ?? '' })
    show('the corrected name', match.result, 'Match')

    const beneficiary = await payeeOf(client, match.name)
    const { reference } = await client.payouts.create(orderOf(beneficiary, '12.50'))
    const evidence = await client.payouts.getVerification((await payoutOf(client, reference)).id)
    show('the evidence behind the payout', `${evidence.result} ${evidence.id}`, `Match ${match.id}`)
    await withoutIban(stage)
  },
}

async function withoutIban(stage: Stage): Promise<void> {
  const { client, say, show } = stage
  say('Joan has a British account, and gives its sort code and number as she writes them.')
  const wrong = client.beneficiaries.create({
    name: 'Joan Clarke',
    currency: 'GBP',
    sortCode: '20-00',
    accountNumber: '5577991',
  })
  show('a sort code that is too short', await refusalOf(wrong), '400 validation_failed /sortCode')
  const joan = await client.beneficiaries.create({
    ...{ name: 'Joan Clarke', currency: 'GBP', sortCode: '20-00-00', accountNumber: '5577991' },
  })
  show('what a payment to her needs', joan.missingFields?.join() ?? 'nothing', 'address')
  const early = client.payouts.create({ ...orderOf(joan.id, '7.50'), currency: 'GBP' })
  show('a payment by SWIFT without an address', await refusalOf(early), '422 beneficiary_not_payable /beneficiaryId')
  await client.beneficiaries.update({ id: joan.id, address: { city: 'Manchester', country: 'GB' } })
  const { reference } = await client.payouts.create({ ...orderOf(joan.id, '7.50'), currency: 'GBP' })
  await ended(stage, reference)
  const { creditorDetails } = await client.transactions.get(reference)
  show('the account that was paid', `${creditorDetails?.sortCode} ${creditorDetails?.accountNumber}`, '200000 05577991')
}
