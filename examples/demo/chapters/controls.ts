/** The checks of a payout: a preview of every rule, a limit, a fee, and the approval of a second person. */
import { balanceOf, ended, orderOf, payeeOf, payoutOf } from './payments.ts'
import { refusalOf, type Chapter, type Stage } from './stage.ts'

export const controls: Chapter = {
  name: 'controls',
  title: 'preview, limit, fee, what is left of a limit, approval, and a cancellation',
  run: async (stage) => {
    const { client, partnerId, operator, say } = stage
    say(
      'The operator and the partner agreed: 5,000.00 EUR a day to one payee, a fee, and two persons above 1,000.00 EUR.',
    )
    const of = ['--partner', partnerId, '--currency', 'EUR'] as const
    await operator('limit', 'set', ...of, '--scope', 'beneficiary', '--period', 'day', '--amount', '5000.00')
    await operator('fee', 'set', ...of, '--fixed', '0.20', '--basis-points', '10')
    await operator('approval', 'set', ...of, '--above', '1000.00')
    const payee = await payeeOf(client, 'Grace Hopper')
    await preview(stage, payee)
    await limitAndFee(stage, payee)
    await readable(stage, payee)
    await approval(stage, payee)
  },
}

async function preview({ client, say, show }: Stage, beneficiaryId: string): Promise<void> {
  const small = await client.payouts.preview({ beneficiaryId, amount: '500.00', currency: 'EUR' })
  show('a preview', `${small.accepted}, fee ${small.fee}, total ${small.total}`, 'true, fee 0.70, total 500.70')
  for (const { rule, verdict } of small.rules) say(`  ${rule}: ${verdict}`)
  const large = await client.payouts.preview({ beneficiaryId, amount: '5000.01', currency: 'EUR' })
  const failed = large.rules.filter(({ verdict }) => verdict === 'failed')
  show('the rule that would refuse', failed.map(({ rule }) => rule).join(), 'limit.beneficiary.day')
}

async function limitAndFee(stage: Stage, payee: string): Promise<void> {
  const { client, show } = stage
  const refused = await refusalOf(client.payouts.create(orderOf(payee, '5000.01')))
  show('a payout above the limit', refused, '422 limit_exceeded /amount')
  const { reference } = await client.payouts.create(orderOf(payee, '500.00'))
  await ended(stage, reference)
  const { data } = await client.accounts.listEntries((await balanceOf(client)).id, {})
  const booked = data.filter((entry) => entry.reference === reference)
  show(
    'what a payout of 500.00 booked',
    booked
      .map(({ counterAccount, amount }) => `${counterAccount} ${amount}`)
      .toSorted()
      .join(', '),
    'Fees 0.70, Settlement 500.00',
  )
}

async function readable({ client, show }: Stage, beneficiaryId: string): Promise<void> {
  const [limit] = (await client.payouts.listLimits({ beneficiaryId })).data
  show(
    'what is used and left of the limit',
    `${limit?.used} and ${limit?.left} of ${limit?.amount}`,
    '500.00 and 4500.00 of 5000.00',
  )
  const [fee] = (await client.payouts.listFees({ currency: 'EUR' })).data
  show('the fee that applies', `${fee?.fixed} and ${fee?.basisPoints} basis points`, '0.20 and 10 basis points')
}

async function approval(stage: Stage, payee: string): Promise<void> {
  const { client, colleague, say, show } = stage
  const approver = await colleague('Approver', 'payouts:read,payouts:write')
  const large = await client.payouts.create(orderOf(payee, '1200.00'))
  show('a large payout', large.status, 'PendingApproval')
  const { id } = await payoutOf(client, large.reference)
  show('its creator approves it', await refusalOf(client.payouts.approve(id)), '403 approver_is_creator')
  await approver.payouts.approve(id)
  const { status, timeline } = await ended(stage, large.reference)
  say(`  ${timeline.map(({ step }) => step).join(' ')}`)
  show('a second person approves it', status, 'Completed')

  const other = await client.payouts.create(orderOf(payee, '1300.00'))
  const { reserved } = await balanceOf(client)
  const cancelled = await client.payouts.cancel((await payoutOf(client, other.reference)).id)
  const { reserved: left } = await balanceOf(client)
  show('a payout is cancelled before its submission', cancelled.status, 'Cancelled')
  show('reserved before and after', `${reserved}, ${left}`, '1301.50, 0.00')
}
