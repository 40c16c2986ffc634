/** Entries and mails of real acts, on a real database and by a real SMTP server. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addApprovers, setApprovalRule } from '../../../test/support/approvals.ts'
import { addPartner, ip, pay, stepMsDefault, type TestPartner } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { createSessions } from '../../../test/support/checkout.ts'
import { addMember, addStaff, queueMails, spread, useInboxMails } from '../../../test/support/inbox.ts'
import { sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../banks/settlement/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
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

test('an approval is told at once to who may give it, with the facts, a link and no token, and not to its maker', async () => {
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

test('an approval that is given before the mail is due is not mailed', async () => {
  const partner = await addRuled(service, { aboveAmount: 50_00n })
  const approver = await addMember(service, partner.partnerId, 'Operator', 'Alan Approver')
  const { payout } = await pay(service, partner, '70.00')
  await spread(service)
  await service.payouts.approve(partner.second, payout.id)
  await queueMails(service)
  await mails.sent()
  assert.equal(mails.mailsTo(approver).length, 0)
})

test('a person who lost the role, or was removed, between the act and the mail gets none', async () => {
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

test('1,000 payouts of a bulk are one entry and one mail', async () => {
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

test('failed, returned and refused: each act makes its entry, and many make one mail', async () => {
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

test('a payout that no one approves in time is told as cancelled', async () => {
  const partner = await addRuled(service, { aboveAmount: 50_00n, expiresHours: 24 })
  const operator = await addMember(service, partner.partnerId, 'Operator', 'Olga Operator')
  await pay(service, partner, '70.00')
  await spread(service)
  clock.advance(19 * hourMs)
  await spread(service)
  clock.advance(6 * hourMs)
  while ((await service.payoutLife.lapseStep()) > 0);
  await spread(service)
  assert.deepEqual(await titlesOf(operator), [
    'Payout of 70.00 EUR to Grace Hopper was cancelled: it was not approved in time',
    'Payout of 70.00 EUR to Grace Hopper is cancelled soon unless it is approved',
    'Payout of 70.00 EUR to Grace Hopper waits for your approval',
  ])
})

test('a daily mail comes at the hour of the zone of the person, once, in the language of the person', async () => {
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

test('a key that expires is told two weeks before, unless it was given a later end', async () => {
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

test('staff are told of cases by kind, age, money and link, without names; the proposer is not told of the own proposal', async () => {
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

test('two workers at once make one entry for each person and one mail', async () => {
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

test('a change that is rolled back is not told', async () => {
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

test('pages go by key, and entries go after 90 days', async () => {
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

test('choices are refused in words that name the field, and keep what is fixed', async () => {
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

test('refunds of sessions are told when they end, and a change of staff to the second person', async () => {
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

test('of one kind and hour ten have an entry each, and one counts the others: by two workers, and for each partner', async () => {
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

test('the others are counted for each person: who made them is not told', async () => {
  const partner = await addRuled(service, { aboveAmount: 50_00n })
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

test('each kind of fact becomes an entry and a part of a mail, with a link, in both languages', async () => {
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
    await choose(reader, Object.fromEntries(kinds.map(({ kind }) => [kind, 'now'])))
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
      `a mail tells of ${type}`,
    )
  }
  for (const title of german.flat()) assert.doesNotMatch(title, /[{}–]|\b(?:the|was)\b/)
  assert.ok(texts.every((text) => !/[{}]/.test(text)))
})

test('a recall that the bank refuses, and a refund that fails, are told', async () => {
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

test('staff are told of an alert, a hit and the proposal about it: by kind, and by a link to the thing', async () => {
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
