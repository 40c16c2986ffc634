/**
 * The rehearsal of safeguarding over the demo's day: the accounts of the test bank are designated, the day is computed, exported, and
 * the file is verified. The bank's own book says what must be there.
 */
import { join } from 'node:path'
import type { Book } from '../../iso-bank/model.ts'
import { amountText } from '../money.ts'
import type { Print } from '../print.ts'
import type { Check } from '../reconcile.ts'
import type { Service } from '../service.ts'
import { fee } from './day.ts'

type ComputedDay = {
  readonly day: string
  readonly currency: string
  readonly status: string
  readonly requirement: { readonly total: string }
  readonly resource: string | null
  readonly difference: string | null
  readonly timing: string | null
  readonly discrepancy: string | null
  readonly parts: readonly { readonly kind: string; readonly amount: string }[]
}

export async function rehearseSafeguarding(
  { operator, dataDir }: Pick<Service, 'operator' | 'dataDir'>,
  { accounts }: Book,
  day: string,
  print: Print,
): Promise<readonly Check[]> {
  for (const { iban, currency } of accounts) {
    const about = ['--account', iban, '--currency', currency, '--from', day, '--staff', 'Demo']
    await operator('safeguarding', 'accounts', 'set', ...about)
  }
  const computed = (await operator('safeguarding', 'run', '--day', day)) as readonly ComputedDay[]
  for (const { currency, status, requirement, resource } of computed)
    print(
      'safeguarding',
      `${currency}: ${status}, requirement ${requirement.total}, resource ${resource ?? 'not known'}`,
    )
  const file = join(dataDir, 'safeguarding.csv')
  await operator('safeguarding', 'export', '--day', day, '--format', 'csv', '--to', file)
  const verified = (await operator('safeguarding', 'verify', '--from', file)) as {
    readonly records: readonly unknown[]
  }
  print('safeguarding', `${verified.records.length} records exported and verified`)
  const plain = (minor: bigint) => amountText(minor).replaceAll(',', '')
  const amountOf = ({ parts }: ComputedDay, kind: string) => parts.find((part) => part.kind === kind)?.amount ?? '0.00'
  const differences = accounts.flatMap(({ currency, balance, opening }) => {
    const found = computed.find((each) => each.currency === currency)
    if (found === undefined) return [`${currency}: no record`]
    const expected = {
      resource: plain(balance),
      opening: plain(opening),
      undecided_debits: currency === fee.currency ? plain(-fee.amount) : '0.00',
      timing: '0.00',
      discrepancy: '0.00',
    }
    const actual = {
      resource: found.resource,
      opening: amountOf(found, 'opening'),
      undecided_debits: amountOf(found, 'undecided_debits'),
      timing: found.timing,
      discrepancy: found.discrepancy,
    }
    const [said, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
    return said === wanted ? [] : [`${currency}: ${said}, expected ${wanted}`]
  })
  const agreed = computed.map(
    ({ currency, requirement, difference }) => `${currency} ${requirement.total} and ${difference}`,
  )
  return [
    {
      title: 'safeguarding',
      agreed: `client money is on the bank's accounts, the rest is named: ${agreed.join(', ')}`,
      differences: verified.records.length === computed.length ? differences : ['a record was not verified'],
    },
  ]
}
