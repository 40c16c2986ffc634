/** Internal transfers: both sides are booked and linked, by the rules of every payout. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import { checkPayments } from '../../../../test/model/payments.ts'
import { addPartner, balanceOf, ip, pay, type TestPartner } from '../../../../test/support/composition.ts'
import { ledgerFindings } from '../../../../test/support/integrity.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { type Currency, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../settlement/index.ts'
import { addTrader, quote } from '../../../../test/support/fx.ts'
import { addHolder, decideAll, listedName, sampleList, screenAll } from '../../../../test/support/screening/held.ts'
import { useModules } from '../../../../test/support/fixture.ts'

suite('transfers', async () => {
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

  const floatMinor = 1_000_000n

  const ibanOf = async ({ partnerId, customer }: TestPartner) =>
    (await service.accounts.create(partnerId, customer.id)).ibans[0].iban

  /** Creates a beneficiary of `payer` with the account of a customer of `payee`. */
  async function payable(payer: TestPartner, payee: TestPartner, currency: Currency = 'EUR') {
    const iban = await ibanOf(payee)
    const owner = payee === payer ? {} : { customerId: payer.customer.id }
    return service.beneficiaries.create(payer.partnerId, { name: 'Ada Lovelace', iban, currency, ...owner })
  }

  async function processed(): Promise<void> {
    for (let did = 1; did > 0;)
      did = (await submitDuePayouts(service.settlement)) + (await processBankNotifications(service.settlement))
  }

  const depositsOf = (partnerId: string) =>
    service.db.rows<{
      reference: string
      status: string
      amount: bigint
      paymentMethod: string
      endToEndId: string
      debtor: string
    }>(
      sql`select reference, status, amount, payment_method, end_to_end_id, debtor from deposits.deposits
      where partner_id = ${partnerId} and connector = 'internal' order by id`,
    )

  const eventsOf = async (partnerId: string) =>
    (
      await service.db.rows<{ type: string }>(
        sql`select type from events.events where partner_id = ${partnerId} order by id`,
      )
    ).map(({ type }) => type)

  const related = async ({ partnerId }: TestPartner, reference: string) =>
    (await service.transactions.related(partnerId, reference)).related.map(({ relation, transaction }) => [
      relation,
      transaction.row.reference,
    ])

  const instructionsOfBank = (partnerId: string) =>
    service.db.rows(sql`select id from rails.sandbox_instructions where partner_id = ${partnerId}`)

  async function checkBooks(...partners: readonly TestPartner[]): Promise<void> {
    let between = 0n
    for (const { partnerId } of partners) {
      await checkPayments(service.db, partnerId, new Map())
      const accounts = await checkLedger(service.db, partnerId)
      between += accounts.find(({ name }) => name === 'settlement.internal')?.posted ?? 0n
    }
    assert.equal(between, 0n, 'what one side paid, the other side has')
  }

  test('a payout to the customer of another partner is booked on both sides without a bank, with events for both', async () => {
    const [payer, payee] = [await addPartner(service, floatMinor), await addPartner(service)]
    const { id: beneficiaryId } = await payable(payer, payee)
    // The sandbox bank would refuse this amount, but no bank sees the payment.
    const { payout } = await pay(service, payer, '4001.02', { beneficiaryId, reference: 'RENT 7' })
    assert.equal(payout.connector, 'internal')
    await processed()
    assert.equal((await service.payouts.get(payer.partnerId, payout.id)).status, 'Completed')
    assert.equal((await balanceOf(service, payer.partnerId)).posted, floatMinor - 400_102n)
    assert.equal((await balanceOf(service, payee.partnerId)).available, 400_102n)
    const [deposit, ...others] = await depositsOf(payee.partnerId)
    assert.deepEqual(others, [])
    assert.deepEqual([deposit?.status, deposit?.paymentMethod], ['Completed', 'Internal'])
    assert.equal(deposit?.endToEndId, payout.endToEndId)
    assert.equal(JSON.parse(deposit.debtor).name, 'Ada Lovelace')
    // The reference of another partner's transaction stays secret.
    assert.deepEqual(await related(payee, deposit.reference), [])
    assert.ok((await eventsOf(payer.partnerId)).includes('partner.customer.withdrawal.sent'))
    assert.ok((await eventsOf(payee.partnerId)).includes('partner.customer.deposit.completed'))
    assert.deepEqual(await instructionsOfBank(payer.partnerId), [])
    await checkBooks(payer, payee)
  })

  test('a transfer within one partner links its payout and its deposit, and no money leaves the partner', async () => {
    const partner = await addPartner(service, floatMinor)
    const { id: beneficiaryId } = await payable(partner, partner)
    const { payout } = await pay(service, partner, '12.00', { beneficiaryId, reference: 'INSIDE-1' })
    await processed()
    const [deposit] = await depositsOf(partner.partnerId)
    assert.ok(deposit)
    assert.deepEqual(await related(partner, payout.reference), [['Transfer', deposit.reference]])
    assert.deepEqual(await related(partner, deposit.reference), [['Original', payout.reference]])
    assert.equal((await balanceOf(service, partner.partnerId)).available, floatMinor)
    await checkBooks(partner)
  })

  test('a transfer to a closed or blocked account is refused with the reason, and the payer gets the money back', async () => {
    const [payer, payee] = [await addPartner(service, floatMinor), await addPartner(service)]
    const { id: beneficiaryId } = await payable(payer, payee)
    const payTo = async (amount: string) => {
      const { payout } = await pay(service, payer, amount, { beneficiaryId })
      await processed()
      return service.payouts.get(payer.partnerId, payout.id)
    }
    await service.db.transaction((tx) =>
      service.customers.setAccountState(tx, payee.partnerId, payee.customer.id, 'Blocked'),
    )
    const blocked = await payTo('5.00')
    assert.deepEqual([blocked.status, blocked.errorKey], ['Failed', 'RecipientBlocked'])
    await service.db.transaction((tx) =>
      service.accounts.close(tx, payee.partnerId, payee.customer.id, service.clock.now()),
    )
    const closed = await payTo('6.00')
    assert.deepEqual([closed.status, closed.errorKey], ['Failed', 'InvalidAccountDetails'])
    assert.deepEqual(await balanceOf(service, payer.partnerId), {
      posted: floatMinor,
      reserved: 0n,
      available: floatMinor,
    })
    assert.deepEqual(await depositsOf(payee.partnerId), [])
    await checkBooks(payer, payee)
  })

  test('if the payee closes its account after acceptance, the money stays in suspense with a case of the payer', async () => {
    const [payer, payee] = [await addPartner(service, floatMinor), await addPartner(service)]
    const { id: beneficiaryId } = await payable(payer, payee)
    const { payout } = await pay(service, payer, '7.00', { beneficiaryId })
    await submitDuePayouts(service.settlement)
    await service.db.transaction((tx) =>
      service.accounts.close(tx, payee.partnerId, payee.customer.id, service.clock.now()),
    )
    await processed()
    assert.equal((await service.payouts.get(payer.partnerId, payout.id)).status, 'Completed')
    const cases = await service.db.rows<{ kind: string; connector: string }>(
      sql`select kind, connector from cases.cases where partner_id = ${payer.partnerId}`,
    )
    assert.deepEqual(cases, [{ kind: 'unknown_payment', connector: 'internal' }])
    const accounts = await checkLedger(service.db, payer.partnerId)
    const postedOf = (of: string) => accounts.find(({ name }) => name === of)?.posted
    assert.deepEqual([postedOf('settlement.internal'), postedOf('suspense')], [0n, 700n])
  })

  test('concurrent transfers between two partners do not change their total balance', async () => {
    const [one, other] = [await addPartner(service, floatMinor), await addPartner(service, floatMinor)]
    const [there, back] = [await payable(one, other), await payable(other, one)]
    const accepted = Array.from({ length: 20 }, (_, index) => [
      pay(service, one, `${index + 1}.00`, { beneficiaryId: there.id }),
      pay(service, other, `${index + 1}.50`, { beneficiaryId: back.id }),
    ]).flat()
    const working = Array.from({ length: 3 }, () => processed())
    await Promise.all([...accepted, ...working])
    service.clock.advance(60_000)
    await processed()
    assert.equal((await balanceOf(service, one.partnerId)).available, floatMinor + 1000n)
    assert.equal((await balanceOf(service, other.partnerId)).available, floatMinor - 1000n)
    assert.equal((await depositsOf(one.partnerId)).length, 20)
    assert.equal((await depositsOf(other.partnerId)).length, 20)
    await checkBooks(one, other)
  })

  test('an internal transfer needs no bank for its currency, is forecast as internal and cannot be recalled', async () => {
    const [payer, payee] = [await addPartner(service, floatMinor), await addPartner(service)]
    const { id: beneficiaryId } = await payable(payer, payee)
    const body = { amount: rawNumber('3.00'), currency: 'EUR', beneficiaryId, idempotencyKey: newId() }
    const { forecast, verdicts } = await service.payouts.preview(payer.caller, body, ip)
    assert.deepEqual(
      verdicts.filter(({ verdict }) => verdict === 'failed'),
      [],
    )
    assert.equal(forecast?.possible === true && forecast.method, 'Internal')
    const { payout } = await service.payouts.create(payer.caller, body, ip)
    const again = await service.payouts.create(payer.caller, body, ip)
    assert.deepEqual([again.payout.id, again.replayed], [payout.id, true])
    await processed()
    await assert.rejects(
      service.recalls.create(payer.caller, payout.id, { reason: 'DUPL' }),
      (error: unknown) =>
        error instanceof Refusal && error.code === 'recall_not_supported' && /payee/.test(error.detail ?? ''),
    )
  })

  test('the integrity check finds a payout that is completed before its payee has the money', async () => {
    const [payer, payee] = [await addPartner(service, floatMinor), await addPartner(service)]
    const { id: beneficiaryId } = await payable(payer, payee)
    const { payout } = await pay(service, payer, '2.00', { beneficiaryId })
    const findings = () => ledgerFindings(service.db, payer.partnerId)
    await processed()
    assert.deepEqual(await findings(), [])
    await service.db.run(sql`update rails.internal_transfers set next_step = 'credit', due_at = received_at
    where partner_id = ${payer.partnerId}`)
    assert.deepEqual(
      (await findings()).map(({ table, key }) => [table, key]),
      [['rails.internal_transfers', payout.reference]],
    )
  })

  test('a payout to an IBAN of another bank costs no extra SQL statement', async () => {
    const partner = await addPartner(service, floatMinor)
    assert.equal(service.accounts.ownIbans.mayHave(partner.beneficiary.iban ?? ''), false)
    assert.equal(service.accounts.ownIbans.mayHave(await ibanOf(partner)), true)
    const { payout } = await pay(service, partner, '1.00')
    assert.equal(payout.connector, 'sandbox')
  })
})

suite('interactions with other modules', async () => {
  // No bank supports fiat payouts.
  const service = await useModules({ chooseConnector: () => undefined })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

  async function processed(): Promise<void> {
    for (let did = 1; did > 0;)
      did = (await submitDuePayouts(service.settlement)) + (await processBankNotifications(service.settlement))
  }

  const depositOf = (partnerId: string) =>
    service.db.row<{ status: string; connector: string }>(
      sql`select status, connector from deposits.deposits where partner_id = ${partnerId} and connector = 'internal'`,
    )

  test('an FX payout to a payee of another partner needs no bank for the bought currency', async () => {
    await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
    const [trader, payee] = [await addTrader(service), await addPartner(service)]
    const { iban } = (await service.accounts.create(payee.partnerId, payee.customer.id)).ibans[0]
    const account = { name: 'Grace Hopper', iban, currency: 'USD', customerId: trader.customer.id }
    const { id: beneficiaryId } = await service.beneficiaries.create(trader.partnerId, account)
    const { row } = await quote(service, trader)
    const { id: quoteId, sellAmount, buyAmount } = row
    const body = { quoteId, beneficiaryId, idempotencyKey: newId() }
    const { payout } = await service.payouts.createFx(trader.caller, body, ip)
    await processed()
    assert.equal((await service.payouts.get(trader.partnerId, payout.id)).status, 'Completed')
    assert.equal((await balanceOf(service, trader.partnerId)).posted, 100_000n - sellAmount)
    assert.equal((await balanceOf(service, payee.partnerId, 'USD')).available, buyAmount)
    for (const { partnerId } of [trader, payee]) await checkLedger(service.db, partnerId)
  })

  test('an IBAN of another bank is still refused without a bank', async () => {
    const partner = await addPartner(service, 10_000n)
    await assert.rejects(pay(service, partner, '1.00'), { code: 'currency_not_supported' })
  })

  test('a cancelled internal payout is not credited', async () => {
    const [payer, payee] = [await addPartner(service, 100_000n), await addPartner(service)]
    const { iban } = (await service.accounts.create(payee.partnerId, payee.customer.id)).ibans[0]
    const account = { name: 'Grace Hopper', iban, currency: 'EUR' }
    const { id: beneficiaryId } = await service.beneficiaries.create(payer.partnerId, account)
    const { payout } = await pay(service, payer, '10.00', { beneficiaryId })
    assert.equal((await service.payouts.cancel(payer.partnerId, payout.id)).status, 'Cancelled')
    await processed()
    assert.equal(await depositOf(payee.partnerId), undefined)
    assert.equal((await balanceOf(service, payer.partnerId)).available, 100_000n)
  })

  test('money for a listed payee waits in suspense until two people clear the name', async () => {
    const payer = await addPartner(service, 100_000n)
    await service.screening.lists.load(await sampleList(), 'Sam Staff')
    const payee = await addHolder(service, listedName)
    await screenAll(service)
    const account = { name: 'Grace Hopper', iban: payee.iban, currency: 'EUR' }
    const { id: beneficiaryId } = await service.beneficiaries.create(payer.partnerId, account)
    await screenAll(service)
    const { payout } = await pay(service, payer, '10.00', { beneficiaryId })
    await processed()
    assert.equal((await service.payouts.get(payer.partnerId, payout.id)).status, 'Completed')
    assert.equal((await depositOf(payee.partnerId))?.status, 'Screening')
    assert.equal((await balanceOf(service, payee.partnerId)).available, 0n)
    await screenAll(service)
    await decideAll(service, payee.partnerId, 'clear')
    service.clock.advance(minuteMs)
    await service.deposits.screenDue(100)
    assert.equal((await depositOf(payee.partnerId))?.status, 'Completed')
    assert.equal((await balanceOf(service, payee.partnerId)).available, 1000n)
    for (const { partnerId } of [payer, payee]) await checkLedger(service.db, partnerId)
  })

  test('a confirmed match of the payee refuses the payment, and the payer keeps the money', async () => {
    const payer = await addPartner(service, 100_000n)
    await service.screening.lists.load(await sampleList(), 'Sam Staff')
    const payee = await addHolder(service, listedName)
    await decideAll(service, payee.partnerId, 'confirm')
    const account = { name: 'Grace Hopper', iban: payee.iban, currency: 'EUR' }
    const { id: beneficiaryId } = await service.beneficiaries.create(payer.partnerId, account)
    await screenAll(service)
    const { payout } = await pay(service, payer, '10.00', { beneficiaryId })
    await processed()
    const { status, errorKey } = await service.payouts.get(payer.partnerId, payout.id)
    assert.deepEqual([status, errorKey], ['Failed', 'RecipientBlocked'])
    assert.equal((await balanceOf(service, payer.partnerId)).available, 100_000n)
    assert.equal(await depositOf(payee.partnerId), undefined)
  })
})
