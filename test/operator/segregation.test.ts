/** The operator's commands for pooled and segregated balances, while a service runs on the same database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../service/src/kernel/index.ts'
import { singleEntry } from '../../service/src/ledger/index.ts'
import { checkLedger } from '../model/ledger-audit.ts'
import { addPartner, pay } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { joinedStaff } from '../support/staff.ts'

const operator = await useOperator({ now: new Date() })
const { service, folder } = operator
const [ann, ben] = [
  await joinedStaff(service, folder, 'Ann Finance', 'finance'),
  await joinedStaff(service, folder, 'Ben Finance', 'finance'),
]

const about = (partnerId: string, args: readonly string[]) => ['segregation', ...args, '--partner', partnerId]
const printed = (partnerId: string, ...args: readonly string[]) => operator.printed<unknown>(...about(partnerId, args))
const refused = (partnerId: string, ...args: readonly string[]) => operator.refused(...about(partnerId, args))
const euros = ['--currency', 'EUR'] as const
const decided = [...euros, '--note', 'approved by the board', ...ann.as] as const

/** A partner with 100.00 of its own, and a customer that has paid out 30.00 of it without paying in. */
async function addOverdrawn() {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, customer } = partner
  const { reserveId: entryId } = (await pay(service, partner, '30.00')).payout
  await service.db.transaction((tx) => service.ledger.settleMany(tx, [{ partnerId, entryId, kind: 'post' }], []))
  return { partner, partnerId, customerId: customer.id }
}

test('a balance can be planned, covered, segregated and pooled again', async () => {
  const { partner, partnerId, customerId } = await addOverdrawn()
  const short = { customerId, posted: '-30.00', reserved: '0.00', missing: '30.00' }
  const plan = { currency: 'EUR', ready: false, own: '100.00', shortCustomers: 1, missing: '30.00', ownCovers: true }
  assert.deepEqual(await printed(partnerId, 'plan', ...euros), { ...plan, customers: [short] })
  assert.match(
    await refused(partnerId, 'set', '--mode', 'segregated', ...decided),
    /1 parties have a negative balance, 30\.00 EUR in all: `operator segregation plan` names them/,
  )
  assert.deepEqual(await printed(partnerId, 'list'), [{ currency: 'EUR', mode: 'pooled' }])
  const { waits } = (await printed(partnerId, 'cover', ...decided)) as { readonly waits: string }
  const stillShort = { ...plan, customers: [short] }
  assert.deepEqual(await printed(partnerId, 'plan', ...euros), stillShort, 'one person moves no money')
  const covered = await operator.printed('change', 'approve', '--id', waits, ...ben.as)
  assert.partialDeepStrictEqual(covered, { customers: 1, total: '30.00', covered: [{ customerId, amount: '30.00' }] })
  assert.partialDeepStrictEqual(await printed(partnerId, 'plan', ...euros), {
    ready: true,
    own: '70.00',
    customers: [],
  })
  assert.deepEqual(await printed(partnerId, 'set', '--mode', 'segregated', ...decided), {
    currency: 'EUR',
    mode: 'segregated',
  })
  assert.deepEqual(await printed(partnerId, 'list'), [
    { currency: 'EUR', mode: 'segregated', own: '70.00', ownReserved: '0.00' },
  ])
  await assert.rejects(pay(service, partner, '0.01'), { code: 'insufficient_funds' })
  await checkLedger(service.db, partnerId)
  await printed(partnerId, 'set', '--mode', 'pooled', ...decided)
  await pay(service, partner, '0.01')
  await checkLedger(service.db, partnerId)
})

test('a partner cannot cover its customers with more than its own money', async () => {
  const { partner, partnerId } = await addOverdrawn()
  const paid = pay(service, partner, '65.00', { beneficiaryId: partner.ownBeneficiary.id })
  const { reserveId: entryId } = (await paid).payout
  await service.db.transaction((tx) => service.ledger.settleMany(tx, [{ partnerId, entryId, kind: 'post' }], []))
  const { id } = await service.customers.create(partnerId, { email: 'joan@example.com' })
  const credit = { partnerId, partyId: id, debit: 'settlement.sandbox', credit: 'balance', currency: 'EUR' } as const
  const saved = singleEntry('bank', { ...credit, amount: 5_00n, reference: newId() })
  await service.db.transaction((tx) => service.ledger.enter(tx, saved))
  // Own money: 100 - 65 = 35, of which 30 is needed for cover. After another payout of 10 it is too little.
  assert.partialDeepStrictEqual(await printed(partnerId, 'plan', ...euros), { own: '35.00', ownCovers: true })
  await pay(service, partner, '10.00')
  assert.partialDeepStrictEqual(await printed(partnerId, 'plan', ...euros), { missing: '40.00', ownCovers: false })
  assert.match(
    await refused(partnerId, 'cover', ...decided),
    /customers miss 40\.00 EUR, and the partner has 35\.00 EUR of its own/,
  )
})

test('an unknown partner is refused in one line', async () => {
  assert.match(await refused(newId(), 'set', '--mode', 'segregated', ...decided), /No such partner/)
  assert.match(await refused(newId(), 'plan', ...euros), /No such partner/)
})
