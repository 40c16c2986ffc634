/** A payout to a name of a sanctions list waits until two persons have decided that the payee is not the listed one. */
import { fileURLToPath } from 'node:url'
import { grace, sam } from '../staff.ts'
import { ended, orderOf, payeeOf } from './payments.ts'
import { present, type Chapter } from './stage.ts'

/** Invented names in the form of the list of the UN. */
const list = fileURLToPath(new URL('../../../service/src/screening/samples/un.xml', import.meta.url))

type Hit = {
  readonly partnerId: string
  readonly id: string
  readonly score: number
  readonly status: string
  readonly matched: readonly string[]
}

export const screening: Chapter = {
  name: 'screening',
  title: 'a payout waits for two persons',
  run: async (stage) => {
    const { client, partnerId, operator, until, say, show } = stage
    await operator('screening', 'load', '--from', list, '--staff', sam)
    const { reference } = await client.payouts.create(orderOf(await payeeOf(client, 'Boris Tremurov'), '12.50'))
    const steps = async () => (await client.transactions.get(reference)).timeline.map(({ step }) => step).join(' ')
    await until('the payout waits', async () => (await steps()).includes('Screening'))
    show('a payout to a listed name', await steps(), 'Created Reserved Screening')

    const hits = await operator<readonly Hit[]>('screening', 'hits')
    const hit = present(
      hits.find((each) => each.partnerId === partnerId),
      'the hit',
    )
    for (const word of hit.matched) say(`  score ${hit.score}: ${word}`)
    const decide = (staff: string, note: string) =>
      operator<Hit>(
        'screening',
        'decide',
        ...['--partner', partnerId, '--id', hit.id, '--outcome', 'clear', '--disposition', 'birth_differs'],
        ...['--staff', staff, '--note', note],
      )
    say('Sam compares the dates of birth: it is another person. Grace checks the passport.')
    show('one person clears the hit', (await decide(sam, 'Born in 1990, the listed one in 1961')).status, 'open')
    show('a second person agrees', (await decide(grace, 'Passport checked')).status, 'cleared')
    say('The worker looks at a payout that waits every 30 seconds.')
    const { status } = await ended(stage, reference)
    show('the payout is released', status, 'Completed')
    say(`  ${await steps()}`)
  },
}
