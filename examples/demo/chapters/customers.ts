/** A customer whose data is wrong at first: the verification says per field what to do, until it is complete. */
import { present, type Chapter, type Stage } from './stage.ts'

export const customers: Chapter = {
  name: 'customers',
  title: 'identity data, judged field by field',
  run: async (stage) => {
    const { client, say, show } = stage
    say('Ada opens an account. She forgets her date of birth, and writes her phone as one does at home.')
    const { guid } = await client.customers.create({
      customerType: 'Individual',
      kyc: {
        fullName: 'Ada Lovelace',
        citizenshipCountryCode: 'GB',
        residenceAddress: '12 St James Square, London',
        mobilePhone: '07400 123456',
      },
    })
    show('a field that is missing', await verdictOf(stage, guid, 'dateOfBirth'), 'Missing field_required')
    show('a field that is wrong', await verdictOf(stage, guid, 'mobilePhone'), 'Invalid phone_not_international')
    say('Each code has a sentence in docs/guides/customers.md: what to ask the customer for.')
    await client.customers.update(guid, { kyc: { dateOfBirth: '1985-12-10', mobilePhone: '+447400123456' } })
    show('the customer after the correction', (await client.customers.getVerification(guid)).state, 'Complete')

    const { data: found } = await client.customers.list({ namePrefix: 'lovel' })
    show('found by the beginning of a name', found.map((each) => each.guid).join(), guid)
    const [latest] = (await client.customers.listChanges(guid)).data
    const fields = present(latest, 'the latest change').changes.map(({ field }) => field)
    show('who changed what', `${latest?.kind} ${fields.join(', ')}`, 'Updated kyc.dateOfBirth, kyc.mobilePhone')
  },
}

async function verdictOf({ client }: Stage, guid: string, field: string): Promise<string> {
  const { fields } = await client.customers.getVerification(guid)
  const { state, code } = present(
    fields.find((each) => each.field === field),
    field,
  )
  return [state, code].join(' ')
}
