/**
 * Every row of the table of deposits, from every status and by every trigger, on the real database; and every pair of status
 * and trigger that is not in the table, which changes nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssertionFailure, minuteMs, newId, present } from '../../service/src/kernel/index.ts'
import { classifyReport } from '../../service/src/lifecycle/engine.ts'
import { awaitingParts, depositLifecycle } from '../../service/src/deposits/lifecycle.ts'
import { formatCreditorReference } from '../../service/src/iso20022/index.ts'
import { updateDeposits } from '../../service/src/deposits/store.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { decideAll, listedName, sampleList, screenAll } from '../support/screening/held.ts'
import { addPartner, ip, type TestPartner } from '../support/composition.ts'
import { beforeBeginning, follow, observe, type Payment } from './observation.ts'
import { pathTo, transitionsOn, statusesIn } from './walk.ts'
import { useModules } from '../support/fixture.ts'

const service = await useModules()
await service.screening.lists.load(await sampleList(), 'Sam Staff')

const { triggers, statuses } = depositLifecycle
/** Reports of money, which pay a part, and decisions that a deposit in this status does not wait for. */
const paying: ReadonlySet<string> = new Set([
  ...['requested', 'deposit.settled', 'misfit', 'credit', 'credit-misfit', 'held', 'cleared', 'confirmed', 'reversed'],
])
type Trigger = (typeof triggers)[number]

const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }
const connector = 'sandbox'
const expiresAfterMs = minuteMs

type Subject = {
  readonly partner: TestPartner
  readonly payment: Payment
  readonly idempotencyKey: string
  readonly id: string
  readonly creditorReference: string
  readonly inParts: boolean
}

/** A deposit without scheduled notifications: the test sends them itself. */
const open = (partner: TestPartner, idempotencyKey: string, creditorReference: string, inParts: boolean) =>
  service.deposits.open(
    {
      partnerId: partner.partnerId,
      operation: 'simulateDeposit',
      customerRef: partner.customer.serviceId,
      amount: 700n,
      currency: 'EUR',
      idempotencyKey,
      websiteReference: null,
      customFields: null,
      ip,
      expiresAfterMs,
      variant: '',
      creditorReference,
      inParts,
    },
    () => Promise.resolve(),
  )

async function requested(inParts = false): Promise<Subject> {
  const partner = await addPartner(service)
  await screenAll(service)
  const idempotencyKey = newId()
  const creditorReference = formatCreditorReference(newId().replaceAll('-', '').slice(-20).toUpperCase())
  const { row } = await open(partner, idempotencyKey, creditorReference, inParts)
  const { partnerId } = partner
  const payment = { partnerId, table: 'deposits', reference: row.reference, amount: 700n, ofCustomer: true } as const
  return { partner, payment, idempotencyKey, id: row.id, creditorReference, inParts }
}

type Notification = Parameters<typeof service.deposits.processNotification>[1]
type ReportContents<N> = N extends unknown ? Omit<N, 'partnerId' | 'id' | 'subjectId'> : never
/** The bank reports about the deposit. */
const notify = ({ payment: { partnerId }, id: subjectId }: Subject, report: ReportContents<Notification>) =>
  service.deposits.processNotification(connector, { partnerId, id: newId(), subjectId, ...report } as Notification)

/** Passes the time, and has the worker find the deposit, also one that cannot expire. */
async function expire({ payment: { partnerId }, id }: Subject): Promise<void> {
  service.clock.advance(expiresAfterMs)
  await service.db.run(sql`
    update deposits.deposits set expires_at = expiry_date where partner_id = ${partnerId} and id = ${id}`)
  const due = await service.deposits.expireDue(100)
  await service.db.run(sql`
    update deposits.deposits set expires_at = null where partner_id = ${partnerId} and id = ${id}`)
  assert.ok(due >= 1, 'the worker has found it')
}

const provocations: Readonly<Record<Trigger, (subject: Subject) => Promise<unknown>>> = {
  requested: ({ partner, idempotencyKey, creditorReference, inParts }) =>
    open(partner, idempotencyKey, creditorReference, inParts),
  'deposit.initiated': (subject) => notify(subject, { kind: 'deposit.initiated' }),
  'deposit.submitted': (subject) => notify(subject, { kind: 'deposit.submitted' }),
  'deposit.accepted': (subject) => notify(subject, { kind: 'deposit.accepted', debtor }),
  'deposit.settled': (subject) => notify(subject, { kind: 'deposit.settled' }),
  'deposit.failed': (subject) => notify(subject, { kind: 'deposit.failed', details: 'No.', reasonCode: null }),
  misfit: (subject) => {
    const money = { currency: 'EUR', amount: subject.payment.amount + 1n } as const
    return notify(subject, { kind: 'deposit.settled', money })
  },
  // It begins another deposit, or none: this account is not ours.
  booked: ({ payment: { partnerId } }) => service.deposits.processCredit(connector, credit(partnerId, 1n, null)),
  credit: (subject) => pay(subject, subject.payment.amount),
  'credit-misfit': (subject) => pay(subject, subject.payment.amount + 1n),
  part: (subject) => pay(subject, 1n),
  'part-last': (subject) => pay(subject, subject.payment.amount),
  'part-held': async (subject) => {
    await rename(subject, listedName)
    return pay(subject, 1n)
  },
  'part-refused': async (subject) => {
    const { partnerId } = subject.payment
    const block = { partnerId, account: { currency: 'EUR' }, state: 'BlockedInbound', reason: 'CourtOrder' } as const
    await service.db.transaction((tx) => service.accounts.changeState(tx, { ...block, note: 'Order', staff: 'Ada' }))
    return pay(subject, 1n)
  },
  'part-cleared': async (subject) => provocations.cleared(subject),
  // The name of the customer comes on the list before the money is booked.
  held: async (subject) => {
    await rename(subject, listedName)
    return notify(subject, { kind: 'deposit.settled' })
  },
  cleared: async (subject) => {
    await screenAll(service)
    await decideAll(service, subject.payment.partnerId, 'clear')
    return look(subject)
  },
  confirmed: async (subject) => {
    await rename(subject, listedName)
    await decideAll(service, subject.payment.partnerId, 'confirm')
    return look(subject)
  },
  reversed: async (subject) => {
    const { partnerId } = subject.payment
    const creditId = newId()
    await service.db.run(sql`update deposits.deposits set connector = ${connector}, credit_id = ${creditId}
      where partner_id = ${partnerId} and id = ${subject.id} and status = 'Screening'`)
    const money = { currency: 'EUR', amount: subject.payment.amount } as const
    const reversed = { kind: 'credit.reversed', partnerId, id: newId(), subjectId: creditId } as const
    return service.deposits.processReversal(connector, { ...reversed, money, details: 'The bank cancelled it.' })
  },
  expired: expire,
  ended: ({ payment: { partnerId }, id }) => service.db.transaction((tx) => service.deposits.end(tx, partnerId, id)),
}

async function rename({ partner: { partnerId, customer } }: Subject, fullName: string): Promise<void> {
  await service.customers.update(partnerId, customer.id, { kyc: { fullName } })
  await screenAll(service)
}

/** Has the worker find the deposit, also one that does not wait. */
async function look({ payment: { partnerId }, id }: Subject): Promise<void> {
  await service.db.run(sql`
    update deposits.deposits set screening_due_at = ${service.clock.now()} where partner_id = ${partnerId} and id = ${id}`)
  assert.ok((await service.deposits.screenDue(100)) >= 1, 'the worker has found it')
  await service.db.run(sql`
    update deposits.deposits set screening_due_at = null where partner_id = ${partnerId} and id = ${id}`)
}

/** A credit at the bank, of which no step was reported, that names the deposit. */
async function pay({ creditorReference, payment: { partnerId } }: Subject, amount: bigint) {
  return (await service.deposits.processCredit(connector, credit(partnerId, amount, creditorReference))).applied
}

function credit(partnerId: string, amount: bigint, remittance: string | null) {
  const named = { partnerId, id: newId(), subjectId: newId(), kind: 'credit.booked', endToEndId: null } as const
  return { ...named, account: 'XX00', money: { currency: 'EUR', amount }, debtor, remittance } as const
}

const ofParts = (name: string): boolean => name.startsWith('part')

/** The rows of a deposit that takes one payment, or is paid in parts: the others do not exist for it. */
function lifecycleOf(inParts: boolean): typeof depositLifecycle {
  const transitions = Object.entries(depositLifecycle.transitions).filter(
    ([, { on }]) => !on.some(ofParts) || (inParts && !on.includes('part-held')),
  )
  return { ...depositLifecycle, transitions: Object.fromEntries(transitions) }
}

async function inStatus(status: string, inParts = false): Promise<Subject> {
  const subject = await requested(inParts)
  const [, ...path] = present(pathTo(lifecycleOf(inParts), status), 'a transition leads to each status')
  const steps = inParts && status === 'Screening' ? (['part-held'] as const) : path.map(({ trigger }) => trigger)
  for (const trigger of steps) await provocations[trigger](subject)
  assert.equal((await observe(service, subject.payment)).status, status)
  return subject
}

test('creating a deposit has exactly the effects of its row in the table', async () => {
  const { payment } = await requested()
  const row = present(depositLifecycle.transitions['open'], 'open')
  assert.deepEqual(await observe(service, payment), follow(beforeBeginning(0n), row, payment, ''))
})

for (const status of statuses.filter((each) => each !== 'PartiallyPaid'))
  for (const trigger of triggers.filter((each) => !ofParts(each))) {
    const rows = transitionsOn(depositLifecycle, status, trigger)
    test(`${status}, ${trigger}: ${rows.length > 0 ? 'has exactly the effects in the table' : 'changes nothing'}`, async () => {
      const subject = await inStatus(status)
      const { payment } = subject
      const expected = rows.reduce(
        (observation, row) => follow(observation, row, payment, ''),
        await observe(service, payment),
      )
      const answer = await provocations[trigger](subject)
      // The money of a misfit or a hold is booked to suspense, and from there back to the bank.
      const books = trigger.endsWith('misfit') || trigger === 'held' || trigger === 'reversed'
      const suspended = books && rows.length > 0 ? ['direct'] : []
      assert.deepEqual(await observe(service, payment), {
        ...expected,
        transfers: [...expected.transfers, ...suspended],
      })
      const meaning = rows.length > 0 ? true : classifyReport(depositLifecycle, status, trigger)
      if (trigger.startsWith('deposit.') || trigger.startsWith('credit') || trigger === 'misfit')
        assert.equal(answer, meaning === 'repeat' ? false : meaning)
    })
  }

/** The last part has the events of the whole payment as well. */
const withLast = (events: readonly string[], trigger: Trigger): readonly string[] =>
  trigger === 'part-last'
    ? [...events.slice(0, -2), 'checkout.part.updated', 'partner.customer.deposit.accepted', ...events.slice(-2)]
    : events

for (const status of [...awaitingParts, 'Screening'] as const)
  for (const trigger of triggers.filter((each) => ofParts(each) || (status === 'PartiallyPaid' && !paying.has(each)))) {
    // While a name is under review, a part waits for the same decision, whatever it would do otherwise.
    const told = status === 'Screening' && trigger !== 'part-cleared' ? 'part-held' : trigger
    const rows = transitionsOn(depositLifecycle, status, told)
    test(`in parts, ${status}, ${trigger}: ${rows.length > 0 ? 'has exactly the effects in the table' : 'changes nothing'}`, async () => {
      const subject = await inStatus(status, true)
      const { payment } = subject
      const earlier = await observe(service, payment)
      const expected = rows.reduce((observation, row) => follow(observation, row, payment, ''), earlier)
      await provocations[trigger](subject)
      const { transfers, ...found } = await observe(service, payment)
      const { transfers: _transfers, transaction, ...others } = expected
      const events = rows.length > 0 ? withLast(transaction.events, told) : transaction.events
      assert.deepEqual(found, { ...others, transaction: { ...transaction, events } })
      if (rows.length === 0) assert.deepEqual(transfers, earlier.transfers)
    })
  }

test('notifications of one deposit in one batch are applied one after the other', async () => {
  const subject = await inStatus('Created')
  const { payment } = subject
  const row = (name: string) => present(depositLifecycle.transitions[name], name)
  const expected = ['initiate', 'submit', 'accept', 'settle'].reduce(
    (observation, name) => follow(observation, row(name), payment, ''),
    await observe(service, payment),
  )
  const kinds = ['initiated', 'submitted', 'accepted', 'settled', 'settled'] as const
  const answers = await Promise.all(kinds.map((kind) => provocations[`deposit.${kind}`](subject)))
  assert.deepEqual(answers, [true, true, true, true, false])
  assert.deepEqual(await observe(service, payment), expected)
})

test('a transition is not written if the status is not the one that was checked', async () => {
  const { payment, id } = await inStatus('Accepted')
  const earlier = await observe(service, payment)
  const change = {
    partnerId: payment.partnerId,
    id,
    debtor: null,
    errorDetails: null,
    expiresAt: null,
    heldSince: null,
    screeningSince: null,
    screeningDueAt: null,
    ipAddress: null,
    paymentCountry: null,
    connector: null,
    creditId: null,
    transactionHash: null,
    settledBy: null,
    craftText: null,
  }
  const write = (fromStatus: (typeof statuses)[number]) =>
    service.db.transaction(async (tx) =>
      updateDeposits(tx, [{ ...change, fromStatus, status: 'Completed' }], service.clock.now()),
    )
  for (const fromStatus of ['Created', 'Submitted', 'Completed'] as const) {
    await assert.rejects(write(fromStatus), AssertionFailure)
    assert.deepEqual(await observe(service, payment), earlier)
  }
  await write('Accepted')
  assert.equal((await observe(service, payment)).status, 'Completed')
})

test('the database permits exactly the statuses of the table', async () => {
  const row = await service.db.row<{ definition: string }>(sql`
    select pg_get_constraintdef(oid) as definition from pg_constraint
    where conrelid = 'deposits.deposits'::regclass and conname = 'deposits_status_check'`)
  assert.deepEqual(new Set(statusesIn(row?.definition ?? '')), new Set(statuses))
})
