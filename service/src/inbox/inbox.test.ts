/** Entries and mails of real acts, on a real database and by a real SMTP server. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addApprovers, setApprovalRule } from '../../../test/support/approvals.ts'
import { addPartner, ip, pay, stepMsDefault, type TestPartner } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { createSessions } from '../../../test/support/checkout.ts'
import { addMember, addStaff, queueMails, spread, useInboxMails } from '../../../test/support/inbox.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../banks/settlement/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { dayMs, hourMs, newId, present } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import type { Reader } from './index.ts'

const service = await useModules()
const { db, clock, inbox } = service
const mails = await useInboxMails(service)
after(mails.stop)

const titlesOf = async (reader: Reader, language: 'en' | 'de' = 'en') =>
  (await inbox.page(reader, language, { beforeId: null, rowsMax: 50 })).entries.map(({ title }) => title)

/** A partner with a rule for approvals, which no team was told of. */
const addRuled: typeof addApprovers = async (...given) => {
  const partner = await addApprovers(...given)
  await spread(service)
  return partner
}

async function settle(rounds = 4): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await submitDuePayouts(service.settlement)
    clock.advance(stepMsDefault)
    while ((await processBankNotifications(service.settlement)) > 0);
  }
}

const choose = async (
  reader: Reader,
  choices: Readonly<Record<string, string>>,
  given: { zone?: string; dailyHour?: string; language?: string } = {},
) => {
  const { kinds } = await inbox.choices(reader)
  const all = Object.fromEntries(kinds.map(({ kind, when }): [string, string] => [kind, choices[kind] ?? when]))
  await inbox.choose(reader, { language: '', zone: 'UTC', dailyHour: '8', ...given, choices: all }, ip)
}

test('an approval request is mailed at once, with details and a link, to people who may approve it, but not to its creator', async () => {
  const partner = await addRuled(service, { aboveAmount: 50_00n })
  const { partnerId } = partner
  const maker = await addMember(service, partnerId, 'Operator', 'Mary Maker')
  const approver = await addMember(service, partnerId, 'Operator', 'Alan Approver')
  const developer = await addMember(service, partnerId, 'Developer', 'Dora Developer')
  const caller = { ...partner.caller, serviceAccountId: maker.personId, name: maker.fullName }
  const { payout } = await pay(service, { ...partner, caller }, '1250.50', { reference: 'INV-2026-17' })
  await pay(service, { ...partner, caller }, '1.00')
  await spread(service)
  const title = 'Payout of 1,250.50 EUR to Grace Hopper waits for your approval'
  assert.deepEqual(await titlesOf(approver), [title])
  assert.deepEqual(await titlesOf(approver, 'de'), [
    'Auszahlung über 1.250,50 EUR an Grace Hopper wartet auf Ihre Freigabe',
  ])
  assert.deepEqual([await titlesOf(maker), await titlesOf(developer)], [[], []])
  assert.equal(await inbox.unread(approver, 'en'), 1)
  await queueMails(service)
  await mails.sent()
  const [mail, ...others] = mails.mailsTo(approver)
  assert.deepEqual([others.length, mails.mailsTo(maker).length, mails.mailsTo(developer).length], [0, 0, 0])
  assert.equal(mail?.one('Subject'), title)
  for (const part of [
    'INV-2026-17',
    'Mary Maker',
    'Approve before',
    `to=payouts%2F${payout.id}`,
    `partner=${partnerId}`,
  ])
    assert.ok(mail?.text.includes(part), part)
  assert.ok(!/token|secret|nonce/i.test(mail?.text ?? ''))
  const [kept] = await db.rows<{ text: string }>(sql`select messages::text as text from mail.messages
    where partner_id = ${partnerId} and kind = 'inbox'`)
  assert.ok(kept && !kept.text.includes('Grace Hopper'), 'the row of a mail that has gone names no payee')
  // Decided meanwhile: shown as such.
  await service.payouts.approve({ ...partner.second }, payout.id)
  const [entry] = (await inbox.page(approver, 'en', { beforeId: null, rowsMax: 5 })).entries
  assert.equal(entry?.isOver, true)
  assert.equal(await inbox.open(approver, entry?.id ?? ''), `payouts/${payout.id}`)
  assert.equal(await inbox.unread(approver, 'en'), 0)
})

test('an approval request that is approved before the mail is due is not mailed', async () => {
  const partner = await addRuled(service, { aboveAmount: 50_00n })
  const approver = await addMember(service, partner.partnerId, 'Operator', 'Alan Approver')
  const { payout } = await pay(service, partner, '70.00')
  await spread(service)
  await service.payouts.approve(partner.second, payout.id)
  await queueMails(service)
  await mails.sent()
  assert.equal(mails.mailsTo(approver).length, 0)
})

test('a person who is removed or loses the role before the mail is sent does not get it', async () => {
  const partner = await addRuled(service, { aboveAmount: 50_00n })
  const { partnerId, caller } = partner
  const kept = await addMember(service, partnerId, 'Admin', 'Ada Admin')
  const demoted = await addMember(service, partnerId, 'Operator', 'Oscar Other')
  const removed = await addMember(service, partnerId, 'Operator', 'Rita Removed')
  await pay(service, partner, '70.00')
  await spread(service)
  await service.members.updateUser(caller, demoted.personId, { role: 'Developer' })
  await service.members.removeUser(caller, removed.personId)
  await queueMails(service)
  await mails.sent()
  assert.deepEqual(
    [kept, demoted, removed].map((each) => mails.mailsTo(each).length),
    [1, 0, 0],
  )
  const left = await db.rows(
    sql`select id from inbox.entries where partner_id = ${partnerId} and person_id = ${removed.personId}`,
  )
  const readers = await db.rows(
    sql`select person_id from inbox.readers where partner_id = ${partnerId} and person_id = ${removed.personId}`,
  )
  assert.deepEqual([left.length, readers.length], [0, 0])
  await spread(service)
  assert.deepEqual(
    await titlesOf({ ...demoted, role: 'Developer' }),
    ['Oscar Other has the role Developer now', 'Rita Removed was removed from the team'].toReversed(),
  )
})

test('1,000 payouts of a bulk make one entry and one mail', async () => {
  const partner = await addRuled(service, { aboveBulkAmount: 1_00n }, 100_000_00n)
  const { partnerId, caller, beneficiary } = partner
  const approver = await addMember(service, partnerId, 'Operator', 'Alan Approver')
  const payouts = Array.from({ length: 1000 }, () => ({
    ...{ amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId: beneficiary.id, idempotencyKey: newId() },
  }))
  const body = { mode: 'BestEffort', idempotencyKey: newId(), payouts } as const
  const { bulk } = await service.bulkPayouts.create(caller, body, ip)
  while ((await service.bulkPayouts.step()) > 0) await spread(service)
  await spread(service)
  await queueMails(service)
  await mails.sent()
  const title = 'Bulk of 1,000 payouts, 10,000.00 EUR, waits for your approval'
  assert.deepEqual(await titlesOf(approver), [title])
  const found = mails.mailsTo(approver)
  assert.deepEqual(
    found.map((mail) => mail.one('Subject')),
    [title],
  )
  assert.ok(found[0]?.text.includes(`bulk-payouts%2F${bulk.id}`))
  // A day before its end, and once.
  await queueMails(service, 23 * hourMs)
  await spread(service)
  await queueMails(service)
  await mails.sent()
  assert.match(mails.mailsTo(approver)[1]?.one('Subject') ?? '', /is cancelled soon unless it is approved/)
  assert.equal(mails.mailsTo(approver).length, 2)
})

test('each failed, returned or refused payout causes an entry, and one mail contains several entries', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const { partnerId, caller, customer } = partner
  const operator = await addMember(service, partnerId, 'Operator', 'Olga Operator')
  for (let made = 0; made < 30; made += 1)
    await service.payouts.simulate(
      caller,
      { customerRef: customer.id, amount: 100n, currency: 'EUR', outcome: 'failed', idempotencyKey: null },
      ip,
    )
  await settle()
  await spread(service)
  const titles = await titlesOf(operator)
  assert.equal(titles.filter((title) => title === 'Payout of 1.00 EUR to Sandbox Beneficiary failed').length, 10)
  assert.deepEqual([titles.length, titles[0]], [11, 'More payouts that failed: 20'])
  await queueMails(service)
  await mails.sent()
  const [mail, ...others] = mails.mailsTo(operator)
  assert.equal(others.length, 0)
  assert.match(mail?.one('Subject') ?? '', /^Payout of 1\.00 EUR to Sandbox Beneficiary failed, and 29 more$/)
  assert.ok(mail?.text.includes('More payouts that failed: 20') && mail.text.includes('to=payouts\n'))
  const { payout } = await pay(service, partner, '10.00')
  await settle()
  await service.recalls.create(caller, payout.id, { reason: 'FRAD', text: 'It was forged.' })
  await sendDueRecalls(service.settlement, service.bank)
  await settle()
  await spread(service)
  const newest = (await titlesOf(operator)).slice(0, 2).toSorted()
  assert.deepEqual(newest, [
    'Payout of 10.00 EUR to Grace Hopper came back',
    'Recall of 10.00 EUR from Grace Hopper: the money comes back',
  ])
})

test('a payout that no one approves in time is reported as cancelled', async () => {
  const partner = await addRuled(service, { aboveAmount: 50_00n, expiresHours: 24 })
  const operator = await addMember(service, partner.partnerId, 'Operator', 'Olga Operator')
  await pay(service, partner, '70.00')
  await spread(service)
  clock.advance(19 * hourMs)
  await spread(service)
  clock.advance(6 * hourMs)
  while ((await service.payoutLife.expireApprovalsStep()) > 0);
  await spread(service)
  assert.deepEqual(await titlesOf(operator), [
    'Payout of 70.00 EUR to Grace Hopper was cancelled: it was not approved in time',
    'Payout of 70.00 EUR to Grace Hopper is cancelled soon unless it is approved',
    'Payout of 70.00 EUR to Grace Hopper waits for your approval',
  ])
})

test("a daily mail is sent exactly once, at the person's hour and time zone and in the person's language", async () => {
  const partner = await addPartner(service)
  const { partnerId } = partner
  const reader = await addMember(service, partnerId, 'Admin', 'Ada Admin')
  const silent = await addMember(service, partnerId, 'Admin', 'Sam Silent')
  await choose(reader, { rules: 'daily' }, { zone: 'Europe/Berlin', dailyHour: '9', language: 'de' })
  await choose(silent, { rules: 'no' })
  await setApprovalRule(service, partnerId, { aboveAmount: 1n })
  await setApprovalRule(service, partnerId, { aboveAmount: 2n })
  await spread(service)
  const [row] = await db.rows<{ mailDueAt: Date }>(sql`select mail_due_at from inbox.readers
    where partner_id = ${partnerId} and person_id = ${reader.personId}`)
  const dueAt = present(row, 'a row of the reader').mailDueAt
  const local = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' }).format(dueAt)
  assert.equal(local, '09:00')
  await queueMails(service, dueAt.getTime() - clock.now().getTime() - 1)
  await mails.sent()
  assert.equal(mails.mailsTo(reader).length, 0)
  await queueMails(service, 1)
  await mails.sent()
  const [mail] = mails.mailsTo(reader)
  assert.equal(mails.mailsTo(reader).length, 1)
  assert.match(mail?.text ?? '', /Guten Tag Ada Admin/)
  assert.match(mail?.source ?? '', /lang=3D"de"/)
  assert.equal(
    (mail?.text.match(/Der Betreiber hat eine Regel für Auszahlungen gesetzt: Freigabe EUR/g) ?? []).length,
    2,
  )
  assert.equal(mails.mailsTo(silent).length, 0)
  assert.equal((await titlesOf(silent)).length, 2)
  await queueMails(service, 2 * dayMs)
  await mails.sent()
  assert.equal(mails.mailsTo(reader).length, 1)
})

test('the team is notified two weeks before a key expires, unless the expiry was postponed', async () => {
  const partner = await addPartner(service)
  const { partnerId } = partner
  const developer = await addMember(service, partnerId, 'Developer', 'Dora Developer')
  const make = (name: string, days: number) =>
    db.transaction((tx) =>
      service.access.createServiceAccount(tx, {
        ...{
          partnerId,
          name,
          permissions: ['payouts:read'] as const,
          expiresAt: new Date(clock.now().getTime() + days * dayMs),
        },
      }),
    )
  await make('Payroll', 20)
  const { serviceAccountId } = await make('Extended', 20)
  await db.transaction(async (tx) => {
    const account = await service.access.lockServiceAccount(tx, partnerId, serviceAccountId)
    await service.access.changeServiceAccount(tx, {
      ...account,
      expiresAt: new Date(clock.now().getTime() + 90 * dayMs),
    })
  })
  await spread(service)
  assert.deepEqual(await titlesOf(developer), [])
  clock.advance(6 * dayMs + hourMs)
  await spread(service)
  assert.deepEqual(await titlesOf(developer), ['The service account Payroll expires soon'])
})

test('mails to staff about cases contain kind, age, amount and link but no names, and are not sent to the proposer', async () => {
  const partner = await addPartner(service)
  const finance = await addStaff(service, 'finance', 'Fiona Finance')
  const second = await addStaff(service, 'finance', 'Frank Second')
  const support = await addStaff(service, 'support', 'Susan Support')
  const subject = newId()
  await service.cases.open({
    ...{
      partnerId: partner.partnerId,
      kind: 'unknown_payment',
      connector: 'sandbox',
      notificationId: newId(),
      subject,
    },
    report: { debtor: { name: 'Heinrich Secret', account: 'DE89370400440532013000' } },
    booked: { currency: 'EUR', amount: 123_45n },
  })
  await spread(service)
  await queueMails(service)
  await mails.sent()
  const [mail, ...others] = mails.mailsTo(finance)
  assert.deepEqual([others.length, mails.mailsTo(support).length], [0, 0])
  assert.equal(mail?.one('Subject'), 'A case waits: Payment that matches nothing')
  for (const part of ['123.45 EUR', `/desk/open?to=cases%2F${partner.partnerId}%2F`, 'minutes ago'])
    assert.ok(mail?.text.includes(part), part)
  assert.ok(!/Heinrich|DE8937/.test(mail?.source ?? ''))
  const [row] = await db.rows<{ id: string }>(sql`select id from cases.cases where subject = ${subject}`)
  await db.transaction((tx) =>
    service.decisions.propose(tx, {
      ...{ partnerId: partner.partnerId, id: row?.id ?? '', staff: finance.fullName, staffId: finance.personId },
      ...{ action: 'write-off', note: 'Nothing fits.' },
    }),
  )
  await spread(service)
  await queueMails(service)
  await mails.sent()
  assert.deepEqual([mails.mailsTo(finance).length, mails.mailsTo(second).length], [1, 2])
  assert.equal((await inbox.choices(finance)).kinds.find(({ kind }) => kind === 'cases')?.when, 'now')
  const rows = await db.rows(
    sql`select id from inbox.entries where partner_id = ${operatorPartnerId} and person_id = ${support.personId}`,
  )
  assert.equal(rows.length, 0)
})

test('two concurrent workers make one entry for each person and one mail', async () => {
  const other = await service.anotherProcess()
  const partner = await addRuled(service, { aboveAmount: 50_00n })
  const approvers = await Promise.all(
    ['One', 'Two', 'Three'].map((name) => addMember(service, partner.partnerId, 'Operator', `${name} Approver`)),
  )
  await Promise.all(Array.from({ length: 10 }, () => pay(service, partner, '70.00')))
  await Promise.all([inbox.spreadStep(), other.inbox.spreadStep(), inbox.spreadStep(), other.inbox.spreadStep()])
  await spread(service)
  clock.advance(hourMs)
  await Promise.all([inbox.mailStep(), other.inbox.mailStep(), inbox.mailStep()])
  await queueMails(service)
  await mails.sent()
  for (const approver of approvers) {
    assert.equal((await titlesOf(approver)).length, 10)
    assert.equal(mails.mailsTo(approver).length, 1)
  }
})

test('a change that is rolled back is not reported', async () => {
  const partner = await addPartner(service)
  const reader = await addMember(service, partner.partnerId, 'Admin', 'Ada Admin')
  const failing = db.transaction(async (tx) => {
    await service.payoutControls.coolingOffs.set(tx, {
      partnerId: partner.partnerId,
      currency: 'EUR',
      hours: 4,
    } as never)
    throw new Error('rolled back')
  })
  await assert.rejects(failing)
  await spread(service)
  assert.deepEqual(await titlesOf(reader), [])
})

test('pages by cursor contain each entry once, and entries are deleted after 90 days', async () => {
  const partner = await addPartner(service)
  const reader = await addMember(service, partner.partnerId, 'Admin', 'Ada Admin')
  for (let made = 1; made <= 5; made += 1)
    await setApprovalRule(service, partner.partnerId, { aboveAmount: BigInt(made) })
  await spread(service)
  const seen: string[] = []
  let beforeId: string | null = null
  for (;;) {
    const page: Awaited<ReturnType<typeof inbox.page>> = await inbox.page(reader, 'en', { beforeId, rowsMax: 2 })
    seen.push(...page.entries.map(({ id }) => id))
    if (page.nextId === undefined) break
    beforeId = page.nextId
  }
  assert.equal(new Set(seen).size, 5)
  await inbox.markAllRead(reader, seen[1] ?? '')
  assert.equal(await inbox.unread(reader, 'en'), 1)
  await assert.rejects(inbox.open({ ...reader, personId: newId() }, seen[0] ?? ''), { code: 'not_found' })
  clock.advance(91 * dayMs)
  while ((await inbox.retain()) > 0);
  assert.deepEqual(await titlesOf(reader), [])
})

test('the refusal of a choice points to its field, and fixed choices cannot be changed', async () => {
  const partner: TestPartner = await addPartner(service)
  const admin = await addMember(service, partner.partnerId, 'Admin', 'Ada Admin')
  const { kinds } = await inbox.choices(admin)
  const good = Object.fromEntries(kinds.map(({ kind, when }) => [kind, when]))
  const given = { language: 'de', zone: 'Europe/Berlin', dailyHour: '7', choices: good }
  const refusals = [
    [{ ...given, language: 'fr' }, '/language'],
    [{ ...given, zone: 'Mars/Base' }, '/zone'],
    [{ ...given, dailyHour: '24' }, '/dailyHour'],
    [{ ...given, dailyHour: 'x' }, '/dailyHour'],
    [{ ...given, choices: { ...good, rules: 'sometimes' } }, '/choices/rules'],
  ] as const
  for (const [each, pointer] of refusals)
    await assert.rejects(
      inbox.choose(admin, each, ip),
      (error: { errors: { pointer: string }[] }) => error.errors[0]?.pointer === pointer,
    )
  await Promise.all([
    inbox.choose(admin, given, ip),
    inbox.choose(admin, { ...given, choices: { ...good, team: 'no' } }, ip),
  ])
  const chosen = await inbox.choices(admin)
  assert.deepEqual([chosen.language, chosen.zone, chosen.dailyHour], ['de', 'Europe/Berlin', 7])
  assert.deepEqual(
    chosen.kinds.find(({ kind }) => kind === 'team'),
    { kind: 'team', when: 'now', isFixed: true },
  )
  const operator = await addMember(service, partner.partnerId, 'Operator', 'Olga Operator')
  assert.deepEqual(
    (await inbox.choices(operator)).kinds.map(({ kind }) => kind),
    ['approvals', 'payments', 'refunds', 'recalls', 'rules'],
  )
})

test('the inbox reports the end of a refund to the team, and a proposed change to the second person', async () => {
  const { open, settle: pays } = createSessions(() => service)
  const { partner, session } = await open()
  const operator = await addMember(service, partner.partnerId, 'Operator', 'Olga Operator')
  await service.checkout.simulate(partner.partnerId, session.id, { step: 'credit', debtorName: 'Grace Hopper' }, ip)
  await pays()
  const body = { amount: rawNumber('5.00'), idempotencyKey: newId() }
  await service.checkout.refund(partner.caller, session.id, body, ip)
  await settle()
  await spread(service)
  const { entries } = await inbox.page(operator, 'en', { beforeId: null, rowsMax: 5 })
  assert.match(entries[0]?.title ?? '', /^Refund of 5\.00 EUR to .* was paid$/)
  assert.equal(await inbox.open(operator, entries[0]?.id ?? ''), `checkout/${session.id}`)
  const author = await addStaff(service, 'admin', 'Ann Author')
  const second = await addStaff(service, 'admin', 'Sid Second')
  const by = { id: author.personId, fullName: author.fullName }
  await db.transaction((tx) => service.staff.changes.propose(tx, by, { command: 'limit set', options: {} }))
  await spread(service)
  await queueMails(service)
  await mails.sent()
  assert.deepEqual(
    [author, second].map((each) => mails.mailsTo(each).map((mail) => mail.one('Subject'))),
    [[], ['A change waits for a second person: limit set']],
  )
})

test('the inbox reports a skipped date of a standing order with its reason: a possible repetition, or no money', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, caller, beneficiary } = partner
  const reader = await addMember(service, partnerId, 'Operator', 'Olga Operator')
  const startsOn = new Date(clock.now().getTime() + 3 * dayMs).toISOString().slice(0, 10)
  const order = (amount: string, reference: string) => ({
    ...{ beneficiaryId: beneficiary.id, amount: rawNumber(amount), currency: 'EUR', reference },
    ...{ schedule: { frequency: 'Once', startsOn, businessDays: 'None' } as const, onDuplicate: 'Refuse' as const },
  })
  const repeating = await service.standingOrders.create(caller, order('10.00', 'INV-7'), ip)
  await service.standingOrders.create(caller, order('5000.00', 'INV-8'), ip)
  await pay(service, partner, '10.00', { reference: 'inv 7' })
  const work = async () => {
    while ((await service.standingOrders.step()) > 0);
    await spread(service)
  }
  clock.advance(3 * dayMs + 7 * hourMs)
  await work()
  const repeats = 'A standing order did not pay 10.00 EUR to Grace Hopper: it may repeat another payment'
  // Funds may come until midnight.
  assert.deepEqual(await titlesOf(reader), [repeats])
  clock.advance(dayMs)
  await work()
  assert.deepEqual(await titlesOf(reader), ['A standing order could not pay 5,000.00 EUR to Grace Hopper', repeats])
  const { entries } = await inbox.page(reader, 'de', { beforeId: null, rowsMax: 50 })
  assert.match(entries[1]?.title ?? '', /^Ein Dauerauftrag hat 10,00 EUR an Grace Hopper nicht gezahlt/)
  assert.equal(await inbox.open(reader, entries[1]?.id ?? ''), `standing-orders/${repeating.id}`)
})
