/** Deposits of the sandbox, and their payers. */
import assert from 'node:assert/strict'
import { beforeEach, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, balanceOf, ip, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { AssertionFailure, type Currency, dayMs, newId, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications, sendDueReturns } from '../banks/settlement/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
import {
  addHolder,
  decideAll,
  listedName,
  sampleList,
  screenAll,
  depositState,
} from '../../../test/support/screening/held.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'

suite('deposits', async () => {
  const service = await useModules()

  const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }

  const connector = 'sandbox'

  /** A deposit without scheduled notifications: the test sends them itself. */
  async function open(customFields: Record<string, unknown> | null = null) {
    const partner = await addPartner(service)
    const { partnerId } = partner
    const { row } = await service.deposits.open(
      {
        partnerId,
        operation: 'simulateDeposit',
        customerRef: partner.customer.serviceId,
        amount: 700n,
        currency: 'EUR',
        idempotencyKey: null,
        websiteReference: 'order 1',
        customFields,
        ip,
        expiresAfterMs: 60_000,
        variant: '',
      },
      () => Promise.resolve(),
    )
    const notification = { partnerId, id: newId(), subjectId: row.id }
    const status = async () => {
      const view = await service.transactions.get(partnerId, row.reference)
      return view.timeline.map(({ step }) => step).at(-1)
    }
    const events = () =>
      service.db.rows<{ type: string; data: string }>(sql`
      select type, data from events.events where partner_id = ${partnerId} and reference = ${row.reference} order by id`)
    return { partnerId, row, notification, status, events }
  }

  test('the balance is credited exactly once, when the deposit settles', async () => {
    const { partnerId, notification, status } = await open()
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.submitted' })
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.accepted', debtor })
    assert.equal((await balanceOf(service, partnerId)).posted, 0n)
    for (let repetition = 0; repetition < 3; repetition += 1)
      await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.settled' })
    assert.equal((await balanceOf(service, partnerId)).posted, 700n)
    await service.deposits.processNotification(connector, {
      ...notification,
      kind: 'deposit.failed',
      details: 'too late',
      reasonCode: null,
    })
    assert.equal(await status(), 'Credited')
  })

  test('a notification that is out of order or repeated changes nothing', async () => {
    const { notification, status, events } = await open()
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.settled' })
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.accepted', debtor })
    assert.equal(await status(), 'Created')
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
    assert.equal((await events()).length, 2)
  })

  test('a deposit expires exactly at its expiry time, and later notifications change nothing', async () => {
    const { partnerId, notification, status, events } = await open()
    service.clock.advance(59_999)
    await service.deposits.expireDue(10)
    assert.equal(await status(), 'Created')
    service.clock.advance(1)
    await Promise.all([service.deposits.expireDue(10), service.deposits.expireDue(10)])
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
    assert.equal(await status(), 'Expired')
    const types = (await events()).map(({ type }) => type)
    assert.deepEqual(types.slice(1), ['partner.customer.deposit.expired', 'transaction.status.changed'])
    assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  })

  test('a submitted deposit does not expire', async () => {
    const { notification, status } = await open()
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.submitted' })
    service.clock.advance(120_000)
    await service.deposits.expireDue(10)
    assert.equal(await status(), 'Submitted')
  })

  test("events have the partner's custom fields with all digits of their numbers", async () => {
    const { notification, events } = await open({ price: rawNumber('1.10'), big: rawNumber('12345678901234567890') })
    await service.deposits.processNotification(connector, {
      ...notification,
      kind: 'deposit.failed',
      details: 'no',
      reasonCode: null,
    })
    for (const { data } of await events())
      assert.ok(data.includes('"customFields":{"price":1.10,"big":12345678901234567890}'), data)
  })

  test('a deposit whose expiry fails does not stop the expiry of others', async () => {
    const [broken, sound] = [await open(), await open()]
    await service.db.run(sql`
    update customers.customers set kyc_sealed = ${Buffer.from('lost')} where partner_id = ${broken.partnerId}`)
    service.clock.advance(60_000)
    await assert.rejects(service.deposits.expireDue(10), (error) => (error as Error).cause instanceof AssertionFailure)
    assert.equal(await sound.status(), 'Expired')
    await service.db.run(sql`update deposits.deposits set expires_at = null where partner_id = ${broken.partnerId}`)
  })

  test('a repeated key returns the same deposit, or is refused with its reference if the request differs', async () => {
    const { caller, customer } = await addPartner(service)
    const body = {
      customerId: customer.id,
      amount: 5,
      currency: 'EUR',
      outcome: 'completed',
      idempotencyKey: 'K',
    } as const
    const first = await service.simulations.deposit(caller, body, ip)
    const second = await service.simulations.deposit(caller, { ...body, customerId: customer.serviceId }, ip)
    assert.deepEqual([second.reference, second.replayed], [first.reference, true])
    for (const other of [
      { amount: 6 },
      { outcome: 'failed' as const },
      { websiteReference: 'w' },
      { customFields: {} },
    ])
      await assert.rejects(service.simulations.deposit(caller, { ...body, ...other }, ip), (error) => {
        assert.ok(error instanceof Refusal && error.code === 'idempotency_key_reused')
        return error.detail.includes(first.reference)
      })
  })
})

suite('payers', async () => {
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
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
    const { statuses, balance, suspense, openCases } = await depositState(service, partnerId)
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

  test('without a rule, money is credited despite missing data, and counted for its bank', async () => {
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

  test('the rule of the currency and region with the largest exceeded amount decides', async () => {
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

  test('money waits for the answer of the bank, and is then credited', async () => {
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
    await assert.rejects(decide(partnerId, id, { name: 'Grace Hopper' }), /still missing: address/)
    await decide(partnerId, id, { address: '1 High Street, London, GB' })
    await assert.rejects(decide(partnerId, id, null), /is not waiting for an answer/)
    await look(secondMs)
    assert.deepEqual(await shown(partnerId), credited)
  })

  test('the name in an answer is screened before the money is credited', async () => {
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

  test('a name that an answer replaces before its screening is also screened', async () => {
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

  test('money is sent back if no answer arrives in time, or if a rule rejects it', async () => {
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
    await assert.rejects(decide(late.partnerId, late.id, { address: 'London, GB' }), /is not waiting for an answer/)
    await returned()
    for (const { partnerId } of [late, rejected]) assert.deepEqual(await shown(partnerId), ['Failed', 0n, 0n, ''])
  })

  test("money is sent back after an answer without data, but waits for operators if the payer's account is unknown", async () => {
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

  test('money of a listed payer remains frozen under any rule about missing data', async () => {
    await rule('reject')
    const { partnerId } = await pay({ ...bare, name: listedName })
    await screenAll(service)
    await decideAll(service, partnerId, 'confirm')
    await look()
    await returned()
    assert.deepEqual(await shown(partnerId), ['Failed', 0n, 5_000_00n, 'sanctions_hold 500000'])
  })

  test('the party on whose behalf a debtor pays is also screened', async () => {
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
})
