/** Incoming payments that lack data of their payers: credited, held for an answer, or sent back, by the operator's rules. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { operatorPartnerId } from '../cases/index.ts'
import { type Currency, dayMs, newId, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
import { processBankNotifications, sendDueReturns } from '../banks/settlement/index.ts'
import { createTestService, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import {
  addHolder,
  decideAll,
  listedName,
  sampleList,
  screenAll,
  stateOf,
} from '../../../test/support/screening/held.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'

let service: Service
before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
})
after(() => service.close())
beforeEach(() => service.db.run(sql`delete from deposits.payer_rules`))

/** A bank of the United Kingdom, which is outside, with all that is asked for. */
const complete: IncomingDebtor = {
  ...{ account: 'GB29NWBK60161331926819', bic: 'NWBKGB2LXXX', name: 'Grace Hopper', countryCode: 'GB' },
  address: '1 High Street, London, GB',
}
const bare = { ...complete, address: null }

const arrived = async () => {
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
}
async function pay(debtor: IncomingDebtor, amount = 5_000_00n, name = 'Ada Lovelace') {
  const holder = await addHolder(service, name)
  const credit = { account: holder.iban, money: { currency: 'EUR' as const, amount }, debtor }
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, newId(), {
      ...credit,
      remittance: 'Invoice 7',
      endToEndId: 'E2E-1',
    }),
  )
  await arrived()
  const [deposit] = await service.db.rows<{ readonly id: string }>(
    sql`select id from deposits.deposits where partner_id = ${holder.partnerId}`,
  )
  return { ...holder, id: deposit?.id ?? '' }
}
const look = async (ms = 61 * secondMs) => {
  service.clock.advance(ms)
  await service.deposits.screenDue(1000)
}
const rule = (
  measure: 'accept' | 'ask' | 'reject',
  more: { readonly above?: bigint; readonly currency?: Currency } = {},
) =>
  service.db.transaction((tx) =>
    service.deposits.payers.setRule(tx, {
      ...{ region: 'outside', currency: 'EUR', above: 0n, measure, answerDays: 3 },
      ...more,
    }),
  )
const decide = (partnerId: string, id: string, answer: Parameters<Service['deposits']['payers']['decide']>[2]) =>
  service.db.transaction((tx) => service.deposits.payers.decide(tx, { partnerId, id }, answer))
const shown = async (partnerId: string) => {
  const { statuses, balance, suspense, openCases } = await stateOf(service, partnerId)
  await checkLedger(service.db, partnerId)
  return [statuses.join(), balance, suspense, openCases.join()]
}
const held = ['Screening', 0n, 5_000_00n, 'payer_data_missing 500000']
const credited = ['Completed', 5_000_00n, 0n, '']

/** The bank takes the returns, and books them. */
async function returned(): Promise<void> {
  for (const connector of service.settlement.connectors) await sendDueReturns(service.settlement, connector)
  service.clock.advance(3 * stepMsDefault)
  await processBankNotifications(service.settlement)
}

test('without a rule money is credited whatever lacks, and the bank is counted', async () => {
  const since = service.clock.now()
  for (const debtor of [complete, bare, { ...complete, account: '', bic: '' }]) {
    const { partnerId } = await pay(debtor)
    assert.deepEqual(await shown(partnerId), credited)
  }
  const small = await pay(bare, 1_000_00n)
  assert.deepEqual(await shown(small.partnerId), ['Completed', 1_000_00n, 0n, ''])
  const banks = await service.deposits.payers.failingBanks(service.db, since, 10)
  assert.deepEqual(
    banks.map(({ bank, region, payments, accepted }) => [bank, region, payments, accepted]),
    [
      ['', 'outside', 1n, 1n],
      ['NWBKGB2L', 'outside', 1n, 1n],
    ],
  )
})

test('the rule of the largest amount that is exceeded decides, by the currency and by where the bank is', async () => {
  await rule('reject')
  await rule('ask', { above: 2_000_00n })
  await rule('accept', { above: 10_000_00n })
  await rule('reject', { currency: 'USD' })
  const asked = await pay(bare)
  assert.deepEqual(await shown(asked.partnerId), held)
  const most = await pay(bare, 10_000_01n)
  assert.equal((await shown(most.partnerId))[0], 'Completed')
  const least = await pay(bare, 1_500_00n)
  await look()
  assert.equal((await shown(least.partnerId))[0], 'Failed')
  const inside = await pay({ ...bare, account: 'NL91ABNA0417164300', bic: 'ABNANL2A', name: 'N/A' })
  assert.deepEqual(await shown(inside.partnerId), credited)
})

test('money that is asked about waits, and the answer of the bank credits it', async () => {
  await rule('ask')
  const { partnerId, id } = await pay(bare)
  await look()
  await look()
  assert.deepEqual(await shown(partnerId), held)
  const waiting = (await service.deposits.payers.waiting(service.db, 100)).find((check) => check.id === id)
  assert.deepEqual([waiting?.lacks, waiting?.bank, waiting?.measure], ['address', 'NWBKGB2L', 'ask'])
  const note = await service.db.transaction(async (tx) => {
    const [found] = (await service.cases.list(undefined, 1000, tx)).filter((row) => row.partnerId === partnerId)
    assert.ok(found)
    return service.decisions
      .propose(tx, { partnerId, id: found.id, action: 'return', staff: 'Sam Staff', note: 'No' })
      .catch((error: Error) => error.message)
  })
  assert.match(String(note), /payer-data decide/)
  await assert.rejects(decide(partnerId, id, { name: 'Grace Hopper' }), /still lacks: address/)
  await decide(partnerId, id, { address: '1 High Street, London, GB' })
  await assert.rejects(decide(partnerId, id, null), /does not wait/)
  await look(secondMs)
  assert.deepEqual(await shown(partnerId), credited)
})

test('the name in an answer is compared with the lists before the money is credited', async () => {
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  await service.screening.lists.snapshot()
  await rule('ask')
  const { partnerId, id } = await pay({ ...complete, name: 'NOTPROVIDED' })
  await screenAll(service)
  await look()
  assert.deepEqual(await shown(partnerId), held)
  await decide(partnerId, id, { name: listedName })
  await look(secondMs)
  assert.deepEqual(await shown(partnerId), held, 'the name is not compared yet')
  await screenAll(service)
  await look()
  assert.deepEqual(await shown(partnerId), held, 'no person has decided')
  await decideAll(service, partnerId, 'clear')
  await look()
  assert.deepEqual(await shown(partnerId), credited)
})

test('a name that an answer replaces before it is compared is compared, too', async () => {
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  await service.screening.lists.snapshot()
  await rule('ask')
  const { partnerId, id } = await pay({ ...bare, name: listedName })
  await decide(partnerId, id, { name: 'Grace Hopper', address: '1 High Street, London, GB' })
  await screenAll(service)
  await look()
  assert.equal((await shown(partnerId))[0], 'Screening', 'no person has decided about the first name')
  assert.ok((await decideAll(service, partnerId, 'confirm')) > 0)
  await look()
  assert.equal((await shown(partnerId))[0], 'Failed')
})

test('money without an answer in time goes back, and so does money that a rule rejects', async () => {
  await rule('ask')
  const late = await pay(bare)
  await screenAll(service)
  await look(3 * dayMs)
  await rule('reject')
  const rejected = await pay(bare)
  await screenAll(service)
  await look()
  const refused = ['Failed', 0n, 5_000_00n, 'payer_data_missing 500000']
  for (const { partnerId } of [late, rejected]) assert.deepEqual(await shown(partnerId), refused)
  await assert.rejects(decide(late.partnerId, late.id, { address: 'London, GB' }), /does not wait/)
  await returned()
  for (const { partnerId } of [late, rejected]) assert.deepEqual(await shown(partnerId), ['Failed', 0n, 0n, ''])
})

test('an answer that there are no data sends the money back; without an account to send it to it waits for persons', async () => {
  await rule('ask')
  const refused = await pay(bare)
  await screenAll(service)
  await decide(refused.partnerId, refused.id, null)
  await screenAll(service)
  await look()
  await rule('reject')
  const nameless = await pay({ ...complete, account: '', bic: '' })
  await screenAll(service)
  await look()
  await returned()
  assert.deepEqual(await shown(refused.partnerId), ['Failed', 0n, 0n, ''])
  assert.deepEqual(await shown(nameless.partnerId), ['Failed', 0n, 5_000_00n, 'payer_data_missing 500000'])
})

test('a listed payer keeps its money here, whatever a rule says about its data', async () => {
  await rule('reject')
  const { partnerId } = await pay({ ...bare, name: listedName })
  await screenAll(service)
  await decideAll(service, partnerId, 'confirm')
  await look()
  await returned()
  assert.deepEqual(await shown(partnerId), ['Failed', 0n, 5_000_00n, 'sanctions_hold 500000'])
})

test('the one on whose behalf a debtor pays is compared with the lists, too', async () => {
  const { partnerId, id } = await pay({ ...complete, onBehalfOf: listedName })
  assert.deepEqual(await shown(partnerId), ['Screening', 0n, 5_000_00n, 'sanctions_hold 500000'])
  const { names } = await service.db.transaction((tx) => service.deposits.payerOf(tx, partnerId, id))
  assert.deepEqual(
    names.map(({ role, name }) => [role, name]),
    [
      ['payer', 'Grace Hopper'],
      ['payer', listedName],
    ],
  )
})
