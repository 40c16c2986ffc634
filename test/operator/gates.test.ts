/** The operator's commands for what customers may do in each state of their verification, and for their reviews. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { addPartner, pay, stepMsDefault } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'

const operator = await useOperator()
const { service } = operator
const partner = await addPartner(service, 100_000n)

const gate = ([verb = '', ...args]: readonly string[]) => [
  ...['gate', verb, ...args, '--partner', partner.partnerId],
  ...(verb === 'list' ? [] : ['--yes']),
]
const printed = (...args: readonly string[]) => operator.printed<unknown>(...gate(args))

test('a gate can be set, is listed with the defaults, is enforced by a running service, and can be removed', async () => {
  const all = ['OpenAccount', 'Receive', 'Pay', 'Convert']
  const incomplete = { verificationState: 'Incomplete', allowed: ['Receive'], isDefault: false }
  assert.deepEqual(await printed('set', '--state', 'Incomplete', '--allow', 'Receive'), incomplete)
  assert.deepEqual(await printed('list'), [
    { verificationState: 'Complete', allowed: all, isDefault: true },
    incomplete,
    { verificationState: 'Invalid', allowed: all, isDefault: true },
  ])
  await assert.rejects(pay(service, partner, '1.00'), { code: 'customer_not_verified' })
  const maxima = { ...incomplete, holdUpTo: { EUR: '150.00', USDC: '20.000000' } }
  const set = ['set', '--state', 'Incomplete', '--allow', 'Receive', '--hold-up-to', 'EUR=150,USDC=20.00']
  assert.deepEqual(await printed(...set), maxima)
  assert.deepEqual(((await printed('list')) as readonly unknown[])[1], maxima)
  assert.deepEqual(
    await printed('set', '--state', 'Incomplete', '--allow', 'Receive', '--hold-up-to-in-all', 'EUR=500'),
    { ...incomplete, holdUpToInAll: { EUR: '500.00' } },
  )
  const none = { ...incomplete, allowed: [] }
  assert.deepEqual(await printed('set', '--state', 'Incomplete', '--allow', 'none'), none)
  const removed = { ...incomplete, allowed: all, isDefault: true }
  assert.deepEqual(await printed('remove', '--state', 'Incomplete'), removed)
  await pay(service, partner, '1.00')
})

test('wrong arguments are refused in one line and change nothing', async () => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [
      ['set', '--state', 'Invalid', '--allow', 'Pay', '--hold-up-to-in-all', 'EUR=1,GBP=1'],
      /--hold-up-to-in-all is in EUR, the reference currency/,
    ],
    [['remove', '--state', 'Invalid'], /No such gate/],
  ]
  for (const [args, says] of cases) assert.match(await operator.refused(...gate(args)), says)
  const args = ['gate', 'set', '--partner', partner.customer.id, '--state', 'Invalid', '--allow', 'none', '--yes']
  assert.match(await operator.refused(...args), /No such partner/)
  const listed = (await printed('list')) as readonly { readonly isDefault: boolean }[]
  assert.ok(listed.every(({ isDefault }) => isDefault))
})

test('a reviewed customer is listed, and is neither missing nor overdue; wrong arguments are refused', async () => {
  const review = (...args: readonly string[]) => operator.outcome('review', ...args, '--partner', partner.partnerId)
  const { customer, partnerId } = partner
  const by = ['--customer', customer.serviceId, '--staff', 'Ada']
  assert.equal(((await review('missing')) as readonly object[]).length, 1)
  const made = (await review('set', ...by, '--risk', 'high', '--months', '6', '--note', 'Cash business')) as object
  const { reviewedAt: _at, dueOn: _on, ...rest } = made as Record<'reviewedAt' | 'dueOn', string>
  assert.deepEqual(rest, { partnerId, customerId: customer.id, risk: 'high', reviewedBy: 'Ada' })
  assert.deepEqual(await review('list'), [made])
  assert.deepEqual([await review('missing'), await review('overdue')], [[], []])
  assert.deepEqual(await operator.printed('review', 'overdue'), [])
  assert.match(
    String(await review('set', '--customer', partnerId, '--staff', 'Ada', '--risk', 'low')),
    /No such customer/,
  )
  assert.match(String(await review('set', '--customer', customer.id, '--risk', 'low')), /--staff is required/)
})

test('rules for payments that lack data of their payers are set, listed and removed, and banks are counted', async () => {
  const told = (...args: readonly string[]) => operator.printed<unknown>('payer-data', ...args)
  const outside = ['--banks', 'outside', '--currency', 'EUR', '--above', '1000.00']
  const rule = { region: 'outside', currency: 'EUR', measure: 'ask', answerDays: 5, above: '1000.00' }
  assert.deepEqual(await told('set', ...outside, '--measure', 'ask', '--days', '5'), { rules: [rule] })
  const rejecting = { ...rule, measure: 'reject', answerDays: 3 }
  assert.deepEqual(await told('set', ...outside, '--measure', 'reject'), { rules: [rejecting] })
  assert.deepEqual(await told('list'), { rules: [rejecting] })
  assert.deepEqual(await told('remove', ...outside), { rules: [] })
  assert.match(await operator.refused('payer-data', 'remove', ...outside), /No such rule/)
  assert.deepEqual(await told('waiting'), [])
  const now = service.clock.now()
  const { partnerId } = partner
  const credit = {
    account: '',
    money: { currency: 'EUR', amount: 5_000_00n },
    remittance: null,
    endToEndId: null,
  } as const
  const debtor = { account: 'GB29NWBK60161331926819', bic: 'NWBKGB2L', name: 'N/A', countryCode: 'GB', address: null }
  const { iban } = (await service.accounts.create(partnerId, partner.customer.id)).ibans[0]
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, newId(), { ...credit, account: iban, debtor }),
  )
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  const since = ['--since', now.toISOString()]
  assert.deepEqual(await told('banks', ...since), [
    {
      ...{ bank: 'NWBKGB2L', region: 'outside', payments: 1, partners: 1, accepted: 1, asked: 0, rejected: 0 },
      ...{ answered: 0, lastAt: service.clock.now().toISOString() },
    },
  ])
})
