/** Tests many facts of a kind, and each kind: entries and mails, on a real database and by a real SMTP server. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addApprovers } from '../../../test/support/approvals.ts'
import { createSessions, createSessionsInParts } from '../../../test/support/checkout.ts'
import { addPartner, ip, pay, stepMsDefault } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { addMember, addStaff, queueMails, spread, useInboxMails } from '../../../test/support/inbox.ts'
import { sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../banks/settlement/index.ts'
import { dayMs, hourMs, newId, present } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { createFactQueue, type Reader } from './index.ts'
import type { FactType } from './kinds.ts'

const service = await useModules()
const { db, clock, inbox } = service
const mails = await useInboxMails(service)
after(mails.stop)

const titlesOf = async (reader: Reader, language: 'en' | 'de' = 'en') =>
  (await inbox.page(reader, language, { beforeId: null, rowsMax: 50 })).entries.map(({ title }) => title)

test('the first ten notifications of a type in an hour get an entry each, and one more entry counts the rest: for each partner, and with two workers', async () => {
  const other = await service.anotherProcess()
  const [partner, second] = [await addPartner(service), await addPartner(service)]
  const reader = await addMember(service, partner.partnerId, 'Operator', 'Olga Operator')
  const single = await addMember(service, second.partnerId, 'Operator', 'Oscar Single')
  const queue = createFactQueue({ clock })
  const append = (partnerId: string, count: number) =>
    db.transaction(async (tx) => {
      const said = { amount: '5.00', currency: 'EUR', reference: newId() }
      const made = Array.from({ length: count }, () => ({ subject: newId(), facts: said }))
      queue.append(
        tx,
        made.map((each) => ({ ...each, partnerId, type: 'deposit.reversed' as const })),
      )
      await tx.rows(sql`select 1 as sent`)
    })
  const titles = async (language: 'en' | 'de' = 'en') => (await titlesOf(reader, language)).slice(0, 12)
  await append(second.partnerId, 3)
  await append(partner.partnerId, 250)
  await Promise.all([inbox.spreadStep(), other.inbox.spreadStep(), inbox.spreadStep(), other.inbox.spreadStep()])
  await spread(service)
  const counted = 'More payments that the bank took back: 240'
  assert.deepEqual([(await titles()).length, (await titles()).filter((title) => title === counted).length], [11, 1])
  assert.ok((await titles('de')).includes('Weitere Zahlungen, die die Bank zurückgeholt hat: 240'))
  assert.equal((await titlesOf(single)).length, 3, 'partners are counted apart')
  const [newest] = (await inbox.page(reader, 'en', { beforeId: null, rowsMax: 1 })).entries
  await inbox.markAllRead(reader, newest?.id ?? '')
  assert.equal(await inbox.unread(reader, 'en'), 0)
  await append(partner.partnerId, 5)
  await spread(service)
  const [entry] = (await inbox.page(reader, 'en', { beforeId: null, rowsMax: 20 })).entries.filter(
    ({ isRead }) => !isRead,
  )
  assert.equal(entry?.title, counted.replace('240', '245'))
  assert.equal(entry?.isOver, false)
  assert.equal(await inbox.open(reader, entry?.id ?? ''), 'transactions')
  clock.advance(hourMs)
  await append(partner.partnerId, 1)
  await spread(service)
  assert.equal((await titlesOf(reader))[0], 'The bank took back a payment of 5.00 EUR that you had received')
  clock.advance(91 * dayMs)
  while ((await inbox.retain()) > 0);
  const left = await db.rows(sql`select hour from inbox.counts where partner_id = ${partner.partnerId}`)
  assert.deepEqual(left, [])
})

test('further notifications are counted for each person, without those that the person caused', async () => {
  const partner = await addApprovers(service, { aboveAmount: 50_00n })
  await spread(service)
  const { partnerId } = partner
  const maker = await addMember(service, partnerId, 'Operator', 'Mary Maker')
  const approver = await addMember(service, partnerId, 'Operator', 'Alan Approver')
  const caller = { ...partner.caller, serviceAccountId: maker.personId, name: maker.fullName }
  for (let made = 0; made < 13; made += 1) await pay(service, { ...partner, caller }, '70.00')
  await spread(service)
  assert.deepEqual([(await titlesOf(approver)).length, (await titlesOf(maker)).length], [11, 0])
  assert.equal((await titlesOf(approver))[0], 'More payouts that waited for your approval: 3')
  await queueMails(service)
  await mails.sent()
  assert.match(mails.mailsTo(approver)[0]?.one('Subject') ?? '', /, and 12 more$/)
})

test('a partner is notified of a late payment and the deadline to choose, but not after it has chosen', async () => {
  const { open, send, settle } = createSessionsInParts(() => service)
  const partner = await addPartner(service)
  const { partnerId } = partner
  const reader = await addMember(service, partnerId, 'Operator', 'Sven Shop')
  const late = async () => {
    const opened = await open({}, partner)
    await service.checkout.expire(partnerId, opened.session.id)
    await send(opened, '49.90')
    await settle()
    return opened.session
  }
  const [session, chosen] = [await late(), await late()]
  const [payment] = (await service.checkout.get(partnerId, chosen.id)).latePayments
  await service.checkout.acceptLate(partnerId, chosen.id, present(payment, 'no late payment').id)
  await spread(service)
  const { entries } = await inbox.page(reader, 'en', { beforeId: null, rowsMax: 50 })
  const told = entries.filter(({ title }) => title.includes('too late'))
  assert.deepEqual(
    told.map(({ title, lines }) => [title, lines.map(([label]) => label)]),
    [['A payment of 49.90 EUR came too late or did not fit: accept it or send it back', ['Choose before']]],
  )
  assert.equal(await inbox.open(reader, told[0]?.id ?? ''), `checkout/${session.id}`)
})

/** Facts as their writers make them, where no test above makes the act. */
const told: readonly (readonly [type: FactType, facts: Readonly<Record<string, string | null>>, title: string])[] = [
  [
    'deposit.reversed',
    { amount: '5.00', currency: 'EUR', reference: 'R1' },
    'The bank took back a payment of 5.00 EUR that you had received',
  ],
  [
    'endpoint.failing',
    { name: 'a.example', since: '2026-11-24T08:00:00.000Z', reason: 'HTTP 500' },
    'Webhooks to a.example fail',
  ],
  ['endpoint.disabled', { name: 'a.example', since: null, reason: 'HTTP 410' }, 'Webhooks to a.example were disabled'],
  ['key.created', { name: 'Payroll', by: 'Ada' }, 'The service account Payroll was created'],
  ['key.rotated', { name: 'Payroll', by: 'Ada' }, 'The service account Payroll got a new key'],
  ['key.changed', { name: 'Payroll', by: 'Ada' }, 'The service account Payroll was changed'],
  ['key.revoked', { name: 'Payroll', by: 'Ada' }, 'The service account Payroll was revoked'],
  ['member.joined', { name: 'Grace', role: 'Operator', by: 'Ada' }, 'Grace joined the team as Operator'],
  ['signOn.changed', {}, 'The single sign-on of the team was changed'],
  [
    'rule.removed',
    { rule: 'coolingOff', currency: 'EUR' },
    'The operator removed a rule for payouts: waiting time of new payees EUR',
  ],
]

test('each type of notification has an entry and a section in a mail, with a link, in both languages', async () => {
  const partner = await addPartner(service)
  const { partnerId } = partner
  // A Developer is told of keys and team by the inbox, an Operator of payments.
  const readers = [
    await addMember(service, partnerId, 'Developer', 'Dora Developer'),
    await addMember(service, partnerId, 'Operator', 'Olga Operator'),
    await addMember(service, partnerId, 'Admin', 'Ada Admin'),
  ]
  for (const reader of readers) {
    const { kinds } = await inbox.choices(reader)
    const choices = Object.fromEntries(kinds.map(({ kind }) => [kind, 'now']))
    await inbox.choose(reader, { language: '', zone: 'UTC', dailyHour: '8', choices }, ip)
  }
  const queue = createFactQueue({ clock })
  await db.transaction(async (tx) => {
    queue.append(
      tx,
      told.map(([type, facts]) => ({ partnerId, type, subject: newId(), facts })),
    )
    await tx.rows(sql`select 1 as sent`)
  })
  await spread(service)
  await queueMails(service)
  await mails.sent()
  const entries = await Promise.all(readers.map((reader) => titlesOf(reader)))
  const german = await Promise.all(readers.map((reader) => titlesOf(reader, 'de')))
  const texts = readers.map((reader) =>
    mails
      .mailsTo(reader)
      .map(({ text }) => text)
      .join('\n'),
  )
  for (const [type, , title] of told) {
    assert.ok(
      entries.some((titles) => titles.includes(title)),
      type,
    )
    assert.ok(
      texts.some((text) => text.includes(title)),
      `a mail reports ${type}`,
    )
  }
  for (const title of german.flat()) assert.doesNotMatch(title, /[{}–]|\b(?:the|was)\b/)
  assert.ok(texts.every((text) => !/[{}]/.test(text)))
})

test('a refund that is cancelled before it is paid is reported as not paid', async () => {
  const { open, settle: pays } = createSessions(() => service)
  const { partner, session } = await open()
  const { partnerId, caller } = partner
  const operator = await addMember(service, partnerId, 'Operator', 'Olga Operator')
  await service.checkout.simulate(partnerId, session.id, { step: 'credit', debtorName: 'Grace Hopper' }, ip)
  await pays()
  await service.checkout.refund(caller, session.id, { amount: rawNumber('5.00'), idempotencyKey: newId() }, ip)
  const [refund] = await db.rows<{ id: string }>(sql`select id from payouts.payouts where partner_id = ${partnerId}`)
  await service.payouts.cancel(partnerId, refund?.id ?? '')
  await spread(service)
  assert.match((await titlesOf(operator))[0] ?? '', /^Refund of 5\.00 EUR to .* was not paid$/)
})

test('the inbox reports a refused recall and an unanswered recall', async () => {
  const partner = await addPartner(service, 10_000_00n)
  const operator = await addMember(service, partner.partnerId, 'Operator', 'Olga Operator')
  const settle = async () => {
    for (let round = 0; round < 4; round += 1) {
      await submitDuePayouts(service.settlement)
      clock.advance(stepMsDefault)
      while ((await processBankNotifications(service.settlement)) > 0);
    }
  }
  // The sandbox bank refuses the recall of the first amount, and does not answer about the second one.
  for (const amount of ['4001.11', '4001.12']) {
    const { payout } = await pay(service, partner, amount)
    await settle()
    await service.recalls.create(partner.caller, payout.id, { reason: 'FRAD', text: 'It was forged.' })
    await sendDueRecalls(service.settlement, service.bank)
    await settle()
  }
  clock.advance(40 * dayMs)
  while ((await service.recalls.expireStep()) > 0);
  await spread(service)
  await queueMails(service)
  await mails.sent()
  const titles = [
    'Recall of 4,001.11 EUR from Grace Hopper: refused',
    'Recall of 4,001.12 EUR from Grace Hopper: no answer in time',
  ]
  assert.deepEqual((await titlesOf(operator)).toSorted().slice(-2), titles)
  const text = mails
    .mailsTo(operator)
    .map((mail) => mail.text)
    .join('\n')
  assert.ok(titles.every((title) => text.includes(title)))
})

test('staff are notified of an alert, a hit and the proposal about it, by kind and with a link', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  const lena = await addStaff(service, 'compliance', 'Lena First')
  const rosa = await addStaff(service, 'compliance', 'Rosa Second')
  await service.cases.open({
    ...{ partnerId, kind: 'monitoring_alert', connector: 'monitoring', notificationId: newId(), subject: newId() },
    ...{ report: {}, booked: null },
  } as never)
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  await service.customers.update(partnerId, customer.id, { kyc: { fullName: 'Borislav Tremurov' } })
  await screenAll(service)
  await spread(service)
  await queueMails(service)
  await mails.sent()
  const [hit] = (await service.screening.openHits(undefined, 10)).filter((each) => each.partnerId === partnerId)
  const id = present(hit, 'the hit').id
  const first = mails.mailsTo(rosa)[0]?.text ?? ''
  for (const part of ['An alert waits', 'A hit waits', `to=hits%2F${partnerId}%2F${id}`])
    assert.ok(first.includes(part), part)
  assert.ok(!first.includes('Tremurov'))
  await db.transaction((tx) =>
    service.screening.decide(tx, {
      ...{ partnerId, id, outcome: 'clear', disposition: 'birth_differs', note: 'Born in 1990.' },
      ...{ staff: lena.fullName, staffId: lena.personId },
    }),
  )
  await spread(service)
  await queueMails(service)
  await mails.sent()
  assert.equal(mails.mailsTo(rosa)[1]?.one('Subject'), 'The decision of a hit waits for a second person')
  assert.equal(mails.mailsTo(lena).length, 1, 'the proposer is not told')
})
