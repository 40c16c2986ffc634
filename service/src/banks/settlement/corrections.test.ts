/** Money that operators move: a partner is charged for what left, and a credit of the wrong customer is taken back. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operatorPartnerId } from '../../cases/index.ts'
import { newId } from '../../kernel/index.ts'
import type { BankNotification, Connector } from '../../rails/index.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import { addPartner, balanceOf, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { processBankNotifications } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

type Told = BankNotification extends infer N ? (N extends unknown ? Omit<N, 'id'> : never) : never
async function report(told: Told): Promise<void> {
  const saying: Connector = {
    ...service.bank,
    notifications: () => Promise.resolve([{ ...told, id: newId() } as BankNotification]),
    acknowledge: () => Promise.resolve(),
  }
  await processBankNotifications({ ...service.settlement, connectors: [saying] })
}
const euros = (amount: bigint) => ({ currency: 'EUR', amount }) as const
const debtor = { account: 'DE02120300000000202051', bic: '', name: 'Ada Payer', countryCode: 'DE', address: null }

async function caseOf(partnerId: string) {
  const [found] = (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)
  assert.ok(found)
  return found
}
async function decide(
  { partnerId, id }: { readonly partnerId: string; readonly id: string },
  action: 'charge' | 'match' | 'return',
  named: { readonly toPartnerId?: string; readonly customerId?: string } = {},
) {
  const { db, decisions } = service
  const key = { partnerId, id }
  await db.transaction((tx) => decisions.propose(tx, { ...key, action, staff: 'Ada', note: 'Agreed', ...named }))
  await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'Grace' }))
}
const charge = (amount: bigint) =>
  report({
    ...{ kind: 'debit.booked', partnerId: operatorPartnerId, subjectId: newId(), why: 'bank_fee' },
    ...{ account: debtor.account, money: euros(amount), details: 'Charges of the bank for an investigation.' },
  })

test('a partner bears charges of the bank as a transaction with the reason, once', async () => {
  const { partnerId } = await addPartner(service, 1_000n)
  await charge(250n)
  const opened = await caseOf(operatorPartnerId)
  await assert.rejects(decide(opened, 'charge'), /Name the partner that bears the money/)
  await decide(opened, 'charge', { toPartnerId: partnerId })
  assert.equal((await balanceOf(service, partnerId)).posted, 750n)
  const { data } = await service.transactions.list(partnerId, { category: 'Withdrawal' })
  assert.deepEqual(
    data.map(({ row: { amount, type, status, description } }) => [amount, type, status, description]),
    [[250n, 'PartnerWithdraw', 'Completed', 'Charge: Charges of the bank for an investigation.']],
  )
  assert.equal((await service.cases.byId(service.db, operatorPartnerId, opened.id))?.resolution, 'charged')
  await assert.rejects(decide(opened, 'charge', { toPartnerId: partnerId }), /was charged by/)
  for (const id of [partnerId, operatorPartnerId]) await checkLedger(service.db, id)
})

test('a charge takes only what the balance has free, and money that came in is not charged', async () => {
  const partner = await addPartner(service, 1_000n)
  await pay(service, partner, '9.00')
  await charge(250n)
  const opened = await caseOf(operatorPartnerId)
  await assert.rejects(decide(opened, 'charge', { toPartnerId: partner.partnerId }), /does not cover 2.50 EUR/)
  assert.equal((await caseOf(operatorPartnerId)).id, opened.id, 'the case stays open')
  assert.equal((await balanceOf(service, partner.partnerId)).posted, 1_000n)
  await decide(opened, 'charge', { toPartnerId: (await addPartner(service, 300n)).partnerId })
  await report({ kind: 'deposit.settled', partnerId: newId(), subjectId: newId(), money: euros(5n) })
  const incoming = await caseOf(operatorPartnerId)
  await assert.rejects(decide(incoming, 'charge', { toPartnerId: partner.partnerId }), /money of the case came in/)
})

async function credited(amount: bigint) {
  const partner = await addPartner(service, 0n)
  const { partnerId, customer } = partner
  const { iban } = (await service.accounts.create(partnerId, customer.id)).ibans[0]
  const subjectId = newId()
  const credit = { account: iban, money: euros(amount), debtor, remittance: 'Invoice 7', endToEndId: 'E2E-7' }
  await report({ kind: 'credit.booked', partnerId: operatorPartnerId, subjectId, ...credit })
  const { data } = await service.transactions.list(partnerId, { category: 'Deposit' })
  const reference = data[0]?.row.reference ?? ''
  assert.equal((await balanceOf(service, partnerId)).posted, amount)
  return { partner, partnerId, reference, subjectId }
}
const undo = (partnerId: string, reference: string) =>
  service.db.transaction((tx) => service.deposits.undoCredit(tx, { partnerId, reference }))

test('a credit of the wrong customer is taken back into suspense, and two persons give it to the right one', async () => {
  const { partnerId, reference } = await credited(700n)
  const other = await service.customers.create(partnerId, { email: `${newId()}@example.com` })
  const undone = await Promise.allSettled([1, 2].map(() => undo(partnerId, reference)))
  assert.deepEqual(undone.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  const opened = await caseOf(partnerId)
  assert.deepEqual([opened.kind, opened.booked, opened.currency], ['unknown_payment', 700n, 'EUR'])
  await decide(opened, 'match', { customerId: other.id })
  assert.equal((await balanceOf(service, partnerId)).posted, 700n)
  const { data } = await service.transactions.list(partnerId, {})
  assert.deepEqual(
    data
      .map(({ row: { category, customerId, status, description } }) => [
        category,
        customerId === other.id,
        status,
        description,
      ])
      .toReversed(),
    [
      ['Deposit', false, 'Completed', 'Invoice 7'],
      ['Withdrawal', false, 'Completed', `Correction of ${reference}: the credit was for another account.`],
      ['Deposit', true, 'Completed', 'Invoice 7'],
    ],
  )
  await checkLedger(service.db, partnerId)
})

test('what is spent, was taken back by the bank, or is no credit is not undone', async () => {
  const { partner, partnerId, reference, subjectId } = await credited(700n)
  const { payout } = await pay(service, partner, '0.01')
  await assert.rejects(undo(partnerId, reference), /does not cover 7.00 EUR/)
  await assert.rejects(undo(partnerId, payout.reference), { code: 'not_found' })
  await assert.rejects(undo(partnerId, 'NONE'), { code: 'not_found' })
  const reversal = { kind: 'credit.reversed', money: euros(700n), details: 'Cancelled by the bank.' } as const
  await report({ ...reversal, partnerId: operatorPartnerId, subjectId })
  await assert.rejects(undo(partnerId, reference), /has already been taken back/)
  await checkLedger(service.db, partnerId)
})

test('a reversal of the bank after a correction is a case, because the money is counted elsewhere', async () => {
  const { partnerId, reference, subjectId } = await credited(700n)
  await undo(partnerId, reference)
  await decide(await caseOf(partnerId), 'match')
  const reversal = { kind: 'credit.reversed', money: euros(700n), details: 'Cancelled by the bank.' } as const
  await report({ ...reversal, partnerId: operatorPartnerId, subjectId })
  const opened = await caseOf(partnerId)
  assert.deepEqual([opened.kind, opened.booked], ['contradiction', -700n])
  assert.equal((await balanceOf(service, partnerId)).posted, 700n)
  await checkLedger(service.db, partnerId)
})
