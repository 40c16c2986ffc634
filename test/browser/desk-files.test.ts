/**
 * The desk in a real browser with a file-based bank: staff read the received and sent files, and whether bank and
 * ledger agree.
 */
import assert from 'node:assert/strict'
import { readdir, rename } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { createTestService, masterKeyText } from '../support/composition.ts'
import { check, inviteTo } from '../support/console.ts'
import { checkForms, postFrom, useDesk } from '../support/desk.ts'
import { untilEnd } from '../support/fixture.ts'
import { createBankFolders, entryOf, ownIban, reportXml } from '../support/iso-incoming.ts'
import { isoAccount } from '../support/iso-books.ts'
import { joinByPassword } from '../support/team.ts'
import { until } from '../support/until.ts'
import { isoBankSetting } from '../../examples/iso-bank/config.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { minuteMs, newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'

const folders = untilEnd(await createBankFolders())
const { toBank, fromBank } = folders
const { accounts, ...setting } = isoBankSetting({ kind: 'folder', toBank, fromBank }, folders.root)
const isoBank = { ...setting, accounts: accounts.filter(({ iban }) => iban === ownIban) }
const env = { RAIL: 'iso20022', ISO20022_BANKS: JSON.stringify([isoBank]), MASTER_KEY: masterKeyText }
const { service, site, join, inGerman } = await useDesk(env)
const inside = untilEnd(
  await createTestService({ url: service.databaseUrl, now: new Date(), bankAccounts: [isoAccount] }),
)

const today = () => new Date().toISOString().slice(0, 10)
const messages = (state: string) =>
  inside.db.rows<{ id: string; fileName: string }>(
    sql`select id, file_name from rails.iso_messages where state = ${state}`,
  )

/** Creates a payout that is in a file. Returns it with its end-to-end id at the bank. */
async function payInFile() {
  const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'Grace Hopper' }
  const beneficiaryId = textAt(success(await service.client.post('/v1/beneficiaries', account)), 'id')
  const body = { amount: 12.5, currency: 'EUR', beneficiaryId, idempotencyKey: newId(), reference: `file-${newId()}` }
  success(await service.client.post('/v1/payouts/fiat', body))
  const { json } = await service.client.get(`/v1/payouts?idempotencyKey=${body.idempotencyKey}`)
  await until('the bank has the file', async () => (await readdir(folders.toBank)).length > 0)
  const [sent] = await inside.db.rows<{ id: string; endToEndId: string }>(
    sql`select id, end_to_end_id from rails.iso_instructions where status = 'Filed'`,
  )
  assert.ok(sent)
  return { ...sent, payoutId: textAt(listAt(json, 'data')[0] ?? {}, 'id'), reference: body.reference }
}

/**
 * Receives files: a statement with the payout and an unknown credit, a notification, a repeated message id, and a file
 * that is not a message.
 */
async function bringIn(endToEndId: string) {
  const on = today()
  const dated = { bookingDate: on, valueDate: on }
  const entries = [
    entryOf(-1250n, { ...dated, details: [{ references: { endToEndId }, creditor: { name: 'Grace Hopper' } }] }),
    entryOf(50_000n, { ...dated, details: [{ references: { endToEndId: 'E1' }, debtor: { name: 'Hedy Lamarr' } }] }),
  ]
  const statement = { kind: 'camt.053', statementId: 'S1', sequence: 1, on, opening: 0n, closing: 48_750n } as const
  await folders.put('statement.xml', reportXml(entries, { ...statement, messageId: 'M1' }))
  await until('the statement is read', async () => (await messages('Taken')).length === 1)
  const announced = entryOf(7000n, { ...dated, details: [{ debtor: { name: 'Hedy Lamarr' } }] })
  await folders.put('notification.xml', reportXml([announced], { on, messageId: 'N1' }))
  await until('the notification is read', async () => (await messages('Taken')).length === 2)
  await folders.put('again.xml', reportXml([entryOf(1n, dated)], { ...statement, closing: 1n, messageId: 'M1' }))
  await folders.put('nothing.xml', '<other/>')
  await until('two files are quarantined', async () => (await messages('Aside')).length === 2)
  await until('the ledger has the entries', async () => {
    const rows = await inside.db.rows(sql`select from rails.iso_entries where status = 'New'`)
    const open = await inside.cases.list(undefined, 100)
    return rows.length === 0 && open.some(({ kind }) => kind === 'message_differs')
  })
  inside.clock.advance(2 * minuteMs)
  await inside.reconciliation.step()
}

const textOf = (page: Page) => page.locator('main').innerText()

test('staff read files and their contents, and reconciliation day by day', async () => {
  const payout = await payInFile()
  await bringIn(payout.endToEndId)
  const sam = await join('Sam', 'support')
  const { page } = sam
  await page.getByRole('link', { name: 'Bank files' }).click()
  await page.getByRole('heading', { name: 'Bank files' }).waitFor()
  assert.equal(await page.locator('tbody tr').count(), 5)
  await checkForms(page)

  await page.getByLabel('Files', { exact: true }).selectOption('aside')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.waitForURL(/show=aside/)
  assert.equal(await page.locator('tbody tr').count(), 2)
  await page.getByRole('link', { name: 'again.xml' }).click()
  await page.getByText('Nothing of this file counts.').waitFor()
  await page.getByText('Two people with the role finance or admin can take this file.').waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: 'Open case' }).click()
  await page.getByRole('heading', { name: 'Bank file with a known message and other content' }).waitFor()

  await page.goto(`${site}/desk/files?show=received&bank=iso20022`)
  await page.getByRole('link', { name: 'statement.xml' }).click()
  await page.getByRole('heading', { name: 'Entries of S1' }).waitFor()
  assert.doesNotMatch(await textOf(page), /Hopper|Lamarr|DE8937/)
  assert.match(await textOf(page), /487\.50 EUR/)
  await checkForms(page)
  await page.getByRole('link', { name: 'Payment that matches nothing' }).click()
  await page.getByRole('heading', { name: 'Payment that matches nothing' }).waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Find payout' }).click()
  await page.waitForURL(`${site}/desk/find`)
  assert.equal(await page.locator(`code[title="${payout.payoutId}"]`).count(), 1)

  await page.goto(`${site}/desk/files?show=received`)
  await page.getByRole('link', { name: 'notification.xml' }).click()
  await page.getByText('This message announces entries.').waitFor()
  assert.match(await textOf(page), /70\.00 EUR/)
  await page.goto(`${site}/desk/files?show=sent`)
  await page.locator('tbody a').click()
  await page.getByRole('heading', { name: 'Payments in the file' }).waitFor()
  assert.equal(await page.locator(`code[title="${payout.id}"]`).count(), 1)
  await checkForms(page)
  await page.getByRole('link', { name: 'Open partner' }).click()
  await page.waitForURL(`${site}/desk/partners/${service.credentials.partnerId}`)

  const { data } = await inside.audit.list(operatorPartnerId, {})
  const opened = data.filter(({ action, actor }) => action === 'staff file' && actor.name === 'Sam')
  // The page of the statement was read a second time on the way back, unless the browser kept it.
  assert.ok(opened.length === 4 || opened.length === 5, String(opened.length))
  const key = `${service.credentials.partnerId}/${payout.id}`
  assert.deepEqual(opened[0]?.details?.['payments'], [key])
})

/** Creates a payout that was sent in a file and about which the bank reports nothing. */
async function stuckPayout() {
  const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'Grace Hopper' }
  const beneficiaryId = textAt(success(await service.client.post('/v1/beneficiaries', account)), 'id')
  const reference = `stuck-${newId()}`
  const body = { amount: 13.5, currency: 'EUR', beneficiaryId, idempotencyKey: newId(), reference }
  success(await service.client.post('/v1/payouts/fiat', body))
  const { json } = await service.client.get(`/v1/payouts?idempotencyKey=${body.idempotencyKey}`)
  const payoutId = textAt(listAt(json, 'data')[0] ?? {}, 'id')
  const { partnerId } = service.credentials
  const statusOf = async () => (await inside.payouts.get(partnerId, payoutId)).status
  await until('the bank has the file', async () => {
    const sent = await inside.db.rows(sql`select from rails.iso_instructions where amount = 1350 and status = 'Filed'`)
    return sent.length === 1 && (await statusOf()) === 'Sent'
  })
  return { payoutId, reference, partnerId, statusOf }
}

/** Releases a quarantined file: one person proposes it, and another one approves it. */
async function takeFile(one: Page, two: Page) {
  const [aside] = await inside.db.rows<{ id: string }>(
    sql`select id from rails.iso_messages where file_name = 'again.xml'`,
  )
  await one.goto(`${site}/desk/files/${aside?.id}`)
  await one.getByLabel('Note', { exact: true }).fill('The bank confirms it')
  await one.getByRole('button', { name: 'Propose to take file' }).click()
  await one.getByText('The change waits for another person, on Changes.').waitFor()
  await checkForms(one)
  await two.goto(`${site}/desk/changes`)
  await two.getByRole('button', { name: 'Approve change' }).click()
  await until('the file is released', async () => {
    const released = await inside.db.rows(sql`select from rails.iso_messages where released_at is not null`)
    return released.length === 1
  })
}

test('staff investigate a stuck payout, and two people record its outcome with a document from the bank', async () => {
  const { payoutId, reference, partnerId, statusOf } = await stuckPayout()
  const sam = await join('Sue', 'support', ['400'])
  const one = await join('Ada', 'finance', ['400'])
  const two = await join('Grace', 'finance')

  await takeFile(one.page, two.page)
  await one.page.goto(`${site}/desk/find`)
  await one.page.locator('#q').fill(reference)
  await one.page.getByRole('button', { name: 'Find', exact: true }).click()
  await one.page.getByRole('link', { name: reference }).click()
  await one.page.getByRole('heading', { name: `Payout ${reference}` }).waitFor()
  const text = await textOf(one.page)
  assert.match(text, /Ask the bank by the end-to-end ID/)
  assert.doesNotMatch(text, /Hopper|DE8937/)
  await checkForms(one.page)
  const address = one.page.url()
  await one.page.getByRole('link', { name: /\.xml$/ }).click()
  await one.page.getByRole('heading', { name: 'Payments in the file' }).waitFor()
  await one.page.goto(address)

  await sam.page.goto(address)
  await sam.page.getByText('Your role reads payouts.').waitFor()
  const given = { outcome: 'not-paid', document: 'letter.pdf', digest: 'a'.repeat(64), note: 'x' }
  assert.equal(await postFrom(sam.page, `${address}/end`, given), 400)
  assert.deepEqual(await inside.staff.changes.waiting(inside.db, 10), [], 'support proposes nothing')

  await one.page.getByLabel('What the bank says').selectOption('not-paid')
  await one.page.getByLabel('Name of the document').fill('letter.pdf')
  await one.page.getByLabel('SHA-256 of the document').fill('/etc/passwd')
  await one.page.getByLabel('Note', { exact: true }).fill('Letter of the bank')
  await one.page.getByRole('button', { name: 'Propose to end payout' }).click()
  await one.page.getByRole('alert').getByText('64 hexadecimal digits').waitFor()
  assert.equal(await one.page.getByLabel('Name of the document').inputValue(), 'letter.pdf')
  await check(one.page)
  await one.page.getByLabel('SHA-256 of the document').fill('a'.repeat(64))
  await one.page.getByRole('button', { name: 'Propose to end payout' }).click()
  await one.page.getByText('Another person has to approve this change before it holds.').waitFor()
  assert.equal(await statusOf(), 'Sent')
  await one.page.getByRole('link', { name: 'Open Changes' }).click()
  await one.page.getByText('What the bank says: It has not paid, and will not').waitFor()
  assert.equal(await one.page.getByRole('button', { name: 'Approve change' }).count(), 0)
  await two.page.goto(`${site}/desk/changes`)
  await two.page.getByText(`Document: letter.pdf sha256:${'a'.repeat(64)}`).waitFor()
  await two.page.getByRole('button', { name: 'Approve change' }).click()
  await until('the payout has ended', async () => (await statusOf()) === 'Failed')
  await one.page.goto(address)
  assert.equal(await one.page.getByRole('button', { name: 'Propose to end payout' }).count(), 0)
  await checkForms(one.page)

  const opened = (await inside.audit.list(operatorPartnerId, {})).data.filter(({ action }) => action === 'staff payout')
  assert.ok(opened.some(({ actor }) => actor.name === 'Sue'))
  for (const { details } of opened) assert.deepEqual(details, { payouts: [`${partnerId}/${payoutId}`] })
  const { data } = await inside.audit.list(partnerId, {})
  const { actor, details } = data.find(({ action }) => action === 'operator payment end') ?? {}
  assert.deepEqual([actor?.name, details?.['approvedBy']], ['Ada', 'Grace'])
})

test('a bank file is found by its name and by its message id, and the queue links to a runbook', async () => {
  const ida = await join('Ida', 'support', ['404'])
  const { page } = ida
  for (const [text, rows] of [
    ['statement.xml', 1],
    ['M1', 2],
  ] as const) {
    await page.goto(`${site}/desk/find`)
    await page.getByLabel('What do you look for?').fill(text)
    await page.getByRole('button', { name: 'Find', exact: true }).click()
    const files = page.getByRole('table', { name: 'Bank files' })
    await files.waitFor()
    assert.equal(await files.locator('tbody tr').count(), rows)
    await checkForms(page)
  }
  await page.getByRole('link', { name: 'statement.xml' }).click()
  await page.getByRole('heading', { name: 'statement.xml' }).waitFor()
  await page.goto(`${site}/desk/queue`)
  await checkForms(page)
  await page.getByRole('link', { name: 'A file of a bank' }).first().click()
  await page.locator('article h1').waitFor()
  await checkForms(page)
  await page.locator('article a[href^="alerts/"]').first().click()
  await page.locator('article h1').waitFor()
  assert.match(page.url(), /\/desk\/runbooks\/alerts\/Payments\w+/)
  await page.getByRole('heading', { name: 'Act' }).waitFor()
  await checkForms(page)
  await page.goto(`${site}/desk/runbooks/bank-difference`)
  await page.locator('article a[href*="operations"]').first().click()
  await page.waitForURL(/runbooks\/operations/)
  await checkForms(page)
  for (const name of ['nope', '..%2f..%2foperations', 'alerts/nope', 'README.md'])
    assert.equal((await page.request.get(`${site}/desk/runbooks/${name}`)).status(), 404, name)
})

test("staff read reconciliation in both languages, and a session of a partner's team cannot read it", async () => {
  const fay = await join('Fay', 'compliance')
  const { page } = fay
  await page.getByRole('link', { name: 'Reconciliation' }).click()
  await page.getByRole('heading', { name: 'Reconciliation' }).waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: /^DE02 1203/ }).click()
  await page.getByRole('heading', { name: 'Parts of the difference' }).waitFor()
  const text = await textOf(page)
  // The notification is on no statement, and the corrected statement that was taken lists none of the other entries.
  assert.match(text, /On no statement yet\s+557\.50 EUR\s+3\s/)
  assert.match(text, /Explained\s/)
  assert.doesNotMatch(text, /Hopper|Lamarr|DE8937/)
  await checkForms(page)
  await page.getByRole('table', { name: 'Day by day' }).getByRole('link').first().click()
  await page.getByText('As stored on the look at').waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: 'Show as of now' }).click()
  await page.getByRole('link', { name: 'unknown_payment' }).first().click()
  await page.getByRole('heading', { name: 'Payment that matches nothing' }).waitFor()
  const german = await inGerman(fay)
  await german.page.goto(`${site}/desk/reconciliation`)
  await german.page.getByRole('heading', { name: 'Abgleich' }).waitFor()
  await german.page.getByRole('link', { name: 'Zwischenkonten' }).first().click()
  await checkForms(german.page)
  await german.page.goto(`${site}/desk/files`)
  await german.page.getByRole('heading', { name: 'Bankdateien' }).waitFor()
  await checkForms(german.page)

  const { cookie } = await joinByPassword(service, await inviteTo(service, 'Admin'))
  const [file] = await messages('Taken')
  const account = `reconciliation/account?connector=iso20022&account=${ownIban}&currency=EUR`
  for (const path of ['files', `files/${file?.id}`, 'reconciliation', account]) {
    const given = [cookie, cookie.replace(/^[^=]+/, '__Host-staff'), '']
    for (const each of given) {
      const answer = await fetch(`${service.opsUrl}/desk/${path}`, { headers: { cookie: each }, redirect: 'manual' })
      assert.equal(answer.status, 303, path)
    }
  }
})

test('a file-based bank whose folder is missing is shown as failing, also in the queue, until its files can be listed', async () => {
  const { page } = await join('Nora', 'support')
  const stateOf = async () => {
    await page.goto(`${site}/desk/connectors`)
    return page.locator('tbody tr', { hasText: 'iso20022' }).first().innerText()
  }
  assert.match(await stateOf(), /Works/)
  assert.match(await textOf(page), /Last file in\s+\S+\.xml[^]*Last file out\s+\S+\.xml[^]*Last quarantined file/)
  const away = `${folders.fromBank}-away`
  await rename(folders.fromBank, away)
  await until('five listings have failed', async () => /Exchanges fail/.test(await stateOf()))
  assert.match(await textOf(page), /Last failure[^]*A bank does not answer|A bank does not answer[^]*Last failure/)
  await check(page)
  await page.getByRole('link', { name: 'Owner and notes' }).click()
  await page.getByRole('button', { name: 'Take', exact: true }).click()
  await page.getByText('Nora has it.').waitFor()
  await check(page)
  await page.goto(`${site}/desk/queue?show=mine`)
  await page.getByText('Exchanges fail').waitFor()
  await check(page)
  await rename(away, folders.fromBank)
  await until('the folder is listed again', async () => /Works/.test(await stateOf()))
  await page.goto(`${site}/desk/queue?show=mine`)
  assert.equal(await page.getByText('Exchanges fail').count(), 0)
})
