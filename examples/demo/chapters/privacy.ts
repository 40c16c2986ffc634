/** A customer asks what is stored about her, and then to be forgotten. */
import { kycOf } from '../people.ts'
import { ended } from './payments.ts'
import { refusalOf, type Chapter, type Stage } from './stage.ts'

export const privacy: Chapter = {
  name: 'privacy',
  title: 'everything about a customer, and its erasure',
  run: async (stage) => {
    const { client, until, say, show } = stage
    const { guid } = await client.customers.create({ email: 'ada@example.com', kyc: kycOf('Ada Lovelace') })
    const deposit = { customerId: guid, amount: '25.00', currency: 'EUR', outcome: 'completed' } as const
    const { reference } = await client.simulations.createDeposit(deposit)
    show(
      'an erasure while a payment is under way',
      await refusalOf(client.customers.erase(guid, {})),
      '409 customer_not_erasable',
    )
    await ended(stage, reference)

    say('Ada asks for everything that is stored about her.')
    const types = await exported(stage, guid)
    say(`  ${[...types].map(([type, count]) => `${type} ${count}`).join(', ')}`)
    show('the export is complete', [...types.keys()].at(-1) ?? '', 'end')
    show('her payment is part of it', `${types.get('transaction')} transaction`, '1 transaction')

    say('Ada asks to be forgotten. The law has who paid kept for five years.')
    const { retainedFields } = await client.customers.erase(guid, { nothingOwed: true })
    show(
      'what is kept of her',
      retainedFields.join(' '),
      'citizenshipCountryCode dateOfBirth fullName residenceAddress',
    )
    // A worker erases fields of her payments. The same request again says how far it is.
    const done = await until('the erasure has ended', async () => {
      const erasure = await client.customers.erase(guid, { nothingOwed: true })
      return erasure.state !== 'Running' && erasure
    })
    const years = Number(done.retainedUntil?.slice(0, 4)) - Number(done.requestedAt.slice(0, 4))
    show('the erasure', `${done.state} for ${years} years`, 'Retained for 5 years')
    show('afterwards', await refusalOf(client.customers.get(guid)), '404 not_found')
  },
}

/** How many lines of each type the export has. It is read in parts, whatever its length. */
async function exported({ client }: Stage, guid: string): Promise<ReadonlyMap<string, number>> {
  const types = new Map<string, number>()
  let rest = ''
  for await (const part of (await client.customers.export(guid)).pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${part}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const { type } = JSON.parse(line) as { readonly type: string }
      types.set(type, (types.get(type) ?? 0) + 1)
    }
  }
  return types
}
