/** Verification of payee: a name with a slip, its correction, and the evidence behind the payout. */
import { dutchIban, orderOf, payeeOf, payoutOf } from './payments.ts'
import type { Chapter } from './stage.ts'

export const payees: Chapter = {
  name: 'payees',
  title: 'is it the account of the person that you mean?',
  run: async ({ client, say, show }) => {
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
  },
}
