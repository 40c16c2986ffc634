/** The steps of the settlement worker: failures, ages, reasons, corrections. */
import assert from 'node:assert/strict'
import { beforeEach, suite, test } from 'node:test'
import { createFaultyRail } from '../../../../test/model/bank.ts'
import { checkPayments } from '../../../../test/model/payments.ts'
import { addPartner, balanceOf, ip, pay, stepMsDefault } from '../../../../test/support/composition.ts'
import { startSettlement } from '../../../../test/support/jobs.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { dayMs, hourMs, type Log, minuteMs, newId, present } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { createSubmitter } from './instructions.ts'
import { createNotificationStep } from './notifications.ts'
import { createAgeWatch, processBankNotifications, submitDuePayouts } from './index.ts'
import { checkSoundness } from '../../../../test/lifecycle/soundness.ts'
import { depositLifecycle, mayExpire } from '../../deposits/lifecycle.ts'
import { payoutAgeLimitsMs, payoutLifecycle } from '../../payouts/lifecycle.ts'
import { instructionIdOf } from '../../payouts/rules.ts'
import { withReportedDetails } from './deps.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import type { BankNotification, Connector } from '../../rails/index.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'

suite('failures', async () => {
  const { wrapConnector, arm, disarm } = createFaultyRail()
  const service = await useModules({ wrapConnector })
  beforeEach(disarm)

  const sendAttemptsMax = 300

  /** A payout for which every attempt found the bank unreachable, and one attempt is left. */
  async function payoutBeforeLastAttempt() {
    const partner = await addPartner(service, 10_000n)
    const { partnerId } = partner
    const { id, reference } = (await pay(service, partner, '10.00')).payout
    arm('unreachable')
    await submitDuePayouts(service.settlement)
    await service.db.run(sql`
    update payouts.payouts set send_attempts = ${sendAttemptsMax - 1} where partner_id = ${partnerId} and id = ${id}`)
    const send = async () => {
      service.clock.advance(dayMs)
      await submitDuePayouts(service.settlement)
      const { status, errorKey } = await service.payouts.get(partnerId, id)
      return [status, errorKey]
    }
    return { partnerId, reference, send }
  }

  test('a payout fails and its money is released when the bank has no instruction after the last attempt', async () => {
    const { partnerId, reference, send } = await payoutBeforeLastAttempt()
    arm('unreachable')
    assert.deepEqual(await send(), ['Processing', null])
    assert.deepEqual(await send(), ['Failed', 'BankUnreachable'])
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 10_000n, reserved: 0n, available: 10_000n })
    assert.equal((await service.transactions.get(partnerId, reference)).row.errorKey, 'BankUnreachable')
    await checkPayments(service.db, partnerId, new Map())
  })

  test('a payout whose last attempt arrived without an answer remains open until the enquiry finds it at the bank', async () => {
    const { partnerId, send } = await payoutBeforeLastAttempt()
    arm('answer lost')
    assert.deepEqual(await send(), ['Processing', null])
    assert.equal((await balanceOf(service, partnerId)).reserved, 1000n, 'the outcome is unknown')
    assert.deepEqual(await send(), ['Sent', null])
    await processBankNotifications(service.settlement)
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 9000n, reserved: 0n, available: 9000n })
    await checkPayments(service.db, partnerId, new Map())
  })

  test('a worker that loses due payouts to another worker claims the next ones', async () => {
    const partner = await addPartner(service, 10_000n)
    const make = async (count: number) => {
      for (let made = 0; made < count; made += 1) await pay(service, partner, '1.00')
    }
    const { payouts } = service.settlement
    const connector = present(service.settlement.connectors.at(0), 'the sandbox bank')
    let reads = 0
    const due: typeof payouts.due = async (...given) => {
      reads += 1
      const read = await payouts.due(...given)
      // Another worker claims them first.
      await payouts.claimAgain(connector.id, read.slice(0, 2))
      return read
    }
    const worker = createSubmitter({ ...service.settlement, payouts: { ...payouts, due } }, connector)
    await make(3)
    assert.equal(await worker.step(), 3, 'the worker looks again at once, because there was work')
    await make(2)
    assert.equal(await worker.step(), 2)
    assert.equal(reads, 1, 'the second set was claimed')
    await worker.drain()
    const rows = await service.db.rows<{ readonly status: string }>(sql`
    select status from payouts.payouts where partner_id = ${partner.partnerId} order by id`)
    assert.deepEqual(
      rows.map(({ status }) => status),
      ['Pending', 'Pending', 'Sent', 'Sent', 'Sent'],
    )
  })

  test('a failing notification delays only later notifications of its own payment', async () => {
    const [broken, sound] = [await addPartner(service, 1_000_000n), await addPartner(service, 1_000_000n)]
    const one = (await pay(service, broken, '4001.05')).payout
    const other = (await pay(service, sound, '10.00')).payout
    await submitDuePayouts(service.settlement)
    service.clock.advance(2 * stepMsDefault)
    const seal = (kyc: Uint8Array | undefined) =>
      service.db.run(sql`update customers.customers set kyc_sealed = ${kyc} where partner_id = ${broken.partnerId}`)
    const kept = await service.db.row<{ kycSealed: Buffer }>(sql`
    select kyc_sealed from customers.customers where partner_id = ${broken.partnerId}`)
    // The acknowledgement was not recorded: recording it must read the customer, which fails.
    await service.db.run(sql`
    update payouts.payouts set status = 'Processing' where partner_id = ${broken.partnerId} and id = ${one.id}`)
    await seal(Buffer.from('lost'))
    await processBankNotifications(service.settlement)
    assert.equal((await service.payouts.get(sound.partnerId, other.id)).status, 'Completed')
    assert.equal((await service.payouts.get(broken.partnerId, one.id)).status, 'Processing')
    await seal(kept?.kycSealed)
    assert.equal(await processBankNotifications(service.settlement), 2)
    assert.equal((await service.payouts.get(broken.partnerId, one.id)).status, 'Returned')
    assert.equal((await balanceOf(service, broken.partnerId)).posted, 1_000_000n)
  })

  test('many failing notifications do not displace others from a step', async () => {
    const partner = await addPartner(service, 10_000n)
    const many = 250
    await service.db.run(sql`
    insert into rails.sandbox_notifications (partner_id, id, subject_id, kind, payload, due_at)
    select ${partner.partnerId}::uuid, id, id, 'payout.settled', '{}', '2020-01-01T00:00:00Z'::timestamptz
    from unnest(${Array.from({ length: many }, () => newId())}::uuid[]) as id`)
    const { id } = (await pay(service, partner, '10.00')).payout
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    const step = createNotificationStep(service.settlement, service.bank)
    for (let steps = 0; steps < 3; steps += 1) await step()
    assert.equal((await service.payouts.get(partner.partnerId, id)).status, 'Completed')
    await service.db.run(sql`
    delete from rails.sandbox_notifications
    where partner_id = ${partner.partnerId} and due_at = '2020-01-01T00:00:00Z'::timestamptz`)
  })

  test('a paused notification that another worker has processed does not enlarge the next reads', async () => {
    const partner = await addPartner(service, 10_000n)
    const { payout } = await pay(service, partner, '10.00')
    const { partnerId } = partner
    const early = { kind: 'payout.settled', partnerId, id: newId(), subjectId: instructionIdOf(payout) } as const
    const asked: number[] = []
    const step = createNotificationStep(service.settlement, {
      ...service.bank,
      notifications: async (notificationsMax: number) => {
        asked.push(notificationsMax)
        return asked.length === 1 ? [{ ...early, money: { currency: 'EUR', amount: 1000n } }] : []
      },
    })
    for (let steps = 0; steps < 3; steps += 1) await step()
    assert.deepEqual(asked, [200, 205, 200])
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    assert.equal((await processBankNotifications(service.settlement)) > 0, true)
  })

  test('a step reads fewer notifications after a slow step, and more after a fast one that read a full page', async () => {
    const { partnerId } = await addPartner(service)
    // A repeated notification with a case is ignored.
    const odd = {
      kind: 'oddity',
      what: 'file_refused',
      partnerId,
      id: newId(),
      subjectId: newId(),
      details: 'Odd.',
    } as const
    const asked: number[] = []
    let stepMs = 0
    let nowMs = 0
    const bank = (notificationsOf: (count: number) => readonly (typeof odd)[]) => ({
      ...service.bank,
      notifications: async (notificationsMax: number) => {
        asked.push(notificationsMax)
        nowMs += stepMs
        return notificationsOf(notificationsMax)
      },
      acknowledge: async () => undefined,
    })
    assert.equal(
      await createNotificationStep(
        service.settlement,
        bank(() => [odd]),
      )(),
      1,
    )
    const repeated = bank((count) => Array.from({ length: count }, () => ({ ...odd, subjectId: newId() })))
    const step = createNotificationStep(service.settlement, repeated, () => nowMs)
    for (stepMs of [100, 100, 300, 300, 300, 100]) await step()
    assert.deepEqual(asked, [200, 200, 400, 800, 400, 200, 200])
  })

  test('deposit notifications are acknowledged in parts, and only a failed part is repeated', async () => {
    const partner = await addPartner(service)
    const { partnerId } = partner
    const depositCount = 510
    const deposit = { customerId: partner.customer.id, amount: 1, currency: 'EUR', outcome: 'completed' } as const
    // In parts, because a call that waits a few seconds for a connection fails.
    for (let made = 0; made < depositCount; made += 85)
      await Promise.all(Array.from({ length: 85 }, () => service.simulations.deposit(partner.caller, deposit, ip)))
    service.clock.advance(4 * stepMsDefault)
    const count = async () => {
      const row = await service.db.row<{ completed: bigint; unacknowledged: bigint }>(sql`select
      (select count(*) from deposits.deposits where partner_id = ${partnerId} and status = 'Completed') as completed,
      (select count(*) from rails.sandbox_notifications where partner_id = ${partnerId}) as unacknowledged`)
      return { completed: row?.completed, unacknowledged: row?.unacknowledged }
    }
    arm('died before acknowledging')
    assert.equal(await processBankNotifications(service.settlement), 4 * (depositCount - 500))
    const partly = { completed: BigInt(depositCount - 500), unacknowledged: 4n * 500n }
    assert.deepEqual(await count(), partly, 'the failed part stays unacknowledged')
    assert.equal(await processBankNotifications(service.settlement), 4 * 500)
    assert.deepEqual(await count(), { completed: BigInt(depositCount), unacknowledged: 0n })
    const posted = BigInt(depositCount) * 100n
    assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
    await checkPayments(service.db, partnerId, new Map())
  })

  test('steps without work return 0, and the jobs stop on request', async () => {
    assert.equal(await submitDuePayouts(service.settlement), 0)
    assert.equal(await processBankNotifications(service.settlement), 0)
    const running = startSettlement(service)
    await running.stop()
  })
})

suite('ages of unfinished payments', async () => {
  const service = await useModules()

  /** Creates a watch whose log lines and metrics the test reads. */
  function createWatch() {
    const lines: { readonly text: string; readonly paymentId: string; readonly ageSeconds: number }[] = []
    const ages = new Map<string, { readonly ageMs: number; readonly limitMs: number }>()
    const error = (facts: { readonly paymentId: string; readonly ageSeconds: number }, text: string) =>
      void lines.push({ text, ...facts })
    const observe = {
      instructions: () => undefined,
      bankNotification: () => undefined,
      answered: () => undefined,
      failed: () => undefined,
      connector: () => undefined,
      age: (subject: string, status: string, age: { readonly ageMs: number; readonly limitMs: number }) =>
        void ages.set(`${subject} ${status}`, age),
    }
    const look = createAgeWatch({ ...service.settlement, log: { ...service.log, error } as unknown as Log, observe })
    return { look, lines, ages }
  }

  test('every status of an unfinished transaction has an age limit, expires, or is a separate queue (deposits in screening)', () => {
    const open = (lifecycle: Parameters<typeof checkSoundness>[0]) =>
      [...checkSoundness(lifecycle)]
        .filter(([, states]) => states.some(({ ended }) => !ended))
        .map(([status]) => status)
    assert.deepEqual(
      open(payoutLifecycle)
        .filter((status) => status !== 'PendingApproval')
        .toSorted(),
      Object.keys(payoutAgeLimitsMs).toSorted(),
    )
    assert.deepEqual(
      open(depositLifecycle).filter((status) => status !== 'Screening' && !mayExpire(status as 'Created')),
      ['Submitted', 'Accepted'],
    )
  })

  test('a payout is monitored in each status with its age, and logged only once when too old', async () => {
    const { look, lines, ages } = createWatch()
    const partner = await addPartner(service, 1_000_000n)
    await look()
    assert.deepEqual(
      [...ages.values()].map(({ ageMs }) => ageMs),
      [0, 0, 0, 0, 0],
    )
    const { payout: waiting } = await pay(service, partner, '4001.07')
    service.clock.advance(4 * minuteMs)
    await look()
    assert.deepEqual(ages.get('payout Pending'), { ageMs: 4 * minuteMs, limitMs: 5 * minuteMs })
    assert.deepEqual(lines, [])
    service.clock.advance(2 * minuteMs)
    await look()
    await look()
    assert.deepEqual(lines.splice(0), [
      {
        text: 'payout is stuck',
        partnerId: partner.partnerId,
        paymentId: waiting.id,
        connector: 'sandbox',
        status: 'Pending',
        ageSeconds: 360,
        limitSeconds: 300,
      },
    ])
    await submitDuePayouts(service.settlement)
    await look()
    assert.equal(ages.get('payout Pending')?.ageMs, 0)
    assert.equal(ages.get('payout Sent')?.ageMs, 6 * minuteMs)
    service.clock.advance(6 * dayMs)
    await look()
    assert.deepEqual(
      lines.splice(0).map(({ text, paymentId }) => [text, paymentId]),
      [['payout is stuck', waiting.id]],
    )
  })

  test('the oldest payout across many partners is monitored', async () => {
    const { look, ages } = createWatch()
    service.clock.advance(hourMs)
    const [first] = await Promise.all(Array.from({ length: 60 }, () => addPartner(service, 1_000_000n)))
    assert.ok(first)
    await pay(service, first, '1.00')
    service.clock.advance(minuteMs)
    await pay(service, await addPartner(service, 1_000_000n), '1.00')
    service.clock.advance(minuteMs)
    await look()
    assert.equal(ages.get('payout Pending')?.ageMs, 2 * minuteMs)
  })

  test('a deposit that the bank does not complete is monitored from its acceptance', async () => {
    const { look, lines, ages } = createWatch()
    const partner = await addPartner(service)
    const body = { customerId: partner.customer.id, amount: 7, currency: 'EUR', outcome: 'completed' } as const
    await service.simulations.deposit(partner.caller, body, ip)
    service.clock.advance(2 * stepMsDefault)
    await processBankNotifications(service.settlement)
    service.clock.advance(minuteMs)
    const unheard = { ...service.bank, notifications: () => Promise.resolve([]) }
    assert.equal(await processBankNotifications({ ...service.settlement, connectors: [unheard] }), 0)
    await look()
    assert.deepEqual(ages.get('deposit Submitted'), { ageMs: minuteMs, limitMs: 5 * dayMs })
    service.clock.advance(5 * dayMs)
    await look()
    assert.ok(lines.some(({ text }) => text === 'deposit is stuck'))
    await processBankNotifications(service.settlement)
    await look()
    assert.deepEqual([ages.get('deposit Submitted')?.ageMs, ages.get('deposit Accepted')?.ageMs], [0, 0])
  })
})

suite('reasons', async () => {
  const service = await useModules()

  const errorDetailsOf = async (partnerId: string, type: string) =>
    (
      await service.db.rows<{ data: string }>(
        sql`select data from events.events where partner_id = ${partnerId} and type = ${type} order by id`,
      )
    ).map(({ data }) => (JSON.parse(data) as { readonly errorDetails: string }).errorDetails)

  for (const { amount, details } of [
    { amount: '4001.01', details: 'The bank rejected the payment. (MS03)' },
    { amount: '4001.02', details: 'The account does not exist. (AC01)' },
    { amount: '4001.03', details: 'The recipient cannot be paid. (AC06)' },
  ])
    test(`a payout of ${amount} fails with: ${details}`, async () => {
      const partner = await addPartner(service, 1_000_000n)
      const { partnerId } = partner
      const { payout } = await pay(service, partner, amount)
      await submitDuePayouts(service.settlement)
      service.clock.advance(stepMsDefault)
      await processBankNotifications(service.settlement)
      assert.equal((await service.payouts.get(partnerId, payout.id)).errorDetails, details)
      assert.deepEqual(await errorDetailsOf(partnerId, 'partner.customer.withdrawal.failed'), [details])
    })

  test('a deposit fails with the code of the bank', async () => {
    const { partnerId, customer, caller } = await addPartner(service)
    const body = { customerId: customer.id, amount: 7, currency: 'EUR', outcome: 'failed' } as const
    await service.simulations.deposit(caller, body, ip)
    service.clock.advance(3 * stepMsDefault)
    await processBankNotifications(service.settlement)
    assert.deepEqual(await errorDetailsOf(partnerId, 'partner.customer.deposit.failed'), [
      'The payer has not enough money. (AM04)',
    ])
  })

  test('a reason without a code or text of the bank is unchanged', () => {
    assert.deepEqual(withReportedDetails({ details: 'No.', reasonCode: null }), {
      details: 'No.',
      reasonCode: null,
      bankText: null,
    })
  })

  test('the details have the sentence of the service, then the marked text of the bank in plain characters', () => {
    const { details, bankText } = withReportedDetails({
      details: 'The bank refused.',
      reasonCode: 'NARR',
      bankText: ' \u202eTown\nand <b>country</b>\u0000 < required ',
    })
    assert.equal(bankText, 'Town and country ‹ required')
    assert.equal(details, 'The bank refused. (NARR) The bank says: “Town and country ‹ required”')
  })
})

suite('corrections', async () => {
  const service = await useModules()

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

  test('a partner is charged bank fees exactly once, as a transaction with the reason', async () => {
    const { partnerId } = await addPartner(service, 1_000n)
    await charge(250n)
    const opened = await caseOf(operatorPartnerId)
    await assert.rejects(decide(opened, 'charge'), /does not name the partner to charge/)
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

  test('a charge takes only available money, and incoming money is not charged', async () => {
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

  test('a credit of the wrong customer returns to suspense, and two people assign it to the right customer', async () => {
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

  test('spent money, reversed credits and other transactions cannot be corrected', async () => {
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

  test('a bank reversal after a correction opens a case, because the money has moved', async () => {
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
})
